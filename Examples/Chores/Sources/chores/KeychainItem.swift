import Foundation
import Security

/// One value in the app's own keychain group, under its name: readable without asking anybody once the device has been
/// unlocked since it started, and on this device only.
struct KeychainItem<Value: Codable> {
    let name: String

    /// - Returns: Nil if there is none.
    func read() throws -> Value? {
        var query = query
        query[kSecReturnData as String] = true
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        if status == errSecItemNotFound { return nil }
        try check(status)
        guard let data = result as? Data else { throw NSError(domain: NSOSStatusErrorDomain, code: Int(errSecDecode)) }
        return try JSONDecoder().decode(Value.self, from: data)
    }

    func write(_ value: Value) throws {
        let changed: [String: Any] = [
            kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            kSecValueData as String: try JSONEncoder().encode(value),
        ]
        let status = SecItemUpdate(query as CFDictionary, changed as CFDictionary)
        guard status == errSecItemNotFound else { return try check(status) }
        try check(SecItemAdd(query.merging(changed) { $1 } as CFDictionary, nil))
    }

    private var query: [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: "chores",
            kSecAttrAccount as String: name,
        ]
    }

    private func check(_ status: OSStatus) throws {
        guard status == errSecSuccess else { throw NSError(domain: NSOSStatusErrorDomain, code: Int(status)) }
    }
}
