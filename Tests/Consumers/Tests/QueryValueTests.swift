import Foundation
import Security
import Testing
import TouchstoneTesting

@Suite struct QueryValueTests {
    private func add(_ extra: [String: Any], class itemClass: CFString = kSecClassInternetPassword) -> (
        OSStatus, NSDictionary?
    ) {
        var item: [String: Any] = [
            kSecClass as String: itemClass, kSecAttrAccount as String: "me",
            kSecReturnAttributes as String: kCFBooleanTrue as Any,
        ]
        item.merge(extra) { $1 }
        var result: CFTypeRef?
        let status = SecItemAdd(item as CFDictionary, &result)
        return (status, result as? NSDictionary)
    }

    @Test("KC-34: whatever Swift makes a number of is one, and an optional is what it holds")
    func numbers() throws {
        let values: [(Any, Int)] = [
            (UInt16(443), 443), (Int8(22), 22), (UInt32(8080), 8080), (Int64(1), 1), (NSNumber(value: 99), 99),
            (Optional(7) as Any, 7), (Optional(Optional(UInt8(8))) as Any, 8), (true, 1),
        ]
        for (value, port) in values {
            try SimulatedDevice().run {
                let (status, attributes) = add([kSecAttrPort as String: value])
                #expect(status == errSecSuccess, "\(value)")
                #expect(attributes?[kSecAttrPort as String] as? Int == port, "\(value)")
            }
        }
    }

    @Test("KC-34: texts and bytes of every kind")
    func textsAndBytes() throws {
        let texts: [Any] = [
            "s", "s" as NSString, "sx".prefix(1), NSMutableString(string: "s"), Optional("s") as Any, Data("s".utf8),
        ]
        for text in texts {
            try SimulatedDevice().run {
                #expect(add([kSecAttrServer as String: text]).0 == errSecSuccess)
                let query = [kSecClass: kSecClassInternetPassword, kSecAttrServer: "s"] as [CFString: Any]
                #expect(SecItemCopyMatching(query as CFDictionary, nil) == errSecSuccess, "\(type(of: text))")
            }
        }
        let bytes: [Any] = [
            Data([1]), NSData(data: Data([1])), NSMutableData(data: Data([1])), Optional(Data([1])) as Any,
        ]
        for data in bytes {
            try SimulatedDevice().run {
                #expect(add([kSecValueData as String: data]).0 == errSecSuccess)
                let query = [kSecClass: kSecClassInternetPassword, kSecReturnData: true] as [CFString: Any]
                var result: CFTypeRef?
                #expect(SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess)
                #expect(result as? Data == Data([1]), "\(type(of: data))")
            }
        }
    }

    @Test("KC-34: what no attribute can be is refused, nil among it")
    func refused() throws {
        let values: [Any] = [
            Optional<String>.none as Any, NSNull(), URL(string: "https://example.com")!, UUID(), ["a"], ["a": 1],
            NSObject(),
            Character("c"),
        ]
        for value in values {
            try SimulatedDevice().run {
                #expect(add([kSecAttrServer as String: value]).0 == errSecParam, "\(type(of: value))")
                let query = [kSecClass: kSecClassInternetPassword] as [CFString: Any]
                #expect(SecItemCopyMatching(query as CFDictionary, nil) == errSecItemNotFound)
            }
        }
        try SimulatedDevice().run {
            #expect(add([kSecValueData as String: "text"]).0 == errSecParam)
            #expect(add([kSecAttrPort as String: Data([1, 2])]).0 == errSecParam)
        }
    }

    @Test("Results are had as every dictionary and array that Swift and Foundation have")
    func resultTypes() throws {
        try SimulatedDevice().run {
            _ = add([kSecValueData as String: Data([1])])
            var query: [CFString: Any] = [
                kSecClass: kSecClassInternetPassword, kSecReturnAttributes: true, kSecReturnData: true,
            ]
            var one: CFTypeRef?
            #expect(SecItemCopyMatching(query as CFDictionary, &one) == errSecSuccess)
            #expect((one as? NSDictionary)?[kSecAttrAccount] as? String == "me")
            #expect((one as? [NSString: AnyObject])?[kSecAttrAccount] as? NSString == "me")
            #expect((one as? [NSObject: AnyObject])?[kSecAttrAccount] as? String == "me")
            #expect((one as? [String: NSObject])?["acct"] == "me" as NSString)
            #expect(
                (one as! CFDictionary as NSDictionary).object(forKey: kSecValueData) as? NSData
                    == NSData(data: Data([1])))
            query[kSecMatchLimit] = 5
            var all: CFTypeRef?
            #expect(SecItemCopyMatching(query as CFDictionary, &all) == errSecSuccess)
            #expect(all.map { CFGetTypeID($0) } == CFArrayGetTypeID() && CFArrayGetCount(all as! CFArray) == 1)
            #expect((all as? [NSDictionary])?.first?[kSecAttrAccount] as? String == "me")
            #expect((all as? NSArray)?.firstObject as? NSDictionary != nil)
            #expect((all as? [[NSString: Any]])?.count == 1 && (all as? [[String: AnyHashable]])?.count == 1)
            query[kSecReturnAttributes] = nil
            #expect(SecItemCopyMatching(query as CFDictionary, &all) == errSecSuccess)
            #expect(all as? [Data] == [Data([1])] && all as? [NSData] == [NSData(data: Data([1]))])
        }
    }
}
