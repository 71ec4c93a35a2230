// swift-format-ignore-file: written as iOS apps are, force unwraps included.

import Foundation

#if canImport(Security)
import Security
#endif

/// What a keychain call has to say, in the words of the system.
enum PasswordError: LocalizedError, Equatable {
    case missing
    case duplicate
    case canceled
    case locked
    case notReadable
    case other(OSStatus)

    init(_ status: OSStatus) {
        switch status {
        case errSecItemNotFound: self = .missing
        case errSecDuplicateItem: self = .duplicate
        case errSecUserCanceled: self = .canceled
        case errSecInteractionNotAllowed: self = .locked
        default: self = .other(status)
        }
    }

    var errorDescription: String? {
        switch self {
        case .missing: return PasswordError.message(errSecItemNotFound)
        case .duplicate: return PasswordError.message(errSecDuplicateItem)
        case .canceled: return PasswordError.message(errSecUserCanceled)
        case .locked: return PasswordError.message(errSecInteractionNotAllowed)
        case .notReadable: return nil
        case .other(let status): return PasswordError.message(status)
        }
    }

    static func message(_ status: OSStatus) -> String {
        if #available(iOS 11.3, macOS 10.3, *) {
            return (SecCopyErrorMessageString(status, nil) as String?) ?? "OSStatus \(status)"
        }
        return "OSStatus \(status)"
    }
}

/// Values of any `Codable` type, by account: one service, one class of protection.
@available(iOS 13.0, macOS 10.15, *)
struct Passwords {
    /// What the keychain knows of an item besides its secret.
    struct Attributes {
        private let dictionary: [String: AnyObject]

        init(_ dictionary: [String: AnyObject]) {
            self.dictionary = dictionary
        }

        var account: String? { return dictionary[String(kSecAttrAccount)] as? String }
        var label: String? { return dictionary[String(kSecAttrLabel)] as? String }
        var comment: String? { return dictionary[String(kSecAttrComment)] as? String }
        var creator: UInt32? { return dictionary[String(kSecAttrCreator)] as? UInt32 }
        var generic: NSData? { return dictionary[String(kSecAttrGeneric)] as? NSData }
        var isNegative: Bool? { return dictionary[String(kSecAttrIsNegative)] as? Bool }
        var isSynchronizable: Bool? { return dictionary[String(kSecAttrSynchronizable)] as? Bool }
        var accessible: CFString? { return dictionary[String(kSecAttrAccessible)] as! CFString? }
        var created: NSDate? { return dictionary[String(kSecAttrCreationDate)] as? NSDate }
        var reference: NSData? { return dictionary[String(kSecValueRef)] as? NSData }
        var data: NSData? { return dictionary[String(kSecValueData)] as? NSData }
        var persistentReference: Data? { return dictionary[String(kSecValuePersistentRef)] as? Data }
        var accessControl: SecAccessControl? {
            guard let control = dictionary[String(kSecAttrAccessControl)] else { return nil }
            return (control as! SecAccessControl)
        }

        subscript(key: CFString) -> AnyObject? { return dictionary[key as String] }
    }

    let service: String
    var group: String? = nil
    var accessibility: CFString = kSecAttrAccessibleWhenUnlocked
    var isSynchronizable = false
    var extra: [String: Any] = [:]

    subscript(account: String) -> String? {
        get { return (try? load(String.self, account)).flatMap { $0 } }
        nonmutating set {
            if let newValue = newValue {
                try? save(newValue, as: account)
            } else {
                try? remove(account)
            }
        }
    }

    func save<Value: Encodable>(_ value: Value, as account: String) throws {
        let data = try JSONEncoder().encode(value)
        var probe = query(account)
        probe[kSecUseAuthenticationUI as String] = kSecUseAuthenticationUIFail
        var status = SecItemCopyMatching(probe as CFDictionary, nil)
        switch status {
        case errSecSuccess, errSecInteractionNotAllowed:
            var changes = extra
            changes[kSecAttrAccessible as String] = accessibility
            changes[kSecAttrSynchronizable as String] = isSynchronizable
            changes[kSecValueData as String] = data
            status = SecItemUpdate(query(account) as CFDictionary, changes as CFDictionary)
        case errSecItemNotFound:
            var item = query(account).merging(extra) { $1 }
            item[kSecAttrAccessible as String] = accessibility
            item[kSecAttrSynchronizable as String] = isSynchronizable
            item[kSecValueData as String] = data
            status = SecItemAdd(item as CFDictionary, nil)
        default:
            break
        }
        guard status == noErr else { throw PasswordError(status) }
    }

    func load<Value: Decodable>(_ type: Value.Type = Value.self, _ account: String) throws -> Value? {
        guard let data = try attributes(of: account, withData: true)?.data else { return nil }
        do {
            return try JSONDecoder().decode(Value.self, from: data as Data)
        } catch {
            throw PasswordError.notReadable
        }
    }

    func attributes(of account: String, withData: Bool = false) throws -> Attributes? {
        var query = self.query(account)
        query[String(kSecMatchLimit)] = kSecMatchLimitOne
        query[String(kSecReturnAttributes)] = kCFBooleanTrue
        query[String(kSecReturnRef)] = kCFBooleanTrue
        query[String(kSecReturnPersistentRef)] = true
        query[String(kSecReturnData)] = withData ? kCFBooleanTrue! : kCFBooleanFalse!
        var result: AnyObject?
        let status = withUnsafeMutablePointer(to: &result) {
            SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
        }
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess else { throw PasswordError(status) }
        guard let dictionary = result as? [String: AnyObject] else { throw PasswordError.notReadable }
        return Attributes(dictionary)
    }

    func contains(_ account: String) throws -> Bool {
        switch SecItemCopyMatching(query(account) as CFDictionary, nil) {
        case errSecSuccess: return true
        case errSecItemNotFound: return false
        case let status: throw PasswordError(status)
        }
    }

    func accounts() throws -> [String] {
        var query = self.query(nil)
        query[kSecMatchLimit as String] = kSecMatchLimitAll
        query[kSecReturnAttributes as String] = kCFBooleanTrue
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        if status == errSecItemNotFound { return [] }
        guard status == errSecSuccess else { throw PasswordError(status) }
        guard let items = result as? [[String: Any]] else { throw PasswordError.notReadable }
        return items.compactMap { $0[kSecAttrAccount as String] as? String }
    }

    func remove(_ account: String?) throws {
        let status = SecItemDelete(query(account) as CFDictionary)
        guard status == errSecSuccess || status == errSecItemNotFound else { throw PasswordError(status) }
    }

    private func query(_ account: String?) -> [String: Any] {
        var query = [kSecClass: kSecClassGenericPassword, kSecAttrService: service] as [String: Any]
        query[kSecAttrAccount as String] = account
        query[kSecAttrAccessGroup as String] = group
        query[kSecAttrSynchronizable as String] = isSynchronizable ? kSecAttrSynchronizableAny : nil
        #if os(iOS) || os(macOS) || os(Linux)
        query[kSecUseDataProtectionKeychain as String] = true
        #endif
        return query
    }
}
