import Foundation
import Security
import Testing
import TouchstoneTesting

/// Section 5 of the primary-key table: what a search returns.
@Suite(.timeLimit(.minutes(10))) struct SearchResultTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice() }

    private static let combinations = (0..<16).map { bits in (0..<4).filter { bits & 1 << $0 != 0 } }
    private static var returnKeys: [CFString] {
        [kSecReturnData, kSecReturnAttributes, kSecReturnPersistentRef, kSecReturnRef]
    }

    @Test("Section 5: every combination of return keys has its shape, for one and for all", arguments: combinations)
    func shapes(asked: [Int]) throws {
        try device.run {
            add(account("a").value("s"))
            var query = account("a")
            for key in Self.returnKeys { query[key] = asked.contains(Self.returnKeys.firstIndex(of: key) ?? -1) }
            let (status, one) = find(query)
            #expect(status == errSecSuccess)
            try expectShape(one, asked)
            let all = try #require(find(query.all).result as? [AnyObject])
            // A password has no reference, and an entry that would be nil is dropped.
            #expect(all.count == (asked.isEmpty || asked == [3] ? 0 : 1))
            if let first = all.first { try expectShape(first, asked) }
        }
    }

    private func expectShape(_ result: CFTypeRef?, _ asked: [Int]) throws {
        switch asked {
        case [], [3]: #expect(result == nil)
        case [0]: #expect(result as? Data == Data("s".utf8))
        case [2]: #expect((result as? Data)?.count == 20)
        default:
            let found = try #require(result as? [String: Any])
            #expect((found["v_Data"] as? Data == Data("s".utf8)) == asked.contains(0))
            #expect((found["acct"] as? String == "a") == (asked.contains(1) || asked.contains(3)))
            #expect((found["v_PersistentRef"] as? Data != nil) == asked.contains(2))
            #expect((found["class"] as? String == "genp") == asked.contains(3))
            #expect(found["v_Ref"] == nil)
        }
    }

    @Test("Section 5: where nothing is asked for the result is left alone, and the status tells") func untouchedResult()
    {
        device.run {
            add(account("a"))
            let marker = "marker" as NSString
            var result: CFTypeRef? = marker
            #expect(SecItemCopyMatching(account("a") as CFDictionary, &result) == errSecSuccess)
            #expect(result === marker)
            #expect(SecItemCopyMatching(account("a") as CFDictionary, nil) == errSecSuccess)
        }
    }

    @Test("Section 5: asking for a result without a place for it is refused") func missingPlace() {
        device.run {
            add(account("a"))
            #expect(SecItemCopyMatching(account("a").data as CFDictionary, nil) == errSecParam)
        }
    }

    @Test("Section 5: an item without data gives none, and no entry for it") func withoutData() throws {
        try device.run {
            add(account("none", [kSecAttrService: "s"]))
            add(account("some", [kSecAttrService: "s"]).value("x"))
            let (status, result) = find(account("none").data)
            #expect(status == errSecSuccess)
            #expect(result == nil)
            let both = try #require(find(account("none").data.attributes).result as? [String: Any])
            #expect(both["v_Data"] == nil)
            let all = find(generic([kSecAttrService: "s"]).all.data).result as? [Data]
            #expect(all == [Data("x".utf8)])
        }
    }

    @Test("Section 5: the attributes of a result, with the class, find the item and no other") func attributesAsQuery()
        throws
    {
        try device.run {
            for name in ["a", "b"] {
                add(account(name, [kSecAttrService: "s", kSecAttrLabel: "l", kSecAttrGeneric: Data([1])]).value(name))
                add(internet([kSecAttrAccount: name, kSecAttrServer: "s", kSecAttrPort: 80]).value(name))
            }
            for query in [account("a"), internet([kSecAttrAccount: "a"])] {
                var next = try attributes(query)
                next[kSecClass as String] = query[kSecClass]
                next[kSecReturnData as String] = true
                next[kSecMatchLimit as String] = kSecMatchLimitAll
                var result: CFTypeRef?
                #expect(SecItemCopyMatching(next as CFDictionary, &result) == errSecSuccess)
                #expect(result as? [Data] == [Data("a".utf8)])
            }
        }
    }

    @Test("Section 3: values come back with the type that they went in with, after a reboot as well") func types()
        throws
    {
        try device.run {
            let given: Attributes = [
                kSecAttrAccount: Data([0, 255, 0]), kSecAttrService: "Grüße 🔑\u{0}e\u{301}", kSecAttrLabel: 42,
                kSecAttrGeneric: "text", kSecAttrDescription: Data(),
                kSecAttrComment: String(repeating: "x", count: 5000),
                kSecAttrCreator: 4_294_967_295, kSecAttrType: -1,
            ]
            #expect(add(generic(given).value("s")) == errSecSuccess)
            for _ in 0..<2 {
                let found = try attributes(generic())
                #expect(found["acct"] as? Data == Data([0, 255, 0]))
                #expect((found["svce"] as? String)?.utf8.elementsEqual("Grüße 🔑\u{0}e\u{301}".utf8) == true)
                #expect(found["labl"] as? Int == 42)
                #expect(found["gena"] as? String == "text")
                #expect(found["desc"] as? Data == Data())
                #expect((found["icmt"] as? String)?.count == 5000)
                #expect(found["crtr"] as? Int == 4_294_967_295)
                #expect(found["type"] as? Int == -1)
                device.reboot()
            }
        }
    }

    @Test("Section 3: numbers are converted as the table says") func numberConversion() throws {
        try device.run {
            add(internet([kSecAttrPort: "8080", kSecAttrProtocol: kSecAttrProtocolHTTPS, kSecAttrIsInvisible: true]))
            let found = try attributes(internet())
            #expect(found["port"] as? Int == 8080)
            #expect(found["ptcl"] as? String == kSecAttrProtocolHTTPS as String)
            #expect(found["invi"] as? Int == 1)
            #expect(find(internet([kSecAttrPort: 8080])).status == errSecSuccess)
            #expect(find(internet([kSecAttrIsInvisible: 1])).status == errSecSuccess)
            #expect(find(internet([kSecAttrPort: "08080"])).status == errSecItemNotFound)
        }
    }

    @Test("Section 5: the access control comes back as the one that was set") func accessControl() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.run {
            let set = try control(.userPresence, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly)
            add(account("a", [kSecAttrAccessControl: set]))
            device.present(.finger(1))
            let found = try attributes(account("a"))
            #expect(found["accc"] as? SecAccessControl == set)
            #expect(found["pdmn"] as? String == kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly as String)
        }
    }

    @Test("KC-33: more items than the enclave opens in one turn are all found") func manyItems() throws {
        try device.run {
            for number in 0..<300 { add(account("\(number)").value("\(number)")) }
            let found = try #require(find(generic().all.data.attributes).result as? [[String: Any]])
            #expect(found.count == 300)
            for item in found {
                let name = try #require(item["acct"] as? String)
                #expect(item["v_Data"] as? Data == Data(name.utf8))
            }
            #expect((find(generic([kSecMatchLimit: 280]).data).result as? [Data])?.count == 280)
        }
    }
}
