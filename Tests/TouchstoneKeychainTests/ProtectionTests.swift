import Foundation
import Security
import Testing
import TouchstoneTesting

/// Section 5.3: which class can be opened when.
@Suite(.timeLimit(.minutes(1))) struct ProtectionTests {
    private static let unlockedOnly = ["ak", "aku", "akpu"]
    private static let afterFirstUnlock = ["ck", "cku"]
    private static let always = ["dk", "dku"]
    private static let classes = unlockedOnly + afterFirstUnlock + always

    private enum State: CaseIterable { case beforeFirstUnlock, locked, unlocked }

    private static func isOpen(_ protection: String, _ state: State) -> Bool {
        switch state {
        case .unlocked: true
        case .locked: !unlockedOnly.contains(protection)
        case .beforeFirstUnlock: always.contains(protection)
        }
    }

    private func item(_ protection: String) -> Attributes {
        account(protection, [kSecAttrAccessible: protection])
    }

    @Test("KC-20: the table, for each class, before the first unlock, locked and unlocked", arguments: classes)
    func table(protection: String) throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.run {
            for state in State.allCases {
                #expect(add(item(protection).value("s")) == errSecSuccess)
                switch state {
                case .beforeFirstUnlock: device.reboot()
                case .locked: try device.lock()
                case .unlocked: break
                }
                let isOpen = Self.isOpen(protection, state)
                let expected = isOpen ? errSecSuccess : errSecInteractionNotAllowed
                #expect(read(account(protection)) == expected, "read \(state)")
                // KC-15: neither data nor attributes nor existence.
                #expect(find(account(protection).attributes).status == expected, "attributes \(state)")
                #expect(find(account(protection)).status == expected, "existence \(state)")
                #expect(update(account(protection), [kSecAttrLabel: "x"]) == expected, "update \(state)")
                #expect(add(account("new \(state)", [kSecAttrAccessible: protection])) == expected, "add \(state)")
                #expect(add(item(protection)) == errSecDuplicateItem, "duplicate \(state)")
                #expect(delete(account(protection)) == errSecSuccess, "delete \(state)")
                if try device.isLocked { try device.unlock(passcode: "1234") }
            }
        }
    }

    @Test("KC-20: after a finger unlocked the device every class is open again", arguments: classes)
    func fingerUnlocks(protection: String) throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.run {
            add(item(protection).value("s"))
            try device.lock()
            #expect(try !device.unlock(finger: nil))
            #expect((secret(account(protection)) == "s") == Self.isOpen(protection, .locked))
            #expect(try device.unlock(finger: 1))
            #expect(secret(account(protection)) == "s")
        }
    }

    @Test("KC-22: without a passcode nothing locks, and every class but the passcode's is open", arguments: classes)
    func withoutPasscode(protection: String) throws {
        let device = try SimulatedDevice()
        try device.run {
            #expect(add(item(protection).value("s")) == (protection == "akpu" ? errSecAuthFailed : errSecSuccess))
            let expected = protection == "akpu" ? errSecItemNotFound : errSecSuccess
            #expect(read(account(protection)) == expected)
            try device.lock()
            #expect(read(account(protection)) == expected)
            device.reboot()
            #expect(read(account(protection)) == expected)
        }
    }

    @Test("KC-20: one row of a locked class ends the whole query") func lockedRowEndsTheQuery() throws {
        let device = try SimulatedDevice(passcode: "1234")
        try device.run {
            add(account("a", [kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock]).value("s"))
            add(account("b").value("s"))
            try device.lock()
            #expect(find(generic().all.data).status == errSecInteractionNotAllowed)
            #expect(find(generic().all.attributes).status == errSecInteractionNotAllowed)
            let open: Attributes = [kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock]
            #expect(accounts(generic(open)) == ["a"])
            #expect(secret(account("a")) == "s")
        }
    }

    @Test("AC-43: Skip does not hide a row of a locked class") func skipDoesNotHideLockedRows() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.runUnprompted {
            add(account("a", [kSecAttrAccessControl: try control(.userPresence)]))
            let query = account("a", [kSecUseAuthenticationUI: kSecUseAuthenticationUISkip])
            #expect(read(query) == errSecItemNotFound)
            try device.lock()
            #expect(read(query) == errSecInteractionNotAllowed)
        }
    }

    @Test("KC-20: a locked item of a protected class is refused and not asked for") func lockedAndProtected() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.runUnprompted {
            add(account("a", [kSecAttrAccessControl: try control(.userPresence)]))
            try device.lock()
            #expect(read(account("a")) == errSecInteractionNotAllowed)
        }
    }

    // MARK: the passcode comes and goes

    @Test("KC-23: what needs a passcode is gone for good once it is removed, and can be added again") func goneForGood()
        throws
    {
        let device = try SimulatedDevice(passcode: "1234")
        try device.run {
            let item = account("a", [kSecAttrAccessible: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly])
            for name in ["a", "b"] {
                #expect(add(item.with(kSecAttrAccount, name).value("1")) == errSecSuccess)
            }
            try device.removePasscode("1234")
            #expect(read(account("a")) == errSecItemNotFound)
            #expect(find(account("a").attributes).status == errSecItemNotFound)
            #expect(update(account("a"), [kSecAttrLabel: "x"]) == errSecItemNotFound)
            #expect(add(item) == errSecAuthFailed)
            // "b" has not been looked at since: the same passcode does not bring it back.
            try device.setPasscode("1234")
            for name in ["a", "b"] { #expect(read(account(name)) == errSecItemNotFound) }
            for name in ["a", "b"] {
                #expect(add(item.with(kSecAttrAccount, name).value("2")) == errSecSuccess)
                #expect(secret(account(name)) == "2")
            }
        }
    }

    @Test("KC-23, KC-31: an add takes the place of what is gone with the passcode", arguments: [false, true])
    func deadItemIsReplaced(withNewPasscode: Bool) throws {
        let device = try SimulatedDevice(passcode: "1234")
        try device.run {
            add(account("a", [kSecAttrAccessible: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly]).value("1"))
            try device.removePasscode("1234")
            if withNewPasscode { try device.setPasscode("5678") }
            #expect(add(account("a").value("2")) == errSecSuccess)
            #expect(secret(account("a")) == "2")
        }
    }

    @Test("KC-22, KC-23: the other classes outlive the passcode's coming, changing and going, and a reboot after each")
    func othersSurvive() throws {
        let device = try SimulatedDevice()
        try device.run {
            let kept = Self.classes.filter { $0 != "akpu" }
            for protection in kept { #expect(add(item(protection).value(protection)) == errSecSuccess) }
            func expectAll() { for protection in kept { #expect(secret(account(protection)) == protection) } }
            try device.setPasscode("1234")
            expectAll()
            device.reboot()
            try device.unlock(passcode: "1234")
            expectAll()
            try device.changePasscode(from: "1234", to: "5678")
            expectAll()
            device.reboot()
            try device.unlock(passcode: "5678")
            expectAll()
            try device.removePasscode("5678")
            expectAll()
            device.reboot()
            expectAll()
        }
    }

    @Test("KC-23: what needs a passcode outlives its change") func passcodeChange() throws {
        let device = try SimulatedDevice(passcode: "1234")
        try device.run {
            add(account("a", [kSecAttrAccessible: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly]).value("1"))
            try device.changePasscode(from: "1234", to: "5678")
            #expect(secret(account("a")) == "1")
            device.reboot()
            try device.unlock(passcode: "5678")
            #expect(secret(account("a")) == "1")
        }
    }
}
