import Foundation
import Security
import Testing

@Suite struct CoreFoundationIdiomTests {
    @Test func dictionariesOfEveryKeyTypeBecomeCFDictionary() {
        let strings: [String: Any] = [kSecClass as String: kSecClassGenericPassword, String(kSecAttrAccount): "a"]
        let constants: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "a"]
        let texts: [NSString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "a"]
        let hashables: [AnyHashable: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "a"]
        let objects: [String: AnyObject] = [
            kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "a" as CFString,
        ]
        let values: [String: AnyHashable] = [kSecClass as String: kSecClassGenericPassword, "acct": "a"]
        let expected: NSDictionary = ["class": "genp", "acct": "a"]
        #expect(strings as CFDictionary == expected)
        #expect(constants as CFDictionary == expected)
        #expect(texts as CFDictionary == expected)
        #expect(hashables as CFDictionary == expected)
        #expect(objects as CFDictionary == expected)
        #expect(values as CFDictionary == expected)
    }

    @Test func constantsFindTheirValuesInResultsOfEveryKeyType() throws {
        let result: CFTypeRef = ["acct": "me"] as NSDictionary
        #expect((result as? [String: Any])?[kSecAttrAccount as String] as? String == "me")
        #expect((result as? [CFString: Any])?[kSecAttrAccount] as? String == "me")
        #expect((result as? [String: AnyHashable])?["acct"] == AnyHashable("me"))
        // The decision of `NSString+AnyHashable.swift`.
        #expect((result as? [AnyHashable: Any])?[kSecAttrAccount] as? String == "me")
        let several: CFTypeRef = [["acct": "me"], ["acct": "you"]] as NSArray
        #expect((several as? [[String: Any]])?.compactMap { $0["acct"] as? String } == ["me", "you"])
        #expect((several as? [[CFString: Any]])?.count == 2)
        #expect(AnyHashable(kSecAttrAccount) as? NSString == kSecAttrAccount)
    }

    @Test func valuesBecomeCoreFoundationTypes() {
        #expect((Data([1, 2]) as CFData) as Data == Data([1, 2]))
        #expect(("s" as CFString) as String == "s")
        #expect((1 as CFNumber).intValue == 1)
        #expect(CFBooleanGetValue(kCFBooleanTrue))
        let value: Any = kCFBooleanTrue!
        #expect(value as? Bool == true)
        let reference: CFTypeRef = Data([3]) as CFTypeRef
        #expect(reference as? Data == Data([3]))
    }

    @Test func typesAreToldApart() {
        #expect(CFGetTypeID("x" as CFString) == CFStringGetTypeID())
        #expect(CFGetTypeID(Data() as CFData) == CFDataGetTypeID())
        #expect(CFGetTypeID(kCFBooleanFalse) == CFBooleanGetTypeID())
        #expect(CFGetTypeID(0 as CFNumber) == CFNumberGetTypeID())
        #expect(CFGetTypeID(Int8(1) as NSNumber) == CFNumberGetTypeID())
        #expect(CFGetTypeID([:] as CFDictionary) == CFDictionaryGetTypeID())
        #expect(CFGetTypeID([] as CFArray) == CFArrayGetTypeID())
        #expect(CFGetTypeID(Date() as CFDate) == CFDateGetTypeID())
    }

    @Test func coreFoundationErrorsAreErrors() throws {
        let error = CFErrorCreate(
            kCFAllocatorDefault, NSOSStatusErrorDomain as CFString, Int(errSecParam),
            [NSLocalizedDescriptionKey: "no"] as CFDictionary)!
        #expect(CFErrorGetCode(error) == -50)
        #expect(CFErrorGetDomain(error) as String == NSOSStatusErrorDomain)
        #expect((CFErrorCopyUserInfo(error) as? [String: Any])?[NSLocalizedDescriptionKey] as? String == "no")
        #expect(CFErrorCopyDescription(error) as String == "no")
        #expect(throws: NSError.self) { throw error as any Error }
    }

    @Test func randomBytesAreDifferentEveryTime() {
        var bytes = [UInt8](repeating: 0, count: 32)
        #expect(unsafe SecRandomCopyBytes(kSecRandomDefault, bytes.count, &bytes) == errSecSuccess)
        var data = Data(count: 32)
        let status = unsafe data.withUnsafeMutableBytes { buffer in
            unsafe SecRandomCopyBytes(kSecRandomDefault, 32, buffer.baseAddress!)
        }
        #expect(status == 0)
        #expect(Data(bytes) != data)
        #expect(data != Data(count: 32))
        #expect(unsafe SecRandomCopyBytes(nil, 0, &bytes) == 0)
    }

    @Test func statusesCanBeSwitchedOver() {
        func name(_ status: OSStatus) -> String {
            switch status {
            case errSecSuccess, noErr: "success"
            case errSecItemNotFound: "not found"
            default: "other"
            }
        }
        #expect(name(0) == "success")
        #expect(name(-25300) == "not found")
        #expect(NSError(domain: NSOSStatusErrorDomain, code: Int(errSecParam)).code == -50)
    }

    @Test func moduleQualifiedNamesAreFound() {
        #expect(Security.errSecDuplicateItem == -25299)
    }
}

