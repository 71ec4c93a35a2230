// swift-format-ignore-file: written as iOS and Mac apps are, force unwraps included.

import Foundation
import Security

/// Core Foundation's functions as wrappers from Objective-C's days call them.
struct CoreKeychain {
    let service: String

    func query(_ account: String) -> CFMutableDictionary {
        var keyCallBacks = kCFTypeDictionaryKeyCallBacks
        var valueCallBacks = kCFTypeDictionaryValueCallBacks
        let query = CFDictionaryCreateMutable(kCFAllocatorDefault, 0, &keyCallBacks, &valueCallBacks)!
        let service = self.service as CFString
        let account = account as CFString
        CFDictionaryAddValue(
            query, Unmanaged.passUnretained(kSecClass).toOpaque(),
            Unmanaged.passUnretained(kSecClassGenericPassword).toOpaque())
        CFDictionarySetValue(
            query, unsafeBitCast(kSecAttrService, to: UnsafeRawPointer.self),
            unsafeBitCast(service, to: UnsafeRawPointer.self))
        CFDictionarySetValue(
            query, unsafeBitCast(kSecAttrAccount, to: UnsafeRawPointer.self),
            unsafeBitCast(account, to: UnsafeRawPointer.self))
        return query
    }

    func save(_ bytes: [UInt8], _ account: String) -> OSStatus {
        let query = self.query(account)
        let data = CFDataCreateMutable(nil, 0)!
        CFDataAppendBytes(data, bytes, bytes.count)
        CFDictionarySetValue(
            query, unsafeBitCast(kSecValueData, to: UnsafeRawPointer.self), Unmanaged.passUnretained(data).toOpaque())
        return SecItemAdd(query, nil)
    }

    func load(_ account: String) -> [UInt8]? {
        let query = self.query(account)
        CFDictionarySetValue(
            query, unsafeBitCast(kSecReturnData, to: UnsafeRawPointer.self),
            unsafeBitCast(kCFBooleanTrue, to: UnsafeRawPointer.self))
        var result: CFTypeRef?
        guard SecItemCopyMatching(query, &result) == errSecSuccess, CFGetTypeID(result) == CFDataGetTypeID() else {
            return nil
        }
        let data = result as! CFData
        var bytes = [UInt8](repeating: 0, count: CFDataGetLength(data))
        CFDataGetBytes(data, CFRangeMake(0, bytes.count), &bytes)
        return bytes
    }

    /// All accounts, read from the array and the dictionaries of the result without a cast.
    func accounts() -> [String] {
        let query = self.query("")
        CFDictionaryRemoveValue(query, unsafeBitCast(kSecAttrAccount, to: UnsafeRawPointer.self))
        precondition(!CFDictionaryContainsKey(query, unsafeBitCast(kSecAttrAccount, to: UnsafeRawPointer.self)))
        CFDictionarySetValue(
            query, unsafeBitCast(kSecMatchLimit, to: UnsafeRawPointer.self),
            unsafeBitCast(kSecMatchLimitAll, to: UnsafeRawPointer.self))
        CFDictionarySetValue(
            query, unsafeBitCast(kSecReturnAttributes, to: UnsafeRawPointer.self),
            unsafeBitCast(kCFBooleanTrue, to: UnsafeRawPointer.self))
        var result: CFTypeRef?
        guard SecItemCopyMatching(query, &result) == errSecSuccess else { return [] }
        let items = result as! CFArray
        return autoreleasepool {
            (0..<CFArrayGetCount(items)).map { index in
                let item = unsafeBitCast(CFArrayGetValueAtIndex(items, index), to: CFDictionary.self)
                let account = CFDictionaryGetValue(item, Unmanaged.passUnretained(kSecAttrAccount).toOpaque())
                let text = Unmanaged<CFString>.fromOpaque(account!).takeUnretainedValue()
                var buffer = [CChar](repeating: 0, count: CFStringGetLength(text) * 3 + 1)
                guard CFStringGetCString(text, &buffer, buffer.count, CFStringBuiltInEncodings.UTF8.rawValue) else {
                    return ""
                }
                return CFStringCreateWithCString(nil, buffer, CFStringBuiltInEncodings.UTF8.rawValue)! as String
            }
        }
    }
}

/// What a Mac app asks of itself.
enum Itself {
    static func groups() -> [String] {
        guard let task = SecTaskCreateFromSelf(nil) else { return [] }
        var error: Unmanaged<CFError>?
        return SecTaskCopyValueForEntitlement(task, "keychain-access-groups" as CFString, &error) as? [String] ?? []
    }

    static func isGenuine(_ requirementText: String) -> Bool {
        var code: SecCode?
        var requirement: SecRequirement?
        guard SecCodeCopySelf(SecCSFlags(rawValue: 0), &code) == errSecSuccess, let code,
            SecRequirementCreateWithString(requirementText as CFString, [], &requirement) == errSecSuccess
        else { return false }
        return SecCodeCheckValidity(code, SecCSFlags(), requirement) == errSecSuccess
    }

    static var service: String {
        CFBundleGetIdentifier(CFBundleGetMainBundle()) as String? ?? Bundle.main.bundleIdentifier
            ?? "org.example.consumer"
    }
}

/// An app for iOS 8 and later that still asks which system it is on.
enum WebPasswords {
    static var isAvailable: Bool { floor(NSFoundationVersionNumber) > NSFoundationVersionNumber_iOS_7_1 }

    static func save(_ password: String, _ account: String, completion: @escaping (Error?) -> Void) {
        SecAddSharedWebCredential("example.org" as CFString, account as CFString, password as CFString, completion)
    }

    static func all(completion: @escaping ([String], Error?) -> Void) {
        SecRequestSharedWebCredential(nil, nil) { credentials, error in
            let accounts = (credentials as? [[String: Any]])?.compactMap { $0[kSecAttrAccount as String] as? String }
            completion(accounts ?? [], error)
        }
    }

    static func generate() -> String { SecCreateSharedWebCredentialPassword()! as String }
}

func explained(_ error: CFError) -> String {
    let user = CFErrorCopyUserInfo(error)
    let key = kCFErrorLocalizedDescriptionKey!
    return CFDictionaryContainsKey(user, unsafeBitCast(key, to: UnsafeRawPointer.self))
        ? CFErrorCopyDescription(error) as String : CFCopyDescription(error) as String
}

func size(of key: [CFString: Any]) -> Int32 {
    var bits: Int32 = 0
    guard let number = key[kSecAttrKeySizeInBits] as? Int else { return 0 }
    return CFNumberGetValue(number as CFNumber, .sInt32Type, &bits) ? bits : 0
}

func newIdentifier() -> String { CFUUIDCreateString(nil, CFUUIDCreate(nil)) as String }

func age(of item: [String: Any]) -> CFTimeInterval {
    let made = item[kSecAttrCreationDate as String] as? Date ?? Date()
    return CFAbsoluteTimeGetCurrent() - CFDateGetAbsoluteTime(made as CFDate)
}

func isSame(_ first: String, _ second: String) -> Bool {
    CFStringCompare(first as CFString, second as CFString, .compareCaseInsensitive) == .compareEqualTo
}

/// The creator of an item is four characters.
func creator(_ code: FourCharCode) -> CFNumber {
    var value = Int32(bitPattern: code)
    return CFNumberCreate(kCFAllocatorDefault, .sInt32Type, &value)
}

/// Whom an app lets judge a server.
protocol ServerTrustPolicy {
    func isTrusted(_ trust: SecTrust, forHost host: String) -> Bool
}
