import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

/// Sections 6.4 to 6.6: prompts, statuses, and what an enrolment change does.
@Suite(.timeLimit(.minutes(10))) struct AccessControlStatusTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 2) }

    private func addItem(_ flags: SecAccessControlCreateFlags) throws {
        try #require(add(account("a", [kSecAttrAccessControl: try control(flags)]).value("a")) == errSecSuccess)
    }

    // MARK: the prompt

    @Test("AC-27: the prompt says what the context says, else the query, else something") func reason() throws {
        try device.run {
            try addItem(.userPresence)
            let context = LAContext()
            context.localizedReason = "by the context"
            let both: Attributes = [
                kSecUseAuthenticationContext: context, kSecUseOperationPrompt: "by the query",
            ]
            device.present(.finger(1), .finger(1), .finger(1))
            #expect(secret(account("a", both)) == "a")
            #expect(secret(account("a", [kSecUseOperationPrompt: "by the query"])) == "a")
            #expect(secret(account("a")) == "a")
            #expect(device.prompts.map(\.reason).prefix(2) == ["by the context", "by the query"])
            #expect(device.prompts.last?.reason.isEmpty == false)
        }
    }

    @Test("AC-28: the prompt of userPresence offers the passcode, and the passcode opens the item")
    func offersPasscode() throws {
        try device.run(prompts: 1) {
            try addItem(.userPresence)
            device.present(.nonMatch, .fallback, .passcode("1234"))
            #expect(secret(account("a")) == "a")
            #expect(device.prompts.last?.asksForPasscode == true)
        }
    }

    @Test("AC-28: the prompt of biometryAny has no way to the passcode") func doesNotOfferPasscode() throws {
        try device.run(prompts: 1) {
            try addItem(.biometryAny)
            device.present(.nonMatch, .fallback, .passcode("1234"))
            #expect(read(account("a")) == errSecAuthFailed)
            #expect(device.prompts.last?.asksForPasscode == false)
        }
    }

    @Test("AC-31: without a sensor the passcode is asked for at once, and a wrong one again") func withoutSensor()
        throws
    {
        let device = try SimulatedDevice(biometry: .none, passcode: "1234")
        try device.run(prompts: 2) {
            try addItem(.userPresence)
            device.present(.passcode("9999"), .passcode("1234"))
            #expect(secret(account("a")) == "a")
            #expect(device.prompts.map(\.asksForPasscode) == [true])
            device.present(.passcode("9999"), .cancel)
            #expect(read(account("a")) == errSecUserCanceled)
        }
    }

    @Test("AC-31: with biometry locked out the passcode is asked for") func lockedOut() throws {
        try device.run {
            try addItem(.userPresence)
            device.present(.nonMatch, .nonMatch, .nonMatch, .cancel)
            #expect(read(account("a")) == errSecUserCanceled)
            device.present(.nonMatch, .nonMatch, .passcode("1234"))
            #expect(secret(account("a")) == "a")
        }
    }

    @Test("AC-30, AC-44: in the background and without anybody at the prompt a read is refused") func notInteractive()
        throws
    {
        try device.runUnprompted {
            try addItem(.userPresence)
            try device.setForeground(false)
            #expect(read(account("a")) == errSecInteractionNotAllowed)
            try device.setForeground(true)
            device.setAttended(false)
            #expect(read(account("a")) == errSecInteractionNotAllowed)
        }
    }

    // MARK: statuses

    @Test("AC-41: Allow asks, Fail fails, Skip leaves the item out") func authenticationUI() throws {
        try device.run(prompts: 1) {
            try addItem(.userPresence)
            add(account("b").value("b"))
            func reading(_ ui: CFString) -> Attributes { account("a", [kSecUseAuthenticationUI: ui]) }
            #expect(read(reading(kSecUseAuthenticationUIFail)) == errSecInteractionNotAllowed)
            #expect(read(account("a", [kSecUseNoAuthenticationUI: true])) == errSecInteractionNotAllowed)
            #expect(read(reading(kSecUseAuthenticationUISkip)) == errSecItemNotFound)
            #expect(accounts(generic([kSecUseAuthenticationUI: kSecUseAuthenticationUISkip])) == ["b"])
            let context = LAContext()
            context.interactionNotAllowed = true
            #expect(read(account("a", [kSecUseAuthenticationContext: context])) == errSecInteractionNotAllowed)
            device.present(.finger(1))
            #expect(secret(reading(kSecUseAuthenticationUIAllow)) == "a")
        }
    }

    @Test("AC-44: cancelling is -128, every other end but success is -25293") func ends() throws {
        let ends: [(OSStatus, [SimulatedDevice.Action])] = [
            (errSecUserCanceled, [.cancel]), (errSecUserCanceled, [.nonMatch, .cancel]),
            (errSecAuthFailed, [.nonMatch, .fallback]), (errSecAuthFailed, [.leaveApp]),
            (errSecAuthFailed, [.nonMatch, .nonMatch, .nonMatch]), (errSecSuccess, [.nonMatch, .finger(1)]),
        ]
        for (status, actions) in ends {
            let device = try SimulatedDevice(passcode: "1234", fingers: 1)
            try device.run(prompts: 1) {
                try addItem(.biometryAny)
                for action in actions { device.present(action) }
                #expect(read(account("a")) == status, "\(actions)")
            }
        }
    }

    @Test("AC-44: lockout, nobody enrolled and no passcode are -25293, without a prompt") func refusals() throws {
        try device.run { try addItem(.biometryAny) }
        device.run {
            device.present(.nonMatch, .nonMatch, .nonMatch, .nonMatch, .nonMatch)
            #expect(read(account("a")) == errSecAuthFailed)
            #expect(read(account("a")) == errSecAuthFailed)
        }
        try device.runUnprompted {
            #expect(read(account("a")) == errSecAuthFailed)
            for finger in 1...2 { try device.removeFinger(finger) }
            #expect(read(account("a")) == errSecAuthFailed)
            try device.removePasscode("1234")
            #expect(read(account("a")) == errSecAuthFailed)
        }
    }

    @Test("AC-31: userPresence gives no access once the passcode is removed, and does again with a new one")
    func passcodeRemoved() throws {
        try device.run { try addItem(.userPresence) }
        try device.runUnprompted {
            try device.removePasscode("1234")
            #expect(read(account("a")) == errSecAuthFailed)
        }
        let fresh = try SimulatedDevice(passcode: "1234")
        try fresh.run(prompts: 1) {
            try addItem(.userPresence)
            try fresh.removePasscode("1234")
            try fresh.setPasscode("5678")
            fresh.present(.passcode("5678"))
            #expect(secret(account("a")) == "a")
        }
    }

    @Test("AC-53: no cancel, interruption or lockout takes the item: the right proof opens it afterwards")
    func itemSurvives()
        throws
    {
        try device.run {
            try addItem(.biometryCurrentSet)
            for action in [SimulatedDevice.Action.cancel, .leaveApp] {
                device.present(action)
                #expect(read(account("a")) != errSecSuccess)
                try device.setForeground(true)
            }
            device.present(.nonMatch, .nonMatch, .nonMatch, .nonMatch, .nonMatch)
            for _ in 0..<3 { #expect(read(account("a")) == errSecAuthFailed) }
            try device.lock()
            #expect(read(account("a")) == errSecInteractionNotAllowed)
            try device.unlock(passcode: "1234")
            device.present(.finger(1))
            #expect(secret(account("a")) == "a")
        }
    }

    @Test("AC-08: a constraint goes with every class, which still says when") func everyClass() throws {
        try device.run(prompts: 7) {
            let classes = ["ak", "ck", "dk", "aku", "cku", "dku", "akpu"]
            for name in classes {
                let wanted = try control(.userPresence, name as CFString)
                #expect(add(account(name, [kSecAttrAccessControl: wanted]).value(name)) == errSecSuccess)
                device.present(.finger(1))
                #expect(secret(account(name)) == name)
            }
            // Behind the lock screen nobody is asked, whatever the class.
            try device.lock()
            for name in classes { #expect(read(account(name)) == errSecInteractionNotAllowed, "\(name)") }
        }
    }

    @Test("AC-60: a dummy item asks for a finger or the passcode, and cannot be had without one") func dummyItem()
        throws
    {
        let bare = try SimulatedDevice()
        try bare.runUnprompted {
            for protection in [kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, kSecAttrAccessibleWhenUnlocked] {
                let wanted = try control(.userPresence, protection)
                #expect(add(account("a", [kSecAttrAccessControl: wanted]).value("a")) == errSecAuthFailed)
            }
        }
        try device.run(prompts: 1) {
            let wanted = try control(.userPresence, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly)
            #expect(add(account("a", [kSecAttrAccessControl: wanted]).value("a")) == errSecSuccess)
            device.present(.nonMatch, .fallback, .passcode("1234"))
            #expect(read(account("a")) == errSecSuccess)
        }
    }

    // MARK: enrolment

    @Test("AC-50, AC-51: an enrolment change ends biometryCurrentSet for good, silently", arguments: [true, false])
    func currentSetEnds(isAdded: Bool) throws {
        try device.run(prompts: 1) {
            try addItem(.biometryCurrentSet)
            device.present(.finger(2))
            #expect(secret(account("a")) == "a")
        }
        try device.runUnprompted {
            if isAdded { try device.enrollFinger() } else { try device.removeFinger(2) }
            #expect(read(account("a")) == errSecItemNotFound)
            #expect(find(account("a").attributes).status == errSecItemNotFound)
        }
    }

    @Test("AC-50: the same fingers again do not bring an item of biometryCurrentSet back, and it can be added again")
    func currentSetDoesNotComeBack() throws {
        try device.runUnprompted {
            try addItem(.biometryCurrentSet)
            try device.removeFinger(2)
            #expect(try device.enrollFinger() == 2)
            #expect(read(account("a")) == errSecItemNotFound)
            try addItem(.biometryCurrentSet)
        }
    }

    @Test("AC-50: the set that counts is the one when the item is added, not when the control is made")
    func setWhenAdded() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.run(prompts: 1) {
            let early = try control(.biometryCurrentSet)
            try device.enrollFinger()
            #expect(add(account("a", [kSecAttrAccessControl: early]).value("a")) == errSecSuccess)
            device.present(.finger(1))
            #expect(secret(account("a")) == "a")
        }
    }

    @Test(
        "AC-54: biometryAny and userPresence outlive every enrolment change",
        arguments: [
            SecAccessControlCreateFlags.biometryAny, .userPresence,
        ])
    func anySurvives(flags: SecAccessControlCreateFlags) throws {
        try device.run(prompts: 2) {
            try addItem(flags)
            try device.enrollFinger()
            device.present(.finger(3))
            #expect(secret(account("a")) == "a")
            for finger in 1...3 { try device.removeFinger(finger) }
            try device.enrollFinger()
            device.present(.finger(1))
            #expect(secret(account("a")) == "a")
        }
    }
}
