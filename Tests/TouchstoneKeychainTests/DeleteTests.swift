import Foundation
import Security
import Testing
import TouchstoneTesting

@Suite(.timeLimit(.minutes(10))) struct DeleteTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1) }

    @Test("KC-33: a delete takes every match, and no other") func deletesEveryMatch() {
        device.run {
            for name in ["a", "b"] { add(account(name, [kSecAttrService: "s"])) }
            add(account("c", [kSecAttrService: "t"]))
            add(internet([kSecAttrAccount: "a"]))
            #expect(delete(generic([kSecAttrService: "s"])) == errSecSuccess)
            #expect(accounts(generic()) == ["c"])
            #expect(find(internet([kSecAttrAccount: "a"])).status == errSecSuccess)
        }
    }

    @Test("Section 8: nothing to delete is errSecItemNotFound") func nothingFound() {
        device.run {
            add(account("a"))
            #expect(delete(account("b")) == errSecItemNotFound)
            #expect(delete(account("a")) == errSecSuccess)
            #expect(delete(account("a")) == errSecItemNotFound)
        }
    }

    @Test("KC-33: only what does not synchronise is deleted, unless it is said") func synchronizable() {
        device.run {
            add(account("local"))
            add(account("cloud", [kSecAttrSynchronizable: true]))
            #expect(delete(generic()) == errSecSuccess)
            let any = generic([kSecAttrSynchronizable: kSecAttrSynchronizableAny])
            #expect(accounts(any) == ["cloud"])
            #expect(delete(any) == errSecSuccess)
            #expect(find(any).status == errSecItemNotFound)
        }
    }

    @Test("Section 8: match keys of any kind are refused, return keys disregarded") func keys() {
        device.run {
            add(account("a"))
            for (key, value) in [
                kSecMatchLimit: kSecMatchLimitOne, "m_Unknown": true, kSecAttrAccessControl: "x",
            ] as Attributes {
                #expect(delete(account("a", [key: value])) == errSecParam, "\(key)")
            }
            for limit in [0, 1, 2] { #expect(delete(account("a", [kSecMatchLimit: limit])) == errSecParam) }
            #expect(delete(account("a", ["m_Unknown": true]).all) == errSecParam)
            #expect(delete(account("a", ["zzzz": "x"])) == errSecNoSuchAttr)
            #expect(delete(account("a").data.attributes) == errSecSuccess)
        }
    }

    @Test("KC-35: a delete may say that it is of all matches; an update may not, nor an add") func limitAll() {
        device.run {
            for name in ["a", "b"] { add(account(name)) }
            #expect(update(generic().all, [kSecAttrLabel: "x"]) == errSecParam)
            #expect(add(account("c").all) == errSecParam)
            #expect(delete(generic().all) == errSecSuccess)
            #expect(find(generic()).status == errSecItemNotFound)
            #expect(delete(generic().all) == errSecItemNotFound)
        }
    }

    @Test("KC-36, AC-41: Skip has no place in a delete") func skip() {
        device.run {
            add(account("a"))
            #expect(delete(account("a", [kSecUseAuthenticationUI: kSecUseAuthenticationUISkip])) == errSecParam)
            #expect(find(account("a")).status == errSecSuccess)
        }
    }

    @Test("KC-36: a delete works while the device is locked, and before the first unlock") func locked() throws {
        try device.run {
            for name in ["a", "b"] { add(account(name)) }
            try device.lock()
            #expect(read(account("a")) == errSecInteractionNotAllowed)
            #expect(delete(account("a")) == errSecSuccess)
            device.reboot()
            #expect(delete(account("b")) == errSecSuccess)
            try device.unlock(passcode: "1234")
            #expect(find(generic()).status == errSecItemNotFound)
        }
    }

    @Test("AC-24: a protected item is deleted without a prompt, also where none is allowed") func protected() throws {
        try device.runUnprompted {
            for name in ["a", "b"] { add(account(name, [kSecAttrAccessControl: try control(.userPresence)])) }
            #expect(delete(account("a").silent) == errSecSuccess)
            #expect(delete(account("b")) == errSecSuccess)
            #expect(find(generic()).status == errSecItemNotFound)
        }
    }

    @Test("KC-33: a delete by date takes the items of that date") func byDate() throws {
        try device.run {
            add(account("old"))
            let date = try #require(try attributes(account("old"))["cdat"] as? Date)
            device.advance(by: .seconds(5))
            add(account("new"))
            #expect(delete(generic([kSecAttrCreationDate: date + 1])) == errSecItemNotFound)
            #expect(delete(generic([kSecAttrCreationDate: date])) == errSecSuccess)
            #expect(accounts(generic()) == ["new"])
        }
    }

    @Test("KC-31: a deleted item can be added again, and has nothing of the old one") func addedAnew() throws {
        try device.run { () throws in
            let (_, old) = addReturning(account("a", [kSecAttrLabel: "l", kSecReturnPersistentRef: true]).value("1"))
            delete(account("a"))
            #expect(add(account("a")) == errSecSuccess)
            #expect(try attributes(account("a"))["labl"] == nil)
            #expect(find(account("a").data).result == nil)
            #expect(try find([kSecValuePersistentRef: #require(old)]).status == errSecItemNotFound)
        }
    }
}
