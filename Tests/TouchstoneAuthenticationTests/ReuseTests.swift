import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

@Suite(.timeLimit(.minutes(10))) struct ReuseTests {
    private let device: SimulatedDevice

    init() throws {
        device = try SimulatedDevice(passcode: "1234", fingers: 2)
    }

    /// Whether an evaluation that may not ask succeeds.
    private func isReused(_ seconds: TimeInterval, _ policy: LAPolicy = biometrics) async -> Bool {
        let context = LAContext()
        context.touchIDAuthenticationAllowableReuseDuration = seconds
        context.interactionNotAllowed = true
        let code = await evaluate(policy, on: context)
        #expect(code == nil || code == .notInteractive)
        return code == nil
    }

    @Test("EV-40, AT-10: a biometric unlock counts for as long as the app allows, and by default not at all")
    func biometricUnlockCounts() async throws {
        try await device.run {
            #expect(LAContext().touchIDAuthenticationAllowableReuseDuration == 0)
            try device.lockAndUnlock(finger: 1)
            #expect(await !isReused(0))
            device.advance(by: .seconds(10))
            #expect(await isReused(10))
            #expect(await isReused(10, deviceOwner))
            device.advance(by: .seconds(1))
            #expect(await !isReused(10))
            #expect(await isReused(11))
            #expect(device.prompts.isEmpty)
        }
    }

    @Test("EV-40: an unlock with the passcode does not count, not even after one with a finger")
    func passcodeUnlockDoesNotCount() async throws {
        try await device.run {
            try device.lockAndUnlock(passcode: "1234")
            #expect(await !isReused(300))
            try device.lockAndUnlock(finger: 1)
            #expect(await isReused(300))
            try device.lockAndUnlock(passcode: "1234")
            #expect(await !isReused(300))
        }
    }

    @Test("EV-40: a face counts as a finger does")
    func faceCounts() async throws {
        let device = try SimulatedDevice(biometry: .faceID, passcode: "1234", fingers: 1)
        try await device.run {
            try device.lockAndUnlock(finger: 1)
            #expect(await isReused(10))
        }
    }

    @Test("EV-41: an evaluation that succeeds begins no window")
    func evaluationBeginsNoWindow() async throws {
        await device.run {
            device.present(.finger(1))
            #expect(await evaluate(biometrics) == nil)
            #expect(await !isReused(300))
        }
    }

    @Test("EV-42: 10000 reads back as 10000 and counts for 300 seconds, not for 301")
    func clampedOnUse() async throws {
        try await device.run {
            let context = LAContext()
            context.touchIDAuthenticationAllowableReuseDuration = 10000
            #expect(context.touchIDAuthenticationAllowableReuseDuration == 10000)
            #expect(LATouchIDAuthenticationMaximumAllowableReuseDuration == 300)
            try device.lockAndUnlock(finger: 1)
            device.advance(by: .seconds(300))
            #expect(await isReused(10000))
            device.advance(by: .seconds(1))
            #expect(await !isReused(10000))
            device.present(.cancel)
            #expect(await evaluate(biometrics, on: context) == .userCancel)
            #expect(device.prompts.count == 1)
        }
    }

    @Test("EV-40: durations that make no sense count as none", arguments: [-1, -TimeInterval.infinity, .nan])
    func nonsense(seconds: TimeInterval) async throws {
        try await device.run {
            try device.lockAndUnlock(finger: 1)
            let context = LAContext()
            context.touchIDAuthenticationAllowableReuseDuration = seconds
            device.present(.cancel)
            #expect(await evaluate(biometrics, on: context) == .userCancel)
        }
    }

    @Test("EV-42: for ever is 300 seconds")
    func forEver() async throws {
        try await device.run {
            try device.lockAndUnlock(finger: 1)
            #expect(await isReused(.infinity))
            device.advance(by: .seconds(301))
            #expect(await !isReused(.infinity))
        }
    }

    @Test("EV-40: a restart ends the window")
    func restartEndsTheWindow() async throws {
        try await device.run {
            try device.lockAndUnlock(finger: 1)
            #expect(await isReused(300))
            device.reboot()
            try device.unlock(passcode: "1234")
            #expect(await !isReused(300))
        }
    }

    @Test("EV-33, EV-40: another enrolment ends the window: whoever unlocked is not of the new set")
    func enrolmentEndsTheWindow() async throws {
        try await device.run {
            try device.lockAndUnlock(finger: 1)
            #expect(await isReused(300))
            try device.enrollFinger()
            #expect(await !isReused(300))
        }
    }

    @Test("EV-43: a reused unlock is biometry for the context: the keychain asks no more")
    func reuseCountsForTheKeychain() async throws {
        try await device.run {
            let control = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .biometryCurrentSet, nil))
            let item: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "a",
                kSecAttrAccessControl as String: control, kSecValueData as String: Data("secret".utf8),
            ]
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            try device.lockAndUnlock(finger: 2)
            let context = LAContext()
            context.touchIDAuthenticationAllowableReuseDuration = 10
            let query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "a",
                kSecReturnData as String: true, kSecUseAuthenticationContext as String: context,
            ]
            var result: CFTypeRef?
            #expect(await evaluate(biometrics, on: context) == nil)
            #expect(SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess)
            #expect(result as? Data == Data("secret".utf8))
            #expect(device.prompts.isEmpty)
        }
    }
}
