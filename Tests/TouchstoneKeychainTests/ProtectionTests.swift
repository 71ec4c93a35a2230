import Foundation
import Security
import Testing
import TouchstoneTesting

/// Section 5.3: which class can be opened when.
@Suite(.timeLimit(.minutes(10))) struct ProtectionTests {
    private static let unlockedOnly = ["ak", "aku", "akpu"]
    private static let afterFirstUnlock = ["ck", "cku"]
    private static let always = ["dk", "dku"]
    private static let classes = unlockedOnly + afterFirstUnlock + always

    private enum State: String, CaseIterable {
        case beforeFirstUnlock, locked, unlocked, passcodeRemoved, newPasscode

        /// Brings the device from unlocked, with passcode 1234, into this state.
        func enter(_ device: SimulatedDevice) throws {
            switch self {
            case .beforeFirstUnlock: device.reboot()
            case .locked: try device.lock()
            case .unlocked: break
            case .passcodeRemoved: try device.removePasscode("1234")
            case .newPasscode:
                try device.removePasscode("1234")
                try device.setPasscode("5678")
            }
        }
    }

    /// What can be had of an item that was added while the device was unlocked.
    private enum Cell: String {
        case open, closed, gone

        var status: OSStatus {
            switch self {
            case .open: errSecSuccess
            case .closed: errSecInteractionNotAllowed
            case .gone: errSecItemNotFound
            }
        }
    }

    /// The table of section 5.3, row by row.
    private static let table = """
        ak    closed closed open open open
        aku   closed closed open open open
        akpu  closed closed open gone gone
        ck    closed open   open open open
        cku   closed open   open open open
        dk    open   open   open open open
        dku   open   open   open open open
        """

    private static func cell(_ protection: String, _ state: State) -> Cell {
        for line in table.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            if words[0] == protection, let index = State.allCases.firstIndex(of: state),
                let cell = Cell(rawValue: words[index + 1])
            {
                return cell
            }
        }
        Issue.record("no cell for \(protection), \(state)")
        return .gone
    }

    private static func isOpen(_ protection: String, _ state: State) -> Bool { cell(protection, state) == .open }

    private func item(_ protection: String) -> Attributes {
        account(protection, [kSecAttrAccessible: protection])
    }

    @Test("KC-20, KC-22…24: every cell of the table, for data, attributes, existence, add, update and delete")
    func table() throws {
        for state in State.allCases {
            let device = try SimulatedDevice(passcode: "1234", fingers: 1)
            try device.run {
                for name in ["a", "b"] {
                    for protection in Self.classes {
                        let item = account(name + protection, [kSecAttrAccessible: protection]).value("s")
                        #expect(add(item) == errSecSuccess)
                    }
                }
                try state.enter(device)
                for protection in Self.classes {
                    let cell = Self.cell(protection, state)
                    let place = "\(protection), \(state)"
                    // KC-36: what is deleted need not be opened, nor be there to be opened.
                    #expect(delete(account("b" + protection)) == errSecSuccess, "delete \(place)")
                    #expect(delete(account("b" + protection)) == errSecItemNotFound, "delete again \(place)")
                    let query = account("a" + protection)
                    // KC-31, KC-32: a duplicate of what is gone takes its place; of what is closed it is one all the same.
                    if cell != .gone {
                        #expect(add(query) == errSecDuplicateItem, "duplicate \(place)")
                    }
                    #expect(read(query) == cell.status, "data \(place)")
                    #expect((secret(query) == "s") == (cell == .open), "secret \(place)")
                    // KC-15: neither data nor attributes nor existence.
                    #expect(find(query.attributes).status == cell.status, "attributes \(place)")
                    #expect(find(query).status == cell.status, "existence \(place)")
                    #expect(update(query, [kSecAttrLabel: "x"]) == cell.status, "update \(place)")
                    let isWithoutPasscode = state == .passcodeRemoved && protection == "akpu"
                    let added =
                        isWithoutPasscode ? errSecAuthFailed : cell == .closed ? cell.status : errSecSuccess
                    let new = account("new" + protection, [kSecAttrAccessible: protection]).value("s")
                    #expect(add(new) == added, "add \(place)")
                    #expect((secret(new) == "s") == (added == errSecSuccess), "added \(place)")
                }
            }
        }
    }

    // MARK: another class

    @Test(
        "KC-20, KC-24: an update moves an item from every class to every other, and its data comes along",
        arguments: classes)
    func classChange(from: String) throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.run {
            func name(_ to: String) -> Attributes { account("\(from) to \(to)") }
            for to in Self.classes {
                #expect(add(name(to).with(kSecAttrAccessible, from).value(to)) == errSecSuccess)
                #expect(update(name(to), [kSecAttrAccessible: to]) == errSecSuccess, "to \(to)")
                #expect(try attributes(name(to))["pdmn"] as? String == to)
                #expect(secret(name(to)) == to)
            }
            for state in [State.locked, .beforeFirstUnlock] {
                try state.enter(device)
                for to in Self.classes { #expect(read(name(to)) == Self.cell(to, state).status, "\(to), \(state)") }
                try device.unlock(passcode: "1234")
            }
            for to in Self.classes { #expect(secret(name(to)) == to) }
        }
    }

    @Test(
        "KC-20: an item moves neither out of a closed class nor into one: -25308, and all is as it was",
        arguments: classes)
    func classChangeWhileClosed(from: String) throws {
        for state in [State.locked, .beforeFirstUnlock] {
            let device = try SimulatedDevice(passcode: "1234", fingers: 1)
            try device.run {
                func name(_ to: String) -> Attributes { account("\(from) to \(to)") }
                for to in Self.classes { add(name(to).with(kSecAttrAccessible, from).value(to)) }
                try state.enter(device)
                for to in Self.classes {
                    let isPossible = Self.isOpen(from, state) && Self.isOpen(to, state)
                    let expected = isPossible ? errSecSuccess : errSecInteractionNotAllowed
                    #expect(update(name(to), [kSecAttrAccessible: to]) == expected, "\(from) to \(to), \(state)")
                }
                try device.unlock(passcode: "1234")
                for to in Self.classes {
                    let isMoved = Self.isOpen(from, state) && Self.isOpen(to, state)
                    #expect(try attributes(name(to))["pdmn"] as? String == (isMoved ? to : from))
                    #expect(secret(name(to)) == to)
                }
            }
        }
    }

    @Test(
        "KC-22, KC-24: without a passcode an item moves everywhere but to the passcode's class: -25293",
        arguments: classes.filter { $0 != "akpu" })
    func classChangeWithoutPasscode(from: String) throws {
        let device = try SimulatedDevice()
        try device.run { () throws in
            for to in Self.classes {
                add(account(to, [kSecAttrAccessible: from]).value(to))
                let expected = to == "akpu" ? errSecAuthFailed : errSecSuccess
                #expect(update(account(to), [kSecAttrAccessible: to]) == expected, "to \(to)")
                #expect(try attributes(account(to))["pdmn"] as? String == (to == "akpu" ? from : to))
                #expect(secret(account(to)) == to)
            }
        }
    }

    @Test("AC-07: another class keeps the constraint, and wants it proven") func classChangeOfAProtectedItem() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.run(prompts: 2) {
            add(account("a", [kSecAttrAccessControl: try control(.userPresence)]).value("a"))
            let always: Attributes = [kSecAttrAccessible: kSecAttrAccessibleAlways]
            #expect(update(account("a").silent, always) == errSecInteractionNotAllowed)
            device.present(.finger(1))
            #expect(update(account("a"), always) == errSecSuccess)
            #expect(read(account("a").silent) == errSecInteractionNotAllowed)
            device.present(.finger(1))
            let kept = try attributes(account("a"))["accc"] as? SecAccessControl
            #expect(try kept == control(.userPresence, kSecAttrAccessibleAlways))
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
