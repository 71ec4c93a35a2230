import Foundation

#if canImport(TouchstoneSecurity)
import TouchstoneCoreFoundation
import TouchstoneSecurity
#else
import Security
#endif

/// A generic password of this library: no secret, but nothing that another app may change.
///
/// For this device only, while it is unlocked.
struct Item {
    enum Kind: String {
        case record = "io.touchstone.sign-in.server"
        case device = "io.touchstone.sign-in.device"
        case counter = "io.touchstone.sign-in.counter"
        case installation = "io.touchstone.sign-in.installation"
    }

    let kind: Kind
    let account: String

    init(_ kind: Kind, account: String) {
        self.kind = kind
        self.account = account
    }

    var query: [CFString: Any] {
        var query = Self.query(of: kind)
        query[kSecAttrAccount] = account
        return query
    }

    private static func query(of kind: Kind) -> [CFString: Any] {
        [kSecClass: kSecClassGenericPassword, kSecAttrService: kind.rawValue, kSecUseDataProtectionKeychain: true]
    }

    func read() throws(SignInError) -> Data? {
        var query = query
        query[kSecReturnData] = true
        return try Self.copy(query) as? Data
    }

    /// Adds the item, or changes its data.
    func write(_ data: Data) throws(SignInError) {
        var added = query
        added[kSecAttrAccessible] = kSecAttrAccessibleWhenUnlockedThisDeviceOnly
        added[kSecValueData] = data
        var status = SecItemAdd(added as CFDictionary, nil)
        if status == errSecDuplicateItem {
            status = SecItemUpdate(query as CFDictionary, [kSecValueData: data] as CFDictionary)
        }
        try Self.check(status)
    }

    func delete() throws(SignInError) {
        try Self.check(SecItemDelete(query as CFDictionary), errSecItemNotFound)
    }

    static func accounts(of kind: Kind) throws(SignInError) -> [String] {
        var query = query(of: kind)
        query[kSecReturnAttributes] = true
        query[kSecMatchLimit] = kSecMatchLimitAll
        let found = try copy(query) as? [[String: Any]] ?? []
        return found.compactMap { $0[kSecAttrAccount as String] as? String }
    }

    /// - Returns: Nil if there is nothing.
    static func copy(_ query: [CFString: Any]) throws(SignInError) -> CFTypeRef? {
        var found: CFTypeRef?
        let status = unsafe SecItemCopyMatching(query as CFDictionary, &found)
        if status == errSecItemNotFound { return nil }
        try check(status)
        return found
    }

    static func check(_ status: OSStatus, _ tolerated: OSStatus = errSecSuccess) throws(SignInError) {
        guard status != errSecSuccess, status != tolerated else { return }
        guard case .other(let error) = KeyUseFailure(status: status) else { throw .keychain(status) }
        throw error
    }
}
