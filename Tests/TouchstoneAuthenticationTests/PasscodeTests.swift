import Foundation
import LocalAuthentication
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTesting
import TouchstoneTransport

@Suite(.timeLimit(.minutes(10))) struct PasscodeTests {
    private let device: SimulatedDevice

    init() throws {
        device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
    }

    private func status() throws -> DeviceInterface.Status {
        let endpoint = device.run { DeviceEndpoint.current() }
        return try endpoint.client().call(DeviceInterface.GetStatus.self, Empty()).status
    }

    /// Whether the passcode opens the lock screen.
    private func opens(_ passcode: String) -> Bool {
        (try? device.unlock(passcode: passcode)) != nil
    }

    /// That many different wrong passcodes, each as soon as it is looked at.
    private func fail(_ count: Int, beginningAt first: Int = 0) throws {
        for number in first..<(first + count) {
            #expect(!opens("wrong \(number)"))
            #expect(try status().passcodeFailures == number + 1)
            if number < first + count - 1, let seconds = try status().passcodeRetryAfterSeconds {
                device.advance(by: .seconds(seconds))
            }
        }
    }

    // MARK: delays

    @Test(
        "PC-01, PC-05: after each wrong passcode none is looked at for as long as the table says",
        arguments: [
            (1, nil), (2, nil), (3, nil), (4, 60), (5, 300), (6, 900), (7, 3600), (8, 10800), (9, 28800),
        ] as [(Int, Double?)])
    func delays(failures: Int, seconds: Double?) throws {
        try device.lock()
        try fail(failures)
        #expect(try status().passcodeRetryAfterSeconds == seconds)
        guard let seconds else {
            #expect(opens("1234"))
            return
        }
        device.advance(by: .seconds(seconds - 1))
        #expect(!opens("1234"), "the right one is not looked at either")
        #expect(try status().passcodeFailures == failures, "nor counted")
        device.advance(by: .seconds(1))
        #expect(opens("1234"))
        #expect(try status().passcodeFailures == 0)
    }

    @Test(
        "PC-01, PC-02: with Erase Data off the device never stops taking passcodes: each from the ninth on costs eight hours"
    )
    func neverDisabled() throws {
        try device.lock()
        try fail(14)
        #expect(try !status().isPasscodeDisabled)
        #expect(try status().passcodeRetryAfterSeconds == 28_800)
        #expect(!opens("1234"), "the right one is not looked at either")
        device.advance(by: .seconds(28_799))
        #expect(!opens("1234"))
        device.reboot()
        #expect(try status().passcodeRetryAfterSeconds == 28_800, "PC-03: in full")
        #expect(try status().passcodeFailures == 14)
        device.advance(by: .hours(8))
        #expect(opens("1234"))
        #expect(try status().passcodeFailures == 0)
    }

    @Test("PC-02: the same wrong passcode twenty times is counted once; two in turn count each time")
    func sameWrongPasscode() throws {
        try device.lock()
        for _ in 0..<20 { #expect(!opens("9999")) }
        #expect(try status().passcodeFailures == 1)
        #expect(try status().passcodeRetryAfterSeconds == nil)
        #expect(!opens("8888"))
        #expect(!opens("9999"))
        #expect(try status().passcodeFailures == 3)
        #expect(opens("1234"))
    }

    @Test("PC-02: the last try is not used up by a passcode that was wrong already")
    func sameWrongPasscodeAtTheEnd() throws {
        try device.lock()
        try fail(9)
        device.advance(by: .hours(8))
        #expect(!opens("wrong 8"))
        #expect(try !status().isPasscodeDisabled)
        #expect(opens("1234"))
    }

    @Test("PC-03: a restart starts the delay again and does not shorten it")
    func delayOutlivesARestart() throws {
        try device.lock()
        try fail(5)
        device.advance(by: .seconds(290))
        #expect(try status().passcodeRetryAfterSeconds == 10)
        device.reboot()
        #expect(try status().passcodeRetryAfterSeconds == 300)
        device.advance(by: .seconds(299))
        #expect(!opens("1234"))
        device.advance(by: .seconds(1))
        #expect(opens("1234"))
    }

    @Test("PC-07: wrong passcodes of a policy-2 sheet, the lock screen and settings are one count")
    func oneCount() async throws {
        try await device.run {
            device.present(.nonMatch, .fallback, .passcode("wrong 0"), .cancel)
            #expect(await evaluate(deviceOwner) == .userCancel)
            #expect(try status().passcodeFailures == 1)
            try device.lock()
            #expect(!opens("wrong 1"))
            #expect(throws: SimulatedDeviceError.self) { try device.changePasscode(from: "wrong 2", to: "5678") }
            #expect(throws: SimulatedDeviceError.self) { try device.removePasscode("wrong 3") }
            #expect(try status().passcodeFailures == 4)
            #expect(!opens("1234"))
            device.advance(by: .minutes(1))
            #expect(opens("1234"))
        }
    }

    @Test("PC-01, PC-07: in a sheet the right passcode is refused during the delay and taken after it")
    func delayInASheet() async throws {
        await device.run {
            device.present(.nonMatch, .fallback)
            for number in 0..<4 { device.present(.passcode("wrong \(number)")) }
            device.present(.passcode("1234"), .passcode("1234"), .cancel)
            #expect(await evaluate(deviceOwner) == .userCancel)
            device.advance(by: .seconds(60))
            device.present(.nonMatch, .fallback, .passcode("1234"))
            #expect(await evaluate(deviceOwner) == nil)
        }
    }

    @Test("PC-01: after ten wrong passcodes in a sheet it goes on asking, and the right one counts eight hours later")
    func tenWrongInASheet() async throws {
        try await device.run {
            let context = LAContext()
            let replies = Replies()
            device.present(.nonMatch, .fallback)
            replies.collect(deviceOwner, on: context)
            for number in 0..<10 {
                #expect(replies.codes.isEmpty)
                device.present(.passcode("wrong \(number)"))
                // Judged, not only counted: the delay is there.
                try await eventually {
                    let status = try status()
                    return status.passcodeFailures == number + 1
                        && (number < 3 || status.passcodeRetryAfterSeconds != nil)
                }
                device.advance(by: .seconds(try status().passcodeRetryAfterSeconds ?? 0))
            }
            #expect(replies.codes.isEmpty)
            device.present(.passcode("1234"))
            #expect(await replies.only() == nil)
            #expect(try status().passcodeFailures == 0)
        }
    }

    @Test("PC-07: ten wrong passcodes in settings take nothing from a sheet but time")
    func tenWrongBesideASheet() async throws {
        await device.run {
            let (waiting, context) = (Replies(), LAContext())
            device.present(.nonMatch, .fallback)
            waiting.collect(deviceOwner, on: context)
            await eventually { device.prompts.last?.asksForPasscode == true && !device.isPersonActing }
            for number in 0..<10 {
                #expect(throws: SimulatedDeviceError.self) {
                    try device.changePasscode(from: "wrong \(number)", to: "5678")
                }
                device.advance(by: .seconds(8 * 3600))
            }
            #expect(waiting.codes.isEmpty)
            device.present(.passcode("1234"))
            #expect(await waiting.only() == nil)
        }
    }

    // MARK: when biometrics are refused

    @Test("PC-20: after a restart biometrics are refused until the passcode was used")
    func afterARestart() throws {
        try device.run {
            device.reboot()
            #expect(canEvaluate(biometrics) == .biometryLockout)
            #expect(try !device.unlock(finger: 1))
            try device.unlock(passcode: "1234")
            #expect(canEvaluate(biometrics) == nil)
            try device.lockAndUnlock(finger: 1)
        }
    }

    @Test("PC-20: 48 hours without an unlock refuse biometrics, an unlock in between does not")
    func fortyEightHours() throws {
        try device.run {
            device.advance(by: .hours(48))
            #expect(canEvaluate(biometrics) == nil)
            try device.lockAndUnlock(finger: 1)
            device.advance(by: .hours(48))
            #expect(canEvaluate(biometrics) == nil)
            device.advance(by: .seconds(1))
            #expect(canEvaluate(biometrics) == .biometryLockout)
            try device.lock()
            #expect(try !device.unlock(finger: 1))
            try device.unlock(passcode: "1234")
            #expect(canEvaluate(biometrics) == nil)
        }
    }

    @Test(
        "PC-20, PC-25: after a lock that asks for the passcode no finger helps, and policy 1 says -8, until it was entered"
    )
    func lockThatRequiresThePasscode() throws {
        try device.run {
            try device.lock(requirePasscode: true)
            #expect(canEvaluate(biometrics) == .biometryLockout)
            #expect(try !device.unlock(finger: 1))
            #expect(try status().isBiometryLockedOut)
            #expect(opens("1234"))
            #expect(canEvaluate(biometrics) == nil)
            try device.lock()
            #expect(try device.unlock(finger: 1), "an ordinary lock asks for no passcode")
        }
    }

    @Test("PC-22: what a finger has opened and proven changes no setting: each wants the passcode")
    func settingsWantThePasscode() async throws {
        try await device.run {
            try device.lockAndUnlock(finger: 1)
            device.present(.finger(1))
            #expect(await evaluate(biometrics) == nil)
            #expect(throws: SimulatedDeviceError.self) { try device.setPasscode("5678") }
            #expect(throws: SimulatedDeviceError.self) { try device.changePasscode(from: "0000", to: "5678") }
            #expect(throws: SimulatedDeviceError.self) { try device.removePasscode("0001") }
            #expect(throws: SimulatedDeviceError.self) { try device.setEraseData(true, passcode: "0002") }
            #expect(try !status().erasesData)
            #expect(opens("1234"))
        }
    }

    @Test("PC-20: locked for more than 48 hours, a finger opens no more; for less it does")
    func lockedForFortyEightHours() throws {
        try device.lock()
        device.advance(by: .hours(47))
        #expect(try device.unlock(finger: 1))
        try device.lock()
        device.advance(by: .hours(49))
        #expect(try !device.unlock(finger: 1))
        #expect(opens("1234"))
    }

    @Test("PC-20, EV-27: the passcode in policy 2 allows biometrics again after 48 hours")
    func passcodeAllowsBiometricsAgain() async throws {
        await device.run {
            device.advance(by: .hours(49))
            #expect(canEvaluate(biometrics) == .biometryLockout)
            device.present(.passcode("1234"))
            #expect(await evaluate(deviceOwner) == nil)
            #expect(canEvaluate(biometrics) == nil)
        }
    }

    @Test("PC-20: 156 hours without the passcode refuse biometrics only after 4 hours without a finger")
    func oneHundredFiftySixHours() throws {
        try device.run {
            for _ in 0..<4 {
                device.advance(by: .hours(39))
                try device.lockAndUnlock(finger: 1)
            }
            // 156 hours to the second, a finger just now.
            device.advance(by: .hours(4))
            #expect(canEvaluate(biometrics) == nil)
            try device.lockAndUnlock(finger: 1)
            device.advance(by: .hours(4))
            #expect(canEvaluate(biometrics) == nil)
            device.advance(by: .seconds(1))
            #expect(canEvaluate(biometrics) == .biometryLockout)
            try device.lockAndUnlock(passcode: "1234")
            #expect(canEvaluate(biometrics) == nil)
        }
    }

    @Test("PC-20: with the passcode used within 156 hours, 4 hours without a finger are nothing")
    func passcodeKeepsBiometrics() throws {
        try device.run {
            for _ in 0..<4 {
                device.advance(by: .hours(39))
                try device.lockAndUnlock(passcode: "1234")
            }
            device.advance(by: .hours(5))
            #expect(canEvaluate(biometrics) == nil)
        }
    }

    @Test("PC-20: a prompt that is up when biometrics come to be refused takes no finger")
    func promptAcrossTheDeadline() async throws {
        await device.run {
            let context = LAContext()
            let replies = Replies()
            replies.collect(biometrics, on: context)
            await eventually { device.prompts.count == 1 }
            device.advance(by: .hours(49))
            device.present(.finger(1))
            #expect(await replies.only() == .biometryLockout)
        }
    }

    // MARK: settings

    @Test("PC-23: no finger without a passcode, five with one, two faces")
    func enrolment() throws {
        let touch = try SimulatedDevice()
        #expect(throws: SimulatedDeviceError.self) { try touch.enrollFinger() }
        try touch.setPasscode("1234")
        for number in 1...5 { #expect(try touch.enrollFinger() == number) }
        #expect(throws: SimulatedDeviceError.self, "PC-30") { try touch.enrollFinger() }
        let face = try SimulatedDevice(biometry: .faceID, passcode: "1234", fingers: 2)
        #expect(throws: SimulatedDeviceError.self, "PC-30") { try face.enrollFinger() }
        let none = try SimulatedDevice(biometry: .none, passcode: "1234")
        #expect(throws: SimulatedDeviceError.self) { try none.enrollFinger() }
    }

    @Test("PC-06: three bytes are too few, four enough; any text will do")
    func length() throws {
        let device = try SimulatedDevice()
        #expect(throws: SimulatedDeviceError.self) { try device.setPasscode("123") }
        try device.setPasscode("ünï")
        try device.lock()
        try device.unlock(passcode: "ünï")
        try device.changePasscode(from: "ünï", to: String(repeating: "x", count: 256))
        #expect(throws: SimulatedDeviceError.self) {
            try device.changePasscode(
                from: String(repeating: "x", count: 256), to: String(repeating: "x", count: 257))
        }
    }

    @Test("PC-02: a passcode change with the right one sets the count to nought; the old one is wrong afterwards")
    func change() throws {
        try device.lock()
        try fail(3)
        try device.changePasscode(from: "1234", to: "5678")
        #expect(try status().passcodeFailures == 0)
        #expect(!opens("1234"))
        #expect(opens("5678"))
    }
}
