// swift-format-ignore-file: written as iOS apps are, force unwraps included.

import Foundation
import Security

/// A key that has a form in bytes.
protocol RawKey {
    init<Bytes: ContiguousBytes>(raw: Bytes) throws
    var raw: Data { get }
}

extension ContiguousBytes {
    /// The bytes without a copy that outlives them.
    var data: Data {
        return withUnsafeBytes { bytes in
            let data = CFDataCreateWithBytesNoCopy(
                nil, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, kCFAllocatorNull)
            return ((data as NSData?) as Data?) ?? Data()
        }
    }
}

extension OSStatus {
    var text: String { return (SecCopyErrorMessageString(self, nil) as String?) ?? String(self) }
}

struct RawKeyFailure: Error, CustomStringConvertible {
    let description: String
}

/// Keys that are no `SecKey`, as generic passwords.
struct RawKeyStore {
    func add<Key: RawKey>(_ key: Key, account: String) throws {
        let query =
            [
                kSecClass: kSecClassGenericPassword,
                kSecAttrAccount: account,
                kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked,
                kSecUseDataProtectionKeychain: true,
                kSecValueData: key.raw,
            ] as [String: Any]
        let status = SecItemAdd(query as CFDictionary, nil)
        guard status == errSecSuccess else {
            throw RawKeyFailure(description: "cannot add the key: \(status.text)")
        }
    }

    func read<Key: RawKey>(_ account: String) throws -> Key? {
        let query =
            [
                kSecClass: kSecClassGenericPassword,
                kSecAttrAccount: account,
                kSecUseDataProtectionKeychain: true,
                kSecReturnData: true,
            ] as [String: Any]
        var item: CFTypeRef?
        switch SecItemCopyMatching(query as CFDictionary, &item) {
        case errSecSuccess:
            guard let item = item, CFGetTypeID(item) == CFDataGetTypeID() else { return nil }
            let data = item as! CFData
            return try Key(raw: Data(bytes: CFDataGetBytePtr(data), count: CFDataGetLength(data)))
        case errSecItemNotFound: return nil
        case let status: throw RawKeyFailure(description: "cannot read the key: \(status.text)")
        }
    }

    func delete(_ account: String) throws {
        let query =
            [
                kSecClass: kSecClassGenericPassword,
                kSecUseDataProtectionKeychain: true,
                kSecAttrAccount: account,
            ] as [String: Any]
        switch SecItemDelete(query as CFDictionary) {
        case errSecItemNotFound, errSecSuccess: break
        case let status: throw RawKeyFailure(description: "cannot delete the key: \(status.text)")
        }
    }
}
