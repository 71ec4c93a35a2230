import Foundation
import Security
import Testing
import TouchstoneTesting

@Suite(.timeLimit(.minutes(10))) struct SearchTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice() }

    // MARK: limits

    @Test("KC-33: one match by default, all or so many when said") func limits() {
        device.run {
            for name in ["a", "b", "c"] { add(account(name, [kSecAttrService: "s"])) }
            let query = generic([kSecAttrService: "s"]).attributes
            #expect(find(query).result is [String: Any])
            for one in [kSecMatchLimitOne, 1, 1.0] as [Any] {
                #expect(find(query.with(kSecMatchLimit, one)).result is [String: Any], "\(one)")
            }
            for (limit, count) in [(kSecMatchLimitAll, 3), (2, 2), (2.0, 2), (3, 3), (100, 3)] as [(Any, Int)] {
                let found = find(query.with(kSecMatchLimit, limit)).result as? [[String: Any]]
                #expect(found?.count == count, "\(limit)")
            }
        }
    }

    @Test("Section 5: any limit but one gives an array, also of one") func arrayOfOne() {
        device.run {
            add(account("a").value("s"))
            for limit in [kSecMatchLimitAll, 2] as [Any] {
                #expect(find(account("a").data.with(kSecMatchLimit, limit)).result as? [Data] == [Data("s".utf8)])
            }
        }
    }

    @Test("Section 5: a limit of nothing finds nothing, and one that is no limit is refused") func strangeLimits() {
        device.run {
            add(account("a"))
            #expect(read(account("a", [kSecMatchLimit: 0])) == errSecItemNotFound)
            for limit in ["x", true, -1, 1.5, -1.0, 1e300, Data()] as [Any] {
                #expect(read(account("a", [kSecMatchLimit: limit])) == errSecParam, "\(limit)")
            }
        }
    }

    @Test("KC-33: no match is errSecItemNotFound, whatever is asked for") func nothingFound() {
        device.run {
            add(account("a"))
            for query in [account("b"), account("a", [kSecAttrService: "x"]), internet([kSecAttrAccount: "a"])] {
                #expect(find(query).status == errSecItemNotFound)
                #expect(read(query) == errSecItemNotFound)
                #expect(find(query.all.attributes).status == errSecItemNotFound)
            }
        }
    }

    // MARK: what is looked at

    @Test("KC-33: only what does not synchronise is found, unless it is said") func synchronizable() {
        device.run {
            add(account("local"))
            add(account("cloud", [kSecAttrSynchronizable: true]))
            #expect(accounts(generic()) == ["local"])
            #expect(accounts(generic([kSecAttrSynchronizable: false])) == ["local"])
            #expect(accounts(generic([kSecAttrSynchronizable: true])) == ["cloud"])
            #expect(accounts(generic([kSecAttrSynchronizable: kSecAttrSynchronizableAny])) == ["local", "cloud"])
            #expect(find(generic([kSecAttrSynchronizable: "x"])).status == errSecParam)
        }
    }

    @Test("KC-34: the protection class filters, an access control does not") func protectionClassFilters() throws {
        try device.run { () throws in
            add(account("a", [kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock]))
            #expect(accounts(generic([kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock])) == ["a"])
            #expect(find(generic([kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked])).status == errSecItemNotFound)
            #expect(try accounts(generic([kSecAttrAccessControl: control([], kSecAttrAccessibleAlways)])) == ["a"])
        }
    }

    @Test("KC-33: every attribute of the class filters, by its value") func everyAttributeFilters() throws {
        try device.run {
            let common: Attributes = [
                kSecAttrAccount: "acct", kSecAttrDescription: "desc", kSecAttrComment: "icmt", kSecAttrLabel: "labl",
                kSecAttrCreator: 7, kSecAttrType: 8, kSecAttrIsInvisible: true, kSecAttrIsNegative: true,
            ]
            let own = common.merging([kSecAttrService: "svce", kSecAttrGeneric: Data([9])]) { $1 }
            let web = common.merging([
                kSecAttrServer: "srvr", kSecAttrSecurityDomain: "sdmn", kSecAttrProtocol: kSecAttrProtocolHTTPS,
                kSecAttrAuthenticationType: kSecAttrAuthenticationTypeNTLM, kSecAttrPort: 443, kSecAttrPath: "path",
            ]) { $1 }
            for item in [generic(own), internet(web)] {
                #expect(add(item) == errSecSuccess)
                #expect(find(item).status == errSecSuccess)
                for (key, value) in item where key != kSecClass {
                    let query: Attributes = [kSecClass: try #require(item[kSecClass])]
                    #expect(find(query.with(key, value)).status == errSecSuccess, "\(key)")
                    let other: Any = value is Int ? 99 : value is Bool ? false : "other"
                    #expect(find(item.with(key, other)).status == errSecItemNotFound, "\(key)")
                }
            }
        }
    }

    @Test("KC-33: dates filter") func datesFilter() throws {
        try device.run {
            add(account("old"))
            device.advance(by: .seconds(1))
            add(account("new"))
            let date = try #require(try attributes(account("old"))["cdat"] as? Date)
            #expect(accounts(generic([kSecAttrCreationDate: date])) == ["old"])
            #expect(accounts(generic([kSecAttrModificationDate: date + 1])) == ["new"])
            #expect(find(generic([kSecAttrCreationDate: date + 2])).status == errSecItemNotFound)
        }
    }

    @Test("Section 4: what a search cannot have is refused") func refusedQueries() {
        device.run {
            add(account("a"))
            #expect(find(generic(["zzzz": "x"])).status == errSecNoSuchAttr)
            #expect(find([kSecAttrAccount: "a"]).status == errSecParam)
            #expect(find([kSecClass: "nope"]).status == errSecNoSuchClass)
            #expect(find(generic([kSecReturnData: "yes"])).status == errSecParam)
            #expect(find(generic([kSecMatchIssuers: "x"])).status == errSecUnimplemented)
            #expect(find(generic([kSecMatchPolicy: "x"])).status == errSecUnimplemented)
            #expect(find(account("a", [kSecMatchCaseInsensitive: true])).status == errSecSuccess)
            #expect(find(account("a").value("anything")).status == errSecSuccess)
        }
    }

    // MARK: other apps

    @Test("KC-42, KC-44: a foreign item is invisible to search, update and delete, in every way of naming it")
    func foreignItemsAreInvisible() throws {
        let reference = try device.run {
            try #require(addReturning(account("a", [kSecReturnPersistentRef: true]).value("mine")).result as? Data)
        }
        device.run(as: "other") {
            for query in [account("a"), generic(), [kSecValuePersistentRef: reference]] as [Attributes] {
                #expect(read(query) == errSecItemNotFound)
                #expect(update(query, [kSecValueData: Data("stolen".utf8)]) == errSecItemNotFound)
                #expect(delete(query) == errSecItemNotFound)
            }
        }
        device.run {
            #expect(secret(account("a")) == "mine")
            #expect(secret([kSecValuePersistentRef: reference]) == "mine")
        }
    }

    @Test("KC-42: a group that is not the app's is refused, its own searched") func foreignGroups() {
        let mine = SimulatedDevice.applicationIdentifier
        device.run {
            add(account("a"))
            #expect(accounts(generic([kSecAttrAccessGroup: mine])) == ["a"])
            #expect(find(generic([kSecAttrAccessGroup: "other"])).status == errSecMissingEntitlement)
            #expect(delete(generic([kSecAttrAccessGroup: "other"])) == errSecMissingEntitlement)
        }
        device.run(as: "other") {
            #expect(find(generic([kSecAttrAccessGroup: mine])).status == errSecMissingEntitlement)
            #expect(update(generic([kSecAttrAccessGroup: mine]), [kSecAttrLabel: "x"]) == errSecMissingEntitlement)
            #expect(find(generic()).status == errSecItemNotFound)
        }
    }

    // MARK: persistent references

    @Test("Section 5: a persistent reference alone finds, updates and deletes, and outlives updates and reboots")
    func persistentReference() throws {
        try device.run {
            let (_, result) = addReturning(account("a", [kSecReturnPersistentRef: true]).value("1"))
            add(account("b").value("other"))
            let query: Attributes = [kSecValuePersistentRef: try #require(result as? Data)]
            #expect(secret(query) == "1")
            #expect(secret(query.with(kSecClass, kSecClassGenericPassword)) == "1")
            #expect(update(query, [kSecAttrAccount: "z", kSecValueData: Data("2".utf8)]) == errSecSuccess)
            #expect(secret(query) == "2")
            #expect(secret(account("z")) == "2")
            #expect(find(account("z", [kSecReturnPersistentRef: true])).result as? Data == result as? Data)
            device.reboot()
            #expect(secret(query) == "2")
            #expect(delete(query) == errSecSuccess)
            #expect(read(query) == errSecItemNotFound)
            #expect(secret(account("b")) == "other")
        }
    }

    @Test("KC-33: a persistent reference finds a synchronizable item") func persistentReferenceOfSynchronizable() throws
    {
        try device.run {
            let item = account("a", [kSecReturnPersistentRef: true, kSecAttrSynchronizable: true])
            let query: Attributes = [kSecValuePersistentRef: try #require(addReturning(item).result as? Data)]
            #expect(find(query).status == errSecSuccess)
        }
    }

    @Test("Section 5: a persistent reference beside any attribute is refused, an unknown one finds nothing")
    func persistentReferenceWithAttributes() throws {
        try device.run {
            let (_, result) = addReturning(account("a", [kSecReturnPersistentRef: true]))
            let reference = try #require(result as? Data)
            let query: Attributes = [kSecValuePersistentRef: reference]
            for (key, value) in [
                kSecAttrAccount: "a", kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked, kSecAttrSynchronizable: false,
            ] as Attributes {
                #expect(find(query.with(key, value)).status == errSecParam, "\(key)")
                #expect(delete(query.with(key, value)) == errSecParam, "\(key)")
                #expect(update(query.with(key, value), [kSecAttrLabel: "x"]) == errSecParam, "\(key)")
            }
            for wrong in [
                Data(), Data("genp".utf8), reference.dropLast(), reference + [0],
                Data("nope".utf8) + reference.dropFirst(4),
            ] {
                let query: Attributes = [kSecValuePersistentRef: wrong]
                #expect(find(query).status == errSecParam)
                #expect(find(generic(query)).status == errSecParam)
                #expect(update(query, [kSecAttrLabel: "x"]) == errSecParam)
                #expect(delete(query) == errSecParam)
            }
            // References of Apple's systems from before class names are not ours.
            #expect(find([kSecValuePersistentRef: Data("genp".utf8) + Data(count: 8)]).status == errSecItemNotFound)
            let other: Attributes = [kSecValuePersistentRef: Data("inet".utf8) + reference.dropFirst(4)]
            #expect(find(other).status == errSecItemNotFound)
            for query in [generic(other), internet(query)] {
                #expect(find(query).status == errSecNoSuchClass)
                #expect(update(query, [kSecAttrLabel: "x"]) == errSecNoSuchClass)
                #expect(delete(query) == errSecNoSuchClass)
            }
            #expect(find([kSecValuePersistentRef: Data("genp".utf8) + Data(count: 16)]).status == errSecItemNotFound)
            #expect(find([kSecValuePersistentRef: "text"]).status == errSecParam)
            #expect(find(query).status == errSecSuccess)
        }
    }
}
