import LocalAuthentication
import Testing
import TouchstoneTesting

@Suite(.timeLimit(.minutes(10))) struct LockoutTests {
    @Test("EV-25: Touch ID ends at the third non-match with -1, and not at the second")
    func thirdNonMatch() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run {
            device.present(.nonMatch, .nonMatch, .finger(1))
            #expect(await evaluate(biometrics) == nil)
            device.present(.nonMatch, .nonMatch, .nonMatch)
            #expect(await evaluate(biometrics) == .authenticationFailed)
            #expect(canEvaluate(biometrics) == nil, "three are not five")
        }
    }

    @Test("EV-26: three non-matches (-1), then two (-8), then policy 1 is refused and policy 2 is not")
    func threeThenTwo() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run {
            device.present(.nonMatch, .nonMatch, .nonMatch)
            #expect(await evaluate(biometrics) == .authenticationFailed)
            device.present(.nonMatch, .nonMatch)
            #expect(await evaluate(biometrics) == .biometryLockout)
            #expect(canEvaluate(biometrics) == .biometryLockout)
            #expect(canEvaluate(deviceOwner) == nil)
        }
    }

    @Test("EV-26: four non-matches and a match are no lockout, and the count starts again")
    func fourThenAMatch() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run {
            for _ in 0..<2 {
                device.present(.nonMatch, .nonMatch, .cancel)
                #expect(await evaluate(biometrics) == .userCancel)
                device.present(.nonMatch, .nonMatch, .finger(1))
                #expect(await evaluate(biometrics) == nil)
            }
            #expect(canEvaluate(biometrics) == nil)
        }
    }

    @Test("EV-26: non-matches count across apps")
    func acrossApps() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run(as: "org.example.one") {
            device.present(.nonMatch, .nonMatch, .nonMatch)
            #expect(await evaluate(biometrics) == .authenticationFailed)
        }
        await device.run(as: "org.example.two") {
            device.present(.nonMatch, .nonMatch)
            #expect(await evaluate(biometrics) == .biometryLockout)
        }
        device.run(as: "org.example.one") {
            #expect(canEvaluate(biometrics) == .biometryLockout)
        }
    }

    @Test("EV-26: a cancelled evaluation's non-matches count")
    func cancelledEvaluationsCount() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run {
            for _ in 0..<4 {
                device.present(.nonMatch, .cancel)
                #expect(await evaluate(biometrics) == .userCancel)
            }
            device.present(.nonMatch)
            #expect(await evaluate(biometrics) == .biometryLockout)
        }
    }

    @Test("EV-26: non-matches at the lock screen count too")
    func lockScreenCounts() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.run {
            try device.lock()
            for _ in 0..<4 { #expect(try !device.unlock(finger: nil)) }
            #expect(try device.unlock(finger: 1), "the fifth may still match")
            try device.lock()
            for _ in 0..<5 { #expect(try !device.unlock(finger: nil)) }
            #expect(try !device.unlock(finger: 1), "five in a row: the passcode only")
            #expect(try device.isLocked)
        }
    }

    @Test("EV-26: lockout outlives a restart")
    func outlivesARestart() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try await device.run {
            await device.lockOutBiometry()
            device.reboot()
            #expect(canEvaluate(biometrics) == .biometryLockout)
            try device.unlock(passcode: "1234")
            #expect(canEvaluate(biometrics) == nil)
        }
    }

    @Test("EV-26: four non-matches before a restart and one after are five")
    func countOutlivesARestart() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try await device.run {
            for _ in 0..<2 {
                device.present(.nonMatch, .nonMatch, .cancel)
                #expect(await evaluate(biometrics) == .userCancel)
            }
            device.reboot()
            #expect(try !device.unlock(finger: 1), "PC-20: no finger after a restart")
            try device.unlock(passcode: "1234")
            // The passcode has set the count to nought (EV-27).
            device.present(.nonMatch, .finger(1))
            #expect(await evaluate(biometrics) == nil)
        }
    }

    @Test("EV-27: the passcode at the lock screen ends lockout, a wrong one does not")
    func passcodeAtTheLockScreen() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try await device.run {
            await device.lockOutBiometry()
            try device.lock()
            #expect(throws: SimulatedDeviceError.self) { try device.unlock(passcode: "9999") }
            #expect(try !device.unlock(finger: 1))
            #expect(canEvaluate(biometrics) == .biometryLockout)
            try device.unlock(passcode: "1234")
            #expect(canEvaluate(biometrics) == nil)
        }
    }

    @Test("EV-27: the passcode in policy 2 ends lockout, a cancelled one does not")
    func passcodeInAnEvaluation() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run {
            await device.lockOutBiometry()
            device.present(.passcode("9999"), .cancel)
            #expect(await evaluate(deviceOwner) == .userCancel)
            #expect(canEvaluate(biometrics) == .biometryLockout)
            device.present(.passcode("1234"))
            #expect(await evaluate(deviceOwner) == nil)
            #expect(canEvaluate(biometrics) == nil)
            device.present(.finger(1))
            #expect(await evaluate(biometrics) == nil)
        }
    }

    @Test("EV-28: evaluating policy 1 under lockout fails with -8 and asks nobody")
    func lockedOutPolicyOneAsksNobody() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run {
            await device.lockOutBiometry()
            let asked = device.prompts.count
            #expect(await evaluate(biometrics) == .biometryLockout)
            #expect(device.prompts.count == asked)
        }
    }

    @Test("EV-26: the fifth non-match in policy 2 turns to the passcode")
    func fifthNonMatchInPolicyTwo() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run {
            device.present(.nonMatch, .nonMatch, .nonMatch)
            #expect(await evaluate(biometrics) == .authenticationFailed)
            device.present(.nonMatch, .nonMatch, .passcode("1234"))
            #expect(await evaluate(deviceOwner) == nil)
            #expect(device.prompts.last?.asksForPasscode == true)
            #expect(device.prompts.last?.failures == 2)
            #expect(canEvaluate(biometrics) == nil)
        }
    }

    @Test("EV-29: maxBiometryFailures is kept and changes nothing")
    func maximumFailuresIsIgnored() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run {
            let context = LAContext()
            context.maxBiometryFailures = 1
            #expect(context.maxBiometryFailures == 1)
            device.present(.nonMatch, .nonMatch, .finger(1))
            #expect(await evaluate(biometrics, on: context) == nil)
        }
    }
}
