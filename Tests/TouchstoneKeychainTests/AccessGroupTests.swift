import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

/// Section 5.5: whose groups an item may be in, and who sees it.
@Suite struct AccessGroupTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1) }

    /// As an app of two that share `F.shared`; the first has groups of its own, too.
    private func asFirst<R>(_ body: () throws -> R) rethrows -> R {
        try device.run(
            as: "first", keychainAccessGroups: ["F.shared", "F.first"], applicationGroups: ["group.files"], body)
    }

    private func asSecond<R>(_ body: () throws -> R) rethrows -> R {
        try device.run(as: "second", keychainAccessGroups: ["F.shared"], body)
    }

    private func group(_ query: Attributes) throws -> String? {
        try attributes(query)[kSecAttrAccessGroup as String] as? String
    }

    private func grouped(_ name: String, _ group: String) -> Attributes { account(name, [kSecAttrAccessGroup: group]) }

    @Test("KC-41: what names no group goes into the first keychain access group") func defaultGroup() throws {
        try asFirst { () throws in
            #expect(add(account("a").value("1")) == errSecSuccess)
            #expect(try group(account("a")) == "F.shared")
        }
    }

    @Test("KC-41: without keychain access groups it is the app's own, and never an application group")
    func defaultGroupWithApplicationGroups() throws {
        try device.run(as: "third", applicationGroups: ["group.files"]) { () throws in
            #expect(add(account("a").value("1")) == errSecSuccess)
            #expect(try group(account("a")) == "third")
        }
    }

    @Test("KC-40: an app may name any of its groups, its identifier among them")
    func ownGroups() throws {
        try asFirst { () throws in
            for own in ["F.shared", "F.first", "first", "group.files"] {
                #expect(add(grouped("a", own).value(own)) == errSecSuccess)
                #expect(try group(grouped("a", own)) == own)
                #expect(secret(grouped("a", own)) == own)
            }
        }
    }

    @Test("KC-40: the group of tokens is searched by everybody, is empty, and takes nothing") func tokenGroup() throws {
        asFirst {
            add(account("a"))
            let tokens = grouped("a", kSecAttrAccessGroupToken as String)
            #expect(find(tokens).status == errSecItemNotFound)
            #expect(find(keys([kSecAttrAccessGroup: kSecAttrAccessGroupToken]).all).status == errSecItemNotFound)
            #expect(find(identities([kSecAttrAccessGroup: kSecAttrAccessGroupToken])).status == errSecItemNotFound)
            #expect(update(tokens, [kSecAttrLabel: "x"]) == errSecItemNotFound)
            #expect(delete(tokens) == errSecItemNotFound)
            #expect(add(tokens) == errSecMissingEntitlement)
            #expect(update(account("a"), [kSecAttrAccessGroup: kSecAttrAccessGroupToken]) == errSecMissingEntitlement)
            #expect(find(account("a")).status == errSecSuccess)
        }
    }

    @Test(
        "KC-42: a group that is not the app's is refused by every call",
        arguments: ["second", "F.second", "F", "F.shared ", "f.shared", "", "F.shared;F.first"])
    func foreignGroup(_ foreign: String) {
        asFirst {
            #expect(add(grouped("a", foreign).value("1")) == errSecMissingEntitlement)
            #expect(find(grouped("a", foreign)).status == errSecMissingEntitlement)
            #expect(update(grouped("a", foreign), [kSecAttrLabel: "x"]) == errSecMissingEntitlement)
            #expect(delete(grouped("a", foreign)) == errSecMissingEntitlement)
        }
    }

    @Test("KC-42: an app whose name is another spelling of the same characters is another app")
    func spellings() throws {
        let (one, other) = ("/home/caf\u{e9}/app", "/home/cafe\u{301}/app")
        #expect(one == other)
        let reference = try device.run(as: one) {
            #expect(add(account("a").value("1")) == errSecSuccess)
            let guarded = account("b", [kSecAttrAccessControl: try control(.userPresence)])
            #expect(add(guarded.value("2")) == errSecSuccess)
            // Its own group in the other spelling is not its own.
            #expect(add(grouped("c", other).value("3")) == errSecMissingEntitlement)
            #expect(update(account("a"), [kSecAttrAccessGroup: other]) == errSecMissingEntitlement)
            return try #require(find(account("a").with(kSecReturnPersistentRef, true)).result as? Data)
        }
        device.run(as: other) {
            for name in ["a", "b"] {
                #expect(find(account(name)).status == errSecItemNotFound)
                #expect(find(grouped(name, one)).status == errSecMissingEntitlement)
                #expect(delete(grouped(name, one)) == errSecMissingEntitlement)
            }
            #expect(read([kSecValuePersistentRef: reference]) == errSecItemNotFound)
            #expect(add(account("a").value("mine")) == errSecSuccess)
            #expect(secret(account("a")) == "mine")
        }
        device.run(as: one) { #expect(secret(account("a")) == "1") }
    }

    @Test("KC-42: a row in a foreign group is not there, by whatever it is looked for")
    func foreignRows() throws {
        let reference = try asFirst {
            #expect(add(grouped("a", "F.first").value("1")) == errSecSuccess)
            return try #require(find(grouped("a", "F.first").with(kSecReturnPersistentRef, true)).result as? Data)
        }
        asSecond {
            #expect(find(account("a")).status == errSecItemNotFound)
            #expect(read([kSecValuePersistentRef: reference]) == errSecItemNotFound)
            #expect(update(account("a"), [kSecAttrLabel: "x"]) == errSecItemNotFound)
            #expect(delete(account("a")) == errSecItemNotFound)
            #expect(delete([kSecValuePersistentRef: reference]) == errSecItemNotFound)
            #expect(accounts(generic()) == [])
            // And so does not stand in the way of an item of one's own.
            #expect(add(account("a").value("2")) == errSecSuccess)
        }
        asFirst { #expect(secret(grouped("a", "F.first")) == "1") }
    }

    @Test("KC-44: without a group, all groups of the app are searched, updated and deleted in")
    func allGroups() {
        asFirst {
            for (name, own) in [("a", "F.shared"), ("b", "F.first"), ("c", "first"), ("d", "group.files")] {
                #expect(add(grouped(name, own).value(name)) == errSecSuccess)
            }
            #expect(accounts(generic()) == ["a", "b", "c", "d"])
            #expect(accounts(generic([kSecAttrAccessGroup: "F.first"])) == ["b"])
            #expect(update(generic(), [kSecAttrLabel: "mine"]) == errSecSuccess)
            #expect(accounts(generic([kSecAttrLabel: "mine"])) == ["a", "b", "c", "d"])
        }
        asSecond {
            #expect(accounts(generic()) == ["a"])
            #expect(delete(generic()) == errSecSuccess)
        }
        asFirst {
            #expect(accounts(generic()) == ["b", "c", "d"])
            #expect(delete(generic()) == errSecSuccess)
            #expect(accounts(generic()) == [])
        }
    }

    @Test("KC-43: apps of one family share what is in the group they both have; another app does not see it")
    func sharing() {
        asFirst { #expect(add(account("a").value("1")) == errSecSuccess) }
        asSecond {
            #expect(secret(account("a")) == "1")
            #expect(add(account("a").value("2")) == errSecDuplicateItem)
            #expect(update(account("a"), [kSecValueData: Data("2".utf8)]) == errSecSuccess)
        }
        asFirst { #expect(secret(account("a")) == "2") }
        device.run(as: "other", keychainAccessGroups: ["G.shared"]) {
            #expect(find(account("a")).status == errSecItemNotFound)
            #expect(find(grouped("a", "F.shared")).status == errSecMissingEntitlement)
        }
    }

    @Test("KC-01, KC-02: an app has its own items, and of another's only those of a group that both have")
    func ownItems() {
        asFirst {
            #expect(add(grouped("a", "F.first").value("first's")) == errSecSuccess)
            #expect(add(grouped("b", "F.shared").value("both's")) == errSecSuccess)
        }
        asSecond {
            #expect(accounts(generic()) == ["b"])
            #expect(add(grouped("a", "second").value("second's")) == errSecSuccess)
            #expect(secret(account("a")) == "second's")
            #expect(secret(account("b")) == "both's")
        }
        asFirst { #expect(secret(account("a")) == "first's") }
        asSecond {
            // Whatever it does to all that it sees.
            #expect(update(generic(), [kSecAttrLabel: "seen"]) == errSecSuccess)
            #expect(delete(generic()) == errSecSuccess)
        }
        asFirst {
            #expect(accounts(generic()) == ["a"])
            #expect(find(account("a", [kSecAttrLabel: "seen"])).status == errSecItemNotFound)
            #expect(secret(account("a")) == "first's")
        }
    }

    @Test("KC-43: an item is in exactly one group: in two of them the same key is two items")
    func oneGroupEach() {
        asFirst {
            #expect(add(grouped("a", "F.shared").value("1")) == errSecSuccess)
            #expect(add(grouped("a", "F.first").value("2")) == errSecSuccess)
            #expect(secret(grouped("a", "F.shared")) == "1")
            #expect(secret(grouped("a", "F.first")) == "2")
        }
    }

    @Test("KC-42: an update moves an item between the app's groups, and to no other")
    func moving() throws {
        try asFirst { () throws in
            #expect(add(account("a").value("1")) == errSecSuccess)
            #expect(update(account("a"), [kSecAttrAccessGroup: "second"]) == errSecMissingEntitlement)
            #expect(try group(account("a")) == "F.shared")
            #expect(update(account("a"), [kSecAttrAccessGroup: "F.first"]) == errSecSuccess)
            #expect(try group(account("a")) == "F.first")
            #expect(secret(account("a")) == "1")
        }
        asSecond { #expect(find(account("a")).status == errSecItemNotFound) }
        asFirst {
            #expect(add(grouped("a", "F.shared").value("2")) == errSecSuccess)
            // KC-30: the group is part of the primary key.
            #expect(update(grouped("a", "F.first"), [kSecAttrAccessGroup: "F.shared"]) == errSecDuplicateItem)
            #expect(secret(grouped("a", "F.first")) == "1")
        }
    }

    @Test("KC-45: what an app had in a group is there again when it has the group again")
    func groupTakenAway() {
        asFirst { #expect(add(grouped("a", "F.first").value("1")) == errSecSuccess) }
        device.run(as: "first") {
            #expect(find(account("a")).status == errSecItemNotFound)
            #expect(find(grouped("a", "F.first")).status == errSecMissingEntitlement)
        }
        asFirst { #expect(secret(account("a")) == "1") }
    }

    @Test("KC-43, AC-20: a shared item with an access control opens to the proof that each app has itself")
    func protectedSharing() throws {
        try asFirst {
            let protected = account("a", [kSecAttrAccessControl: try control(.userPresence)])
            #expect(add(protected.value("1")) == errSecSuccess)
        }
        asSecond {
            device.present(.finger(1))
            #expect(secret(account("a")) == "1")
            device.present(.cancel)
            #expect(read(account("a")) == errSecUserCanceled)
        }
        #expect(device.prompts.map(\.app) == ["second", "second"])
    }
}
