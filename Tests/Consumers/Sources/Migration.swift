// swift-format-ignore-file: written as iOS apps are, force unwraps included.

import Foundation
import Security

/// Moves what earlier versions of an app have stored to where this version looks for it.
enum Migration {
    enum Failure: Error, Equatable {
        case keychain(OSStatus)
        case notTheSame
    }

    /// Renames a service: all of its items move, or none.
    static func rename(service old: String, to new: String) throws {
        let query: [String: Any] = [kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: old]
        let status = SecItemUpdate(query as CFDictionary, [kSecAttrService as String: new] as CFDictionary)
        guard status == errSecSuccess || status == errSecItemNotFound else { throw Failure.keychain(status) }
    }

    /// Gives all items of a service another class of protection, and says how many had to be changed.
    static func protect(service: String, _ accessible: CFString) throws -> Int {
        var changed = 0
        for item in try items([kSecAttrService as String: service]) {
            guard let current = item[kSecAttrAccessible as String] as? String as CFString?, current != accessible
            else { continue }
            let query = [
                kSecClass as String: kSecClassGenericPassword,
                kSecValuePersistentRef as String: item[kSecValuePersistentRef as String]!,
            ]
            let status = SecItemUpdate(
                query as CFDictionary, [kSecAttrAccessible as String: accessible] as CFDictionary)
            guard status == errSecSuccess else { throw Failure.keychain(status) }
            changed += 1
        }
        return changed
    }

    /// Copies the items of a query into a service: each is read by its persistent reference, added, and then deleted.
    static func move(matching query: [String: AnyHashable], into service: String) throws -> Set<String> {
        precondition(query[kSecMatchLimit as String] as? String as CFString? != kSecMatchLimitOne)
        var moved: [String] = []
        for item in try items(query) {
            guard let account = item[kSecAttrAccount as String] as? String,
                let reference = item[kSecValuePersistentRef as String]
            else { continue }
            let byReference: [String: AnyHashable] = [
                kSecValuePersistentRef as String: reference, kSecReturnData as String: true,
            ]
            var data: AnyObject? = nil
            var status = SecItemCopyMatching(byReference as CFDictionary, &data)
            guard status == errSecSuccess else { throw Failure.keychain(status) }
            let destination: [String: AnyHashable] = [
                kSecClass as String: kSecClassGenericPassword as String, kSecAttrService as String: service,
                kSecAttrAccount as String: account, kSecValueData as String: data as? Data,
            ]
            status = SecItemAdd(destination as CFDictionary, nil)
            guard status == errSecSuccess else {
                moved.forEach {
                    _ = SecItemDelete(
                        [kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: $0]
                            as CFDictionary)
                }
                throw Failure.keychain(status)
            }
            moved.append(account)
        }
        var old = query
        old[kSecClass as String] = kSecClassGenericPassword as String
        let status = SecItemDelete(old as CFDictionary)
        guard status == errSecSuccess || status == errSecItemNotFound else { throw Failure.keychain(status) }
        return Set(moved)
    }

    /// Takes the contents of a file into the keychain; the file goes only when they are read back as they were.
    static func adopt(_ file: URL, service: String, account: String) throws {
        guard let contents = NSData(contentsOf: file) else { return }
        let item = NSMutableDictionary()
        item[kSecClass as String] = kSecClassGenericPassword
        item[kSecAttrService as String] = service
        item[kSecAttrAccount as String] = account
        item[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlock
        item[kSecValueData as String] = contents
        item[kSecReturnData as String] = kCFBooleanTrue
        var result: CFTypeRef?
        let status = SecItemAdd(item, &result)
        guard status == errSecSuccess else { throw Failure.keychain(status) }
        guard let stored = result as? NSData, stored.isEqual(to: contents as Data) else { throw Failure.notTheSame }
        try FileManager.default.removeItem(at: file)
    }

    private static func items(_ query: [String: AnyHashable]) throws -> [[String: AnyHashable]] {
        var query = query
        query[kSecClass as String] = kSecClassGenericPassword as String
        query[kSecMatchLimit as String] = kSecMatchLimitAll
        query[kSecReturnAttributes as String] = true
        query[kSecReturnData as String] = false
        query[kSecReturnPersistentRef as String] = true
        var result: AnyObject? = nil
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        if status == errSecItemNotFound { return [] }
        guard status == errSecSuccess else { throw Failure.keychain(status) }
        return (result as? [[String: AnyHashable]]) ?? []
    }
}
