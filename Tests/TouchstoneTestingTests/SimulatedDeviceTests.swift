import Glibc
import LocalAuthentication
import Security
import Testing
import TouchstoneSystem
import TouchstoneTesting
import TouchstoneTransport

@Suite struct SimulatedDeviceTests {
    @Test func aMatchingFingerSatisfiesTheBiometricPolicy() async throws {
        let device = try SimulatedDevice(biometry: .touchID, passcode: "1234", fingers: 2)
        try await device.run {
            device.present(.nonMatch, .finger(1))
            let context = LAContext()
            let isOwner = try await context.evaluatePolicy(
                .deviceOwnerAuthenticationWithBiometrics, localizedReason: "test")
            #expect(isOwner)
            #expect(context.evaluatedPolicyDomainState != nil)
        }
        #expect(device.prompts.map(\.failures) == [1])
    }

    @Test func anItemBehindAFingerIsReadWithIt() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.run {
            let control = try #require(
                SecAccessControlCreateWithFlags(
                    nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, .userPresence, nil))
            let item: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "a",
                kSecAttrAccessControl as String: control, kSecValueData as String: Data("secret".utf8),
            ]
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecDuplicateItem)
            let query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "a",
                kSecReturnData as String: true,
            ]
            device.present(.cancel)
            var result: CFTypeRef?
            #expect(SecItemCopyMatching(query as CFDictionary, &result) == errSecUserCanceled)
            device.present(.finger(1))
            #expect(SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess)
            #expect(result as? Data == Data("secret".utf8))
            device.reboot()
            #expect(SecItemCopyMatching(query as CFDictionary, &result) == errSecInteractionNotAllowed)
            try device.unlock(passcode: "1234")
            device.present(.fallback, .nonMatch, .fallback, .passcode("9999"), .passcode("1234"))
            #expect(SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess)
        }
    }

    @Test("Advice in a test process can name the kit")
    func theEndpointOfADeviceSaysThatItIsSimulated() throws {
        let device = try SimulatedDevice()
        #expect(device.run { DeviceEndpoint.current().refusalLines != nil })
        #expect(device.run { LateEndpoint().refusalLines != nil })
        #expect(device.run(as: "other") { DeviceEndpoint.current().refusalLines != nil })
        #expect(SocketEndpoint(path: "/nonexistent").refusalLines == nil)
    }

    @Test("A prompt of one app delays no other app's unprotected read")
    func promptDelaysNobody() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
        let query: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "a",
            kSecReturnData as String: true,
        ]
        let item = query.merging([kSecValueData as String: Data("open".utf8)]) { mine, _ in mine }
        let added = device.run(as: "other") { SecItemAdd(item as CFDictionary, nil) }
        #expect(added == errSecSuccess)
        let evaluation = Task(priority: .high) {
            try await device.run {
                try await LAContext().evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "wait")
            }
        }
        await eventually { !device.prompts.isEmpty }
        for _ in 0..<100 {
            let status = device.run(as: "other") { SecItemCopyMatching(query as CFDictionary, nil) }
            #expect(status == errSecParam, "data is asked for and there is nowhere to put it")
            var result: CFTypeRef?
            let read = device.run(as: "other") { SecItemCopyMatching(query as CFDictionary, &result) }
            #expect(read == errSecSuccess && result as? Data == Data("open".utf8))
        }
        #expect(device.prompts.count == 1)
        device.present(.cancel)
        await #expect(throws: LAError.self) { try await evaluation.value }
    }

    @Test("A finger that is presented in the moment in which a prompt comes up is not lost")
    func aFingerAtTheFirstMomentIsNotLost() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
        for number in 1...50 {
            let evaluation = Task(priority: .high) {
                try await device.run {
                    try await LAContext().evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "wait")
                }
            }
            let limit = ContinuousClock.now + .seconds(300)
            while device.prompts.count < number, ContinuousClock.now < limit { usleep(10) }
            device.present(.finger(1))
            #expect(try await evaluation.value)
        }
    }
}

/// Waits for what other tasks bring about, which queue behind those of all other tests; at most five minutes.
func eventually(_ condition: () -> Bool) async {
    let clock = ContinuousClock()
    let end = clock.now + .seconds(300)
    while !condition(), clock.now < end { try? await Task.sleep(for: .milliseconds(1)) }
    #expect(condition())
}
