import Foundation
import Security
import Testing
import TouchstoneTesting

/// Section 5 of the primary-key table: what every combination of return keys gives, for every class and limit.
@Suite(.timeLimit(.minutes(10))) struct ReturnTableTests {
    private static var returnKeys: [CFString] {
        [kSecReturnData, kSecReturnAttributes, kSecReturnRef, kSecReturnPersistentRef]
    }
    private static let classes = ["genp", "inet", "cert", "keys", "idnt"]

    private func fill() throws {
        #expect(add(account("a").value("s")) == errSecSuccess)
        #expect(add(internet([kSecAttrAccount: "a"]).value("s")) == errSecSuccess)
        #expect(addReference(try clientIdentity()) == errSecSuccess)
    }

    private func data(_ itemClass: String) -> Data {
        switch itemClass {
        case "cert": TestCertificates.client
        case "keys", "idnt": TestCertificates.clientKey
        default: Data("s".utf8)
        }
    }

    private func isReference(_ object: Any?, _ itemClass: String) -> Bool {
        switch itemClass {
        case "cert": object is SecCertificate
        case "keys": object is SecKey
        case "idnt": object is SecIdentity
        default: object == nil
        }
    }

    @Test("Section 5: the result has the type that the return keys say", arguments: classes, 0..<16)
    func types(itemClass: String, combination: Int) throws {
        let device = try SimulatedDevice()
        try device.run {
            try fill()
            let asked = Self.returnKeys.indices.filter { combination & 1 << $0 != 0 }
            var query: Attributes = [kSecClass: itemClass]
            for index in Self.returnKeys.indices { query[Self.returnKeys[index]] = asked.contains(index) }
            let isPassword = itemClass == "genp" || itemClass == "inet"
            for limit in [nil, kSecMatchLimitOne, 1, kSecMatchLimitAll, 2, 1000] as [Any?] {
                var limited = query
                limited[kSecMatchLimit] = limit
                let (status, result) = find(limited)
                #expect(status == errSecSuccess)
                if limit == nil || limit as? Int == 1 || limit as? String == "m_LimitOne" {
                    try expect(result, asked, itemClass)
                } else {
                    let found = try #require(result as? [AnyObject])
                    let isNothing = asked.isEmpty || (asked == [2] && isPassword)
                    #expect(found.count == (isNothing ? 0 : 1))
                    if let first = found.first { try expect(first, asked, itemClass) }
                }
            }
        }
    }

    private func expect(_ result: CFTypeRef?, _ asked: [Int], _ itemClass: String) throws {
        switch asked {
        case []: #expect(result == nil)
        case [0]: #expect(result as? Data == data(itemClass))
        case [2]: #expect(isReference(result, itemClass))
        case [3]: #expect((result as? Data)?.prefix(4) == Data(itemClass.utf8))
        default:
            let found = try #require(result as? [String: Any])
            #expect(found["v_Data"] as? Data == (asked.contains(0) ? data(itemClass) : nil))
            #expect((found["agrp"] != nil) == (asked.contains(1) || asked.contains(2)))
            #expect((found["accc"] is SecAccessControl) == (asked.contains(1) || asked.contains(2)))
            #expect(found["class"] as? String == (asked.contains(2) ? itemClass : nil))
            #expect(asked.contains(2) ? isReference(found["v_Ref"], itemClass) : found["v_Ref"] == nil)
            #expect((found["v_PersistentRef"] as? Data)?.count == (asked.contains(3) ? 20 : nil))
        }
    }

    @Test("Section 6: so it has for what was just added", arguments: ["cert", "keys", "idnt"], 0..<16)
    func typesOfAdded(itemClass: String, combination: Int) throws {
        let device = try SimulatedDevice()
        try device.run {
            let asked = Self.returnKeys.indices.filter { combination & 1 << $0 != 0 }
            let reference: AnyObject =
                switch itemClass {
                case "cert": try certificate(TestCertificates.client)
                case "keys": try privateKey(TestCertificates.clientKey)
                default: try clientIdentity()
                }
            var item: Attributes = [kSecValueRef: reference]
            for index in asked { item[Self.returnKeys[index]] = true }
            let (status, result) = addReturning(item)
            #expect(status == errSecSuccess)
            try expect(result, asked, itemClass)
        }
    }

    @Test("Section 5: a persistent reference says the class of what it finds", arguments: ["cert", "keys", "idnt"])
    func persistentReference(itemClass: String) throws {
        let device = try SimulatedDevice()
        try device.run {
            try fill()
            let byClass: Attributes = [kSecClass: itemClass, kSecReturnPersistentRef: true]
            let query: Attributes = [kSecValuePersistentRef: try #require(find(byClass).result as? Data)]
            #expect(isReference(find(query.with(kSecReturnRef, true)).result, itemClass))
            #expect(update(query, [kSecAttrLabel: "new"]) == errSecSuccess)
            #expect(try attributes(query)["labl"] as? String == "new")
            #expect(delete(query) == errSecSuccess)
            #expect(find(query).status == errSecItemNotFound)
        }
    }
}
