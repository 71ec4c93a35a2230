import Foundation
import Security
import Testing
import TouchstoneTesting

@Suite(.timeLimit(.minutes(10))) struct UpdateTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1) }

    @Test("Section 7: an update changes what it names and keeps the rest") func changesOnlyWhatItNames() throws {
        try device.run {
            add(account("a", [kSecAttrLabel: "l", kSecAttrComment: "c"]).value("1"))
            let before = try attributes(account("a"))
            device.advance(by: .seconds(10))
            #expect(update(account("a"), [kSecAttrLabel: "m", kSecValueData: Data("2".utf8)]) == errSecSuccess)
            #expect(secret(account("a")) == "2")
            let after = try attributes(account("a"))
            #expect(after["labl"] as? String == "m")
            #expect(after["icmt"] as? String == "c")
            #expect(after["cdat"] as? Date == before["cdat"] as? Date)
            #expect(after["mdat"] as? Date == (before["mdat"] as? Date)?.addingTimeInterval(10))
            #expect(Set(after.keys) == Set(before.keys))
            #expect(update(account("a"), [kSecAttrComment: "d"]) == errSecSuccess)
            #expect(secret(account("a")) == "2")
        }
    }

    @Test("Section 7: the modification date goes forward where the clock does not, the creation date stays")
    func datesGoForward() throws {
        try device.run {
            add(account("a"))
            let before = try #require(try attributes(account("a"))["mdat"] as? Date)
            let forged = Date(timeIntervalSinceReferenceDate: 5)
            let changes: Attributes = [kSecAttrCreationDate: forged, kSecAttrModificationDate: forged]
            #expect(update(account("a"), changes) == errSecSuccess)
            let after = try attributes(account("a"))
            #expect(after["cdat"] as? Date == before)
            #expect(after["mdat"] as? Date ?? before > before)
        }
    }

    @Test("KC-33: an update changes every match, and no other") func changesEveryMatch() {
        device.run {
            for name in ["a", "b"] { add(account(name, [kSecAttrService: "s"]).value("1")) }
            add(account("a", [kSecAttrService: "t"]).value("1"))
            #expect(update(generic([kSecAttrService: "s"]), [kSecValueData: Data("2".utf8)]) == errSecSuccess)
            for name in ["a", "b"] { #expect(secret(account(name, [kSecAttrService: "s"])) == "2") }
            #expect(secret(account("a", [kSecAttrService: "t"])) == "1")
        }
    }

    @Test("KC-35: no match is errSecItemNotFound") func nothingFound() {
        device.run {
            add(account("a"))
            #expect(update(account("b"), [kSecAttrLabel: "x"]) == errSecItemNotFound)
            #expect(update(account("a", [kSecAttrSynchronizable: true]), [kSecAttrLabel: "x"]) == errSecItemNotFound)
        }
    }

    @Test("KC-31: a new key that is taken is a duplicate, and nothing of the update is done") func collision() throws {
        device.run {
            add(account("a", [kSecAttrService: "s"]).value("1"))
            add(account("b", [kSecAttrService: "s"]).value("2"))
            add(account("c", [kSecAttrService: "t"]).value("3"))
            let changes: Attributes = [kSecAttrAccount: "c", kSecAttrService: "t", kSecValueData: Data("x".utf8)]
            #expect(update(account("a"), changes) == errSecDuplicateItem)
            // Both to one key: the first would fit, and is undone with the second.
            let toOne: Attributes = [kSecAttrAccount: "z", kSecValueData: Data("x".utf8)]
            #expect(update(generic([kSecAttrService: "s"]), toOne) == errSecDuplicateItem)
            for (name, value) in ["a": "1", "b": "2", "c": "3"] { #expect(secret(account(name)) == value) }
            #expect(update(account("a"), [kSecAttrAccount: "z"]) == errSecSuccess)
            #expect(secret(account("z")) == "1")
            #expect(read(account("a")) == errSecItemNotFound)
        }
    }

    @Test("Section 7: an item moves between the synchronizable ones and the others") func synchronizableMoves() {
        device.run {
            add(account("a").value("1"))
            let there = account("a", [kSecAttrSynchronizable: true])
            #expect(update(account("a"), [kSecAttrSynchronizable: true]) == errSecSuccess)
            #expect(read(account("a")) == errSecItemNotFound)
            #expect(secret(there) == "1")
            #expect(add(account("a").value("2")) == errSecSuccess)
            #expect(update(there, [kSecAttrSynchronizable: false]) == errSecDuplicateItem)
            #expect(update(there, [kSecAttrSynchronizable: kSecAttrSynchronizableAny]) == errSecParam)
        }
    }

    // MARK: protection

    @Test("AC-21: an item gets an access control by an update, and loses it by another that asks") func accessControl()
        throws
    {
        try device.run(prompts: 2) { () throws in
            add(account("a").value("1"))
            #expect(try update(account("a"), [kSecAttrAccessControl: control(.userPresence)]) == errSecSuccess)
            #expect(read(account("a").silent) == errSecInteractionNotAllowed)
            #expect(
                try update(account("a").silent, [kSecAttrAccessControl: control([])]) == errSecInteractionNotAllowed)
            device.present(.cancel)
            #expect(try update(account("a"), [kSecAttrAccessControl: control([])]) == errSecUserCanceled)
            device.present(.finger(1))
            #expect(try update(account("a"), [kSecAttrAccessControl: control([])]) == errSecSuccess)
            #expect(secret(account("a")) == "1")
        }
    }

    @Test("KC-27: an update does not make an item synchronizable and constrained") func synchronizableAndConstrained()
        throws
    {
        try device.run {
            add(account("a", [kSecAttrSynchronizable: true]))
            let there = account("a", [kSecAttrSynchronizable: true])
            #expect(try update(there, [kSecAttrAccessControl: control(.userPresence)]) == errSecParam)
            #expect(try update(there, [kSecAttrAccessControl: control([])]) == errSecSuccess)
            add(account("b", [kSecAttrAccessControl: try control(.userPresence)]))
            device.present(.finger(1))
            #expect(update(account("b"), [kSecAttrSynchronizable: true]) == errSecParam)
        }
    }

    @Test("KC-20: an update is refused while the class is locked") func locked() throws {
        try device.run {
            add(account("a"))
            add(account("b", [kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock]))
            try device.lock()
            #expect(update(account("a"), [kSecAttrLabel: "x"]) == errSecInteractionNotAllowed)
            #expect(update(account("b"), [kSecAttrLabel: "x"]) == errSecSuccess)
        }
    }

    // MARK: refused

    @Test("KC-35, AC-41: match keys, return keys and Skip have no place in the query") func refusedQueries() {
        device.run {
            add(account("a"))
            for (key, value) in [
                kSecMatchLimit: kSecMatchLimitAll, "m_Unknown": true, kSecReturnData: true, kSecReturnAttributes: true,
                kSecUseAuthenticationUI: kSecUseAuthenticationUISkip,
            ] as Attributes {
                #expect(update(account("a", [key: value]), [kSecAttrLabel: "x"]) == errSecParam, "\(key)")
            }
            #expect(update(account("a", [kSecReturnData: false]), [kSecAttrLabel: "x"]) == errSecSuccess)
        }
    }

    @Test("Section 7, AC-48: only attributes and data have a place in the changes") func refusedChanges() throws {
        try device.run {
            add(account("a").value("1"))
            for (key, value) in [
                kSecReturnData: true, kSecMatchLimit: 1, kSecClass: kSecClassGenericPassword, "zzzz": "x",
                kSecAttrServer: "x", kSecUseAuthenticationContext: LAContextStandIn.context,
                kSecUseAuthenticationUI: kSecUseAuthenticationUIFail, kSecUseNoAuthenticationUI: true,
            ] as Attributes {
                #expect(update(account("a"), [key: value]) == errSecNoSuchAttr, "\(key)")
            }
            for (key, value) in [
                kSecValueData: "text", kSecAttrAccount: Date(), kSecAttrAccessible: "xx", kSecAttrLabel: NSNull(),
            ] as Attributes {
                #expect(update(account("a"), [key: value]) == errSecParam, "\(key)")
            }
            let clash: Attributes = [
                kSecAttrAccessible: kSecAttrAccessibleAlways, kSecAttrAccessControl: try control([]),
            ]
            #expect(update(account("a"), clash) == errSecParam)
            #expect(update(account("a"), [kSecAttrAccessGroup: "other"]) == errSecMissingEntitlement)
            #expect(secret(account("a")) == "1")
        }
    }
}