@Suite struct CoreFoundationFunctionTests {
    @Test func literalsWithConstantsForKeysAreDictionariesOfStrings() {
        let query = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "a", kSecReturnData: true] as [String: Any]
        #expect(query as CFDictionary == ["class": "genp", "acct": "a", "r_Data": true] as NSDictionary)
        #expect(query[kSecAttrAccount as String] as? String == "a")
    }

    @Test func dataIsMadeOfBytesAndBecomesBytes() throws {
        let bytes: [UInt8] = [1, 2, 3]
        let data = try #require(CFDataCreate(nil, bytes, bytes.count))
        #expect(data as Data == Data(bytes))
        #expect(CFDataGetLength(data) == 3)
        #expect(Array(UnsafeBufferPointer(start: CFDataGetBytePtr(data), count: 3)) == bytes)
        #expect(CFDataCreate(kCFAllocatorDefault, nil, 0) == NSData())
        #expect(CFDataCreate(nil, bytes, -1) == nil)
        #expect(CFDataCreate(nil, nil, 3) == nil)
    }

    @Test func dataWithoutACopyLeavesTheBytesToTheirOwner() throws {
        var bytes: [UInt8] = [1, 2, 3]
        try bytes.withUnsafeMutableBufferPointer { buffer in
            let data = try #require(CFDataCreateWithBytesNoCopy(nil, buffer.baseAddress, 3, kCFAllocatorNull))
            let copy = data as Data
            buffer[0] = 9
            #expect(CFDataGetBytePtr(data)[0] == 9)
            #expect(copy == Data([1, 2, 3]), "a Data made of it has bytes of its own")
            #expect(CFDataCreateWithBytesNoCopy(nil, buffer.baseAddress, -1, kCFAllocatorNull) == nil)
        }
        #expect(CFDataCreateWithBytesNoCopy(nil, nil, 0, kCFAllocatorNull) == NSData())
        let owned = UnsafeMutableRawPointer(try #require(malloc(4))).bindMemory(to: UInt8.self, capacity: 4)
        owned.update(repeating: 7, count: 4)
        #expect(CFDataCreateWithBytesNoCopy(nil, owned, 4, kCFAllocatorDefault)! as Data == Data([7, 7, 7, 7]))
    }

    @Test func equalityIsWhatTheObjectsSay() {
        #expect(CFEqual("x" as CFString, "x" as CFString) && !CFEqual("x" as CFString, "y" as CFString))
        #expect(!CFEqual("1" as CFString, 1 as CFNumber) && !CFEqual("x" as CFString, nil) && CFEqual(nil, nil))
        let first = SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .userPresence, nil)
        let second = SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .userPresence, nil)
        let third = SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .devicePasscode, nil)
        #expect(CFEqual(first, second) && CFHash(first) == CFHash(second))
        #expect(!CFEqual(first, third))
    }

    @Test func collectionsAreCounted() {
        #expect(CFArrayGetCount(["a", "b"] as CFArray) == 2)
        #expect(CFDictionaryGetCount(["a": 1] as CFDictionary) == 1)
        #expect(CFGetTypeID(kCFNull) == CFNullGetTypeID())
    }

    @Test func timeIsCountedFrom2001() {
        #expect(abs(CFAbsoluteTimeGetCurrent() - Date().timeIntervalSinceReferenceDate) < 60)
    }
}
