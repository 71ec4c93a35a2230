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

/// Functions that take and lend pointers to objects.
@Suite struct CoreFoundationPointerTests {
    private func pointer(_ object: AnyObject) -> UnsafeRawPointer {
        UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
    }

    private func object<Object: AnyObject>(_ pointer: UnsafeRawPointer?, _ type: Object.Type) throws -> Object {
        Unmanaged<Object>.fromOpaque(try #require(pointer)).takeUnretainedValue()
    }

    @Test func dictionariesAreFilledAndRead() throws {
        let query = try #require(CFDictionaryCreateMutable(kCFAllocatorDefault, 0, nil, nil))
        let account: CFString = "me"
        let other: CFString = "you"
        CFDictionaryAddValue(query, pointer(kSecAttrAccount), pointer(account))
        CFDictionaryAddValue(query, pointer(kSecAttrAccount), pointer(other))
        #expect(query == ["acct": "me"] as NSDictionary, "what is there stays")
        CFDictionarySetValue(query, pointer(kSecAttrAccount), pointer(other))
        CFDictionarySetValue(query, unsafeBitCast(kSecReturnData, to: UnsafeRawPointer.self), pointer(kCFBooleanTrue))
        #expect(query == ["acct": "you", "r_Data": true] as NSDictionary)
        #expect(CFDictionaryContainsKey(query, pointer(kSecReturnData)))
        #expect(!CFDictionaryContainsKey(query, pointer(kSecReturnRef)))
        let found = try object(CFDictionaryGetValue(query, pointer(kSecAttrAccount)), CFString.self)
        #expect(found as String == "you")
        #expect(CFDictionaryGetValue(query, pointer(kSecReturnRef)) == nil)
        var value: UnsafeRawPointer?
        #expect(CFDictionaryGetValueIfPresent(query, pointer(kSecReturnData), &value))
        #expect(try object(value, CFBoolean.self) == kCFBooleanTrue)
        #expect(CFGetTypeID(try object(value, CFBoolean.self)) == CFBooleanGetTypeID())
        value = nil
        #expect(!CFDictionaryGetValueIfPresent(query, pointer(kSecReturnRef), &value) && value == nil)
        CFDictionaryRemoveValue(query, pointer(kSecReturnData))
        CFDictionaryRemoveValue(query, pointer(kSecReturnData))
        #expect(CFDictionaryGetCount(query) == 1)
    }

    @Test func dictionariesAreMadeOfListsAndCopied() throws {
        let name: CFString = "a"
        var keys: [UnsafeRawPointer?] = [pointer(kSecClass), pointer(kSecAttrAccount), pointer(kSecClass)]
        var values: [UnsafeRawPointer?] = [pointer(kSecClassKey), pointer(name), pointer(name)]
        var keyCallBacks = kCFTypeDictionaryKeyCallBacks
        var valueCallBacks = kCFTypeDictionaryValueCallBacks
        let made = try #require(CFDictionaryCreate(nil, &keys, &values, 3, &keyCallBacks, &valueCallBacks))
        #expect(made == ["class": "keys", "acct": "a"] as NSDictionary, "the first of two equal keys counts")
        #expect(!(made is NSMutableDictionary))
        let copy = try #require(CFDictionaryCreateMutableCopy(nil, 0, made))
        CFDictionaryRemoveValue(copy, pointer(kSecClass))
        #expect(CFDictionaryGetCount(copy) == 1 && CFDictionaryGetCount(made) == 2)
        let frozen = try #require(CFDictionaryCreateCopy(nil, copy))
        CFDictionaryRemoveValue(copy, pointer(kSecAttrAccount))
        #expect(CFDictionaryGetCount(frozen) == 1)
        #expect(CFDictionaryCreate(nil, &keys, &values, -1, nil, nil) == nil)
        #expect(CFDictionaryCreate(nil, nil, nil, 0, nil, nil) == NSDictionary())
    }

    @Test func arraysAreFilledAndRead() throws {
        let control = try #require(SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, [], nil))
        let text: CFString = "a"
        var callBacks = kCFTypeArrayCallBacks
        let array = try #require(CFArrayCreateMutable(nil, 0, &callBacks))
        CFArrayAppendValue(array, pointer(text))
        CFArrayAppendValue(array, pointer(control))
        #expect(CFArrayGetCount(array) == 2)
        #expect(try object(CFArrayGetValueAtIndex(array, 0), CFString.self) == text)
        #expect(try object(CFArrayGetValueAtIndex(array, 1), SecAccessControl.self) === control)
        let first = unsafeBitCast(CFArrayGetValueAtIndex(array, 0), to: CFString.self)
        #expect(first as String == "a")
        var values: [UnsafeRawPointer?] = [pointer(control), pointer(text)]
        #expect(CFArrayCreate(nil, &values, 2, nil) == [control, text] as NSArray)
        #expect(CFArrayCreate(nil, nil, 0, nil) == NSArray() && CFArrayCreate(nil, &values, -1, nil) == nil)
    }

    @Test func whatIsLentLivesAsLongAsItsCollection() throws {
        // Each of them is an object that Foundation makes again when it is taken out.
        let array: CFArray = [
            "text", Data([1, 2, 3]), ["key": "value"], [1, 2], Date(timeIntervalSinceReferenceDate: 1),
        ]
        let pointers = (0..<5).map { CFArrayGetValueAtIndex(array, $0) }
        // Memory that was freed is taken for others.
        let others = (0..<1000).map { ["other \($0)": Data(count: 64)] as NSDictionary }
        #expect(try object(pointers[0], CFString.self) as String == "text")
        #expect(try object(pointers[1], CFData.self) as Data == Data([1, 2, 3]))
        #expect(try object(pointers[2], CFDictionary.self) == ["key": "value"] as NSDictionary)
        #expect(try object(pointers[3], CFArray.self) == [1, 2] as NSArray)
        #expect(CFDateGetAbsoluteTime(try object(pointers[4], CFDate.self)) == 1)
        #expect((0..<5).allSatisfy { CFArrayGetValueAtIndex(array, $0) == pointers[$0] }, "the same each time")
        #expect(others.count == 1000)
    }

    @Test func whatIsLentGoesWithItsCollection() throws {
        final class Marker: NSObject {}
        weak var lent: Marker?
        try autoreleasepool {
            let marker = Marker()
            lent = marker
            let array: CFArray = [marker]
            let found = try object(CFArrayGetValueAtIndex(array, 0), Marker.self)
            #expect(found === marker)
        }
        // Looked for when others are lent, which other tests in this process do, too.
        var kept: [CFArray] = []
        for _ in 0..<100_000 where lent != nil {
            kept.append(["x"])
            _ = CFArrayGetValueAtIndex(kept[kept.count - 1], 0)
        }
        #expect(lent == nil)
    }

    @Test func changedValuesAreLentAnew() throws {
        let key: CFString = "k"
        let dictionary: CFMutableDictionary = ["k": "old"]
        _ = CFDictionaryGetValue(dictionary, pointer(key))
        dictionary["k"] = "new"
        #expect(try object(CFDictionaryGetValue(dictionary, pointer(key)), CFString.self) as String == "new")
        dictionary["k"] = 1
        #expect(try object(CFDictionaryGetValue(dictionary, pointer(key)), CFNumber.self) == 1)
        dictionary["k"] = true
        let truth = try object(CFDictionaryGetValue(dictionary, pointer(key)), CFBoolean.self)
        #expect(CFGetTypeID(truth) == CFBooleanGetTypeID(), "1 and true are equal, and not the same")
    }

    @Test func dataGrowsAndIsCopiedOut() throws {
        let data = try #require(CFDataCreateMutable(nil, 0))
        CFDataAppendBytes(data, [1, 2, 3], 3)
        CFDataAppendBytes(data, [4], 0)
        #expect(data as Data == Data([1, 2, 3]))
        var bytes = [UInt8](repeating: 0, count: 2)
        CFDataGetBytes(data, CFRangeMake(1, 2), &bytes)
        #expect(bytes == [2, 3])
        let copy = try #require(CFDataCreateCopy(nil, data))
        let mutable = try #require(CFDataCreateMutableCopy(nil, 0, copy))
        CFDataAppendBytes(mutable, [9], 1)
        #expect(CFDataGetLength(copy) == 3 && CFDataGetLength(mutable) == 4)
        #expect(CFRangeMake(1, 2) == CFRange(location: 1, length: 2) && CFRange() == CFRangeMake(0, 0))
    }

    @Test func numbersAreMadeOfPointersAndWrittenToThem() throws {
        var size: Int32 = -256
        let number = try #require(CFNumberCreate(nil, .sInt32Type, &size))
        #expect(number == -256 as CFNumber)
        var long = 0
        #expect(CFNumberGetValue(number, .longType, &long) && long == -256)
        var double = 0.0
        #expect(CFNumberGetValue(number, .doubleType, &double) && double == -256)
        var small: Int8 = 1
        #expect(!CFNumberGetValue(number, .sInt8Type, &small), "it does not fit")
        var half = 0.5
        let fraction = try #require(CFNumberCreate(nil, .doubleType, &half))
        #expect(!CFNumberGetValue(fraction, .intType, &size) && size == 0, "a part of it is lost")
        var short: Int16 = 7
        #expect(CFNumberGetValue(CFNumberCreate(nil, .shortType, &short), .cfIndexType, &long) && long == 7)
        var float: Float = 1.5
        #expect(CFNumberGetValue(CFNumberCreate(nil, .floatType, &float), .cgFloatType, &double) && double == 1.5)
        #expect(CFNumberGetValue(CFNumberCreate(nil, .sInt8Type, &small), .sInt16Type, &short))
        long = .max
        #expect(CFNumberCreate(nil, .nsIntegerType, &long) == NSNumber(value: Int.max))
    }

    @Test func textsAreReadWrittenAndCompared() throws {
        let utf8 = CFStringBuiltInEncodings.UTF8.rawValue
        let text = try #require(CFStringCreateWithCString(nil, "Gr\u{FC}n", utf8))
        #expect(CFStringGetLength(text) == 4)
        var buffer = [CChar](repeating: 1, count: 6)
        #expect(CFStringGetCString(text, &buffer, 6, utf8) && buffer == [71, 114, -61, -68, 110, 0])
        #expect(!CFStringGetCString(text, &buffer, 5, utf8), "there is no room for the zero")
        #expect(!CFStringGetCString(text, &buffer, 6, CFStringBuiltInEncodings.ASCII.rawValue))
        #expect(!CFStringGetCString(text, &buffer, 6, 12345))
        #expect(CFStringCreateWithCString(nil, [-1, 0], utf8) == nil)
        #expect(CFStringCreateWithCString(nil, [65, 0], 12345) == nil)
        #expect(CFStringCompare("a" as CFString, "b" as CFString, []) == .compareLessThan)
        #expect(CFStringCompare("b" as CFString, "a" as CFString, []) == .compareGreaterThan)
        #expect(CFStringCompare("a" as CFString, "A" as CFString, .compareCaseInsensitive) == .compareEqualTo)
        #expect(CFStringCompare("a" as CFString, "A" as CFString, []) != .compareEqualTo)
        #expect(CFStringCompare("9" as CFString, "10" as CFString, .compareNumerically) == .compareLessThan)
        #expect(CFStringCompare("9" as CFString, "10" as CFString, []) == .compareGreaterThan)
        #expect(CFStringCompare("\u{E9}" as CFString, "e\u{301}" as CFString, .compareNonliteral) == .compareEqualTo)
        #expect(CFStringCompare("\u{E9}" as CFString, "e\u{301}" as CFString, []) != .compareEqualTo)
    }

    @Test func datesUUIDsAndDescriptions() throws {
        let date = try #require(CFDateCreate(nil, 12.5))
        #expect(CFDateGetAbsoluteTime(date) == 12.5)
        let text = try #require(CFUUIDCreateString(nil, CFUUIDCreate(nil))) as String
        #expect(UUID(uuidString: text) != nil && text == text.uppercased())
        #expect(text != CFUUIDCreateString(nil, CFUUIDCreate(nil)) as String)
        #expect(CFCopyDescription("x" as CFString) as String == "x")
        #expect((CFCopyDescription(nil) as String) == "(null)")
        #expect(CFBundleGetMainBundle() == Bundle.main)
        #expect(CFBundleGetIdentifier(CFBundleGetMainBundle()) as String? == Bundle.main.bundleIdentifier)
    }

    @Test func shownObjectsAreOnStandardError() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
            CFShow("shown here" as CFString)
        }
        #expect(String(decoding: result.standardErrorContent, as: UTF8.self).contains("shown here\n"))
    }

    @Test func aPoolReturnsAndThrowsWhatItsClosureDoes() throws {
        #expect(autoreleasepool { 7 } == 7)
        #expect(throws: CocoaError.self) { try autoreleasepool { throw CocoaError(.userCancelled) } }
        let code: FourCharCode = 0x6775_6573
        #expect(code as OSType == 0x6775_6573)
    }
}
