import LocalAuthentication
import Testing
import TouchstoneTesting

/// The example over every state that a device can be in; nobody is ever asked.
@Suite(.timeLimit(.minutes(5))) struct SupportedBiometryTests {
    /// As `evaluatePolicy` ends with so many misses in a row.
    private func miss(_ device: SimulatedDevice, _ actions: SimulatedDevice.Action...) async {
        for action in actions { device.present(action) }
        _ = try? await LAContext().evaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, localizedReason: "test")
    }

    private func lockOut(_ device: SimulatedDevice, _ biometry: SimulatedDevice.Biometry) async {
        if biometry == .touchID {
            await miss(device, .nonMatch, .nonMatch, .nonMatch)
            await miss(device, .nonMatch, .nonMatch)
        } else {
            for _ in 0..<2 { await miss(device, .nonMatch, .tryAgain, .nonMatch, .cancel) }
            await miss(device, .nonMatch)
        }
    }

    private func made(
        _ biometry: SimulatedDevice.Biometry, _ readiness: SupportedBiometry.Readiness
    ) -> SupportedBiometry {
        biometry == .touchID ? .touchID(readiness) : .faceID(readiness)
    }

    @Test(
        "CE-02, CE-03, CE-18: from a new device to one without a passcode, the sensor keeps its name",
        arguments: [SimulatedDevice.Biometry.touchID, .faceID])
    func life(biometry: SimulatedDevice.Biometry) async throws {
        let device = try SimulatedDevice(biometry: biometry)
        try await device.run {
            #expect(SupportedBiometry.current == made(biometry, .notEnrolled))
            try device.setPasscode("1234")
            #expect(SupportedBiometry.current == made(biometry, .notEnrolled))
            try device.enrollFinger()
            #expect(SupportedBiometry.current == made(biometry, .usable))
            #expect(SupportedBiometry.current.name == (biometry == .touchID ? "Touch ID" : "Face ID"))
            await lockOut(device, biometry)
            let asked = device.prompts.count
            #expect(SupportedBiometry.current == made(biometry, .lockedOut))
            try device.lock()
            try device.unlock(passcode: "1234")
            #expect(SupportedBiometry.current == made(biometry, .usable))
            device.reboot()
            #expect(SupportedBiometry.current == made(biometry, .lockedOut))
            try device.unlock(passcode: "1234")
            try device.removePasscode("1234")
            #expect(SupportedBiometry.current == made(biometry, .passcodeNotSet))
            #expect(device.prompts.count == asked, "CE-10: asks nobody")
        }
    }

    @Test(
        "CE-09, CE-10: Face ID that is denied is disabled for this app; one not yet asked about is usable, and stays unasked"
    )
    func permission() throws {
        let device = try SimulatedDevice(biometry: .faceID, passcode: "1234", fingers: 1)
        try device.run {
            for (answer, readiness) in [
                (nil, SupportedBiometry.Readiness.usable), (false, .disabledForThisApp), (true, .usable),
            ] as [(Bool?, SupportedBiometry.Readiness)] {
                try device.setFaceIDPermission(answer)
                #expect(SupportedBiometry.current == .faceID(readiness))
                #expect(try device.faceIDPermission() == answer)
            }
            #expect(device.prompts.isEmpty)
        }
    }

    @Test("CE-02: a device without a sensor has none, with a passcode and without")
    func noSensor() throws {
        let device = try SimulatedDevice(biometry: .none)
        try device.run {
            #expect(SupportedBiometry.current == .none)
            try device.setPasscode("1234")
            #expect(SupportedBiometry.current == .none)
            #expect(SupportedBiometry.current.name == nil)
            #expect(SupportedBiometry.current.readiness == nil)
        }
    }
}
