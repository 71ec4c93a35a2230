import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

/// The sensor that is unplugged: row 1 of the decision table, where something is enrolled.
@Suite(.timeLimit(.minutes(10))) struct SensorTests {
    @Test(
        "CE-02, CE-03, CE-06: unplugged, biometry is not available whatever is enrolled, and the type is told; plugged in it is",
        arguments: [SimulatedDevice.Biometry.touchID, .faceID])
    func availability(biometry: SimulatedDevice.Biometry) throws {
        let device = try SimulatedDevice(biometry: biometry, passcode: "1234", fingers: 1)
        try device.run {
            #expect(canEvaluate(biometrics) == nil)
            try device.setSensorConnected(false)
            let context = LAContext()
            #expect(canEvaluate(biometrics, on: context) == .biometryNotAvailable)
            #expect(context.biometryType == (biometry == .faceID ? .faceID : .touchID))
            // CE-04: the passcode is asked for instead.
            #expect(canEvaluate(deviceOwner) == nil)
            try device.setSensorConnected(true)
            #expect(canEvaluate(biometrics) == nil)
        }
    }

    @Test("CE-03: row 1 comes before rows 3, 4 and 5")
    func precedence() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try await device.run {
            await device.lockOutBiometry()
            try device.setSensorConnected(false)
            #expect(canEvaluate(biometrics) == .biometryNotAvailable)
            try device.setSensorConnected(true)
            #expect(canEvaluate(biometrics) == .biometryLockout)
            try device.removeFinger(1)
            try device.setSensorConnected(false)
            #expect(canEvaluate(biometrics) == .biometryNotAvailable)
            try device.removePasscode("1234")
            #expect(canEvaluate(biometrics) == .biometryNotAvailable)
            #expect(canEvaluate(deviceOwner) == .passcodeNotSet)
        }
    }

    @Test("CE-02: a prompt for biometry alone ends with -6 when the sensor is unplugged")
    func runningBiometry() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
        try await device.run {
            let replies = Replies()
            let context = LAContext()
            replies.collect(biometrics, on: context)
            await eventually { !device.prompts.isEmpty }
            try device.setSensorConnected(false)
            #expect(await replies.only() == .biometryNotAvailable)
            #expect(await evaluate(biometrics) == .biometryNotAvailable)
        }
    }

    @Test("CE-04: a prompt that the passcode can answer goes on with the passcode")
    func runningDeviceOwner() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
        try await device.run {
            let replies = Replies()
            let context = LAContext()
            replies.collect(deviceOwner, on: context)
            await eventually { device.prompts.last?.asksForPasscode == false }
            try device.setSensorConnected(false)
            await eventually { device.prompts.last?.asksForPasscode == true }
            device.present(.passcode("1234"))
            #expect(await replies.only() == nil)
            // And a new one begins with it.
            device.present(.passcode("1234"))
            #expect(await evaluate(deviceOwner) == nil)
            #expect(device.prompts.last?.failures == 0)
        }
    }

    @Test("A prompt that asks for the passcode already is not disturbed")
    func passcodePrompt() async throws {
        let device = try SimulatedDevice(passcode: "1234", unanswered: .waits)
        try await device.run {
            let replies = Replies()
            let context = LAContext()
            replies.collect(deviceOwner, on: context)
            await eventually { device.prompts.last?.asksForPasscode == true }
            try device.setSensorConnected(false)
            device.present(.passcode("1234"))
            #expect(await replies.only() == nil)
        }
    }

    @Test("PC-33: at the lock screen a finger does nothing on a sensor that is unplugged, and opens it once it is back")
    func lockScreen() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.lock()
        try device.setSensorConnected(false)
        #expect(try !device.unlock(finger: 1))
        // EV-26: nor does one that does not match count.
        for _ in 0..<6 { #expect(try !device.unlock(finger: nil)) }
        try device.setSensorConnected(true)
        #expect(try device.unlock(finger: 1))
    }

    @Test("PC-30: nothing is enrolled without the sensor; what is enrolled stays, and can be removed")
    func enrolment() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.run {
            try device.setSensorConnected(false)
            #expect(throws: SimulatedDeviceError.self) { try device.enrollFinger() }
            try device.setSensorConnected(true)
            #expect(try device.enrollFinger() == 2)
            try device.setSensorConnected(false)
            try device.removeFinger(1)
            try device.setSensorConnected(true)
            #expect(canEvaluate(biometrics) == nil)
        }
    }

    @Test("AC-50: what is bound to the set of fingers outlives the unplugged sensor")
    func boundItems() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.run {
            let control = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .biometryCurrentSet, nil))
            let item = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "a"] as [CFString: Any]
            let added = item.merging([kSecAttrAccessControl: control, kSecValueData: "s".data(using: .utf8)!]) { $1 }
            #expect(SecItemAdd(added as CFDictionary, nil) == errSecSuccess)
            let query = item.merging([kSecReturnData: true]) { $1 } as CFDictionary
            var result: CFTypeRef?
            try device.setSensorConnected(false)
            #expect(SecItemCopyMatching(query, &result) == errSecAuthFailed)
            try device.setSensorConnected(true)
            device.present(.finger(1))
            #expect(SecItemCopyMatching(query, &result) == errSecSuccess)
        }
    }

    @Test("A boot finds the sensor plugged in; a device without one has none to unplug")
    func reboot() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.setSensorConnected(false)
        device.reboot()
        try device.unlock(passcode: "1234")
        device.run { #expect(canEvaluate(biometrics) == nil) }
        let none = try SimulatedDevice(biometry: .none, passcode: "1234")
        #expect(throws: SimulatedDeviceError.self) { try none.setSensorConnected(false) }
        #expect(throws: SimulatedDeviceError.self) { try none.setSensorConnected(true) }
    }
}
