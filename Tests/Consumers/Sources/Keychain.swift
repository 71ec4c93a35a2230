// swift-format-ignore-file: written as iOS apps are, force unwraps included.

import Foundation
import Security

/// A keychain wrapper as iOS apps have them: nothing in here knows of Linux.
struct Keychain {
    let service: String

    enum Failure: Error, Equatable {
        case status(OSStatus)
    }

    func set(_ value: Data, for account: String) throws {
        var query = base(account)
        query[kSecValueData as String] = value
        query[kSecAttrAccessible as String] = kSecAttrAccessibleWhenUnlockedThisDeviceOnly
        let status = SecItemAdd(query as CFDictionary, nil)
        switch status {
        case errSecSuccess, noErr: return
        case errSecDuplicateItem:
            SecItemDelete(base(account) as CFDictionary)
            try set(value, for: account)
        default: throw Failure.status(status)
        }
    }

    func data(for account: String) throws -> Data? {
        var query = base(account)
        query[kSecReturnData as String] = kCFBooleanTrue
        query[kSecMatchLimit as String] = kSecMatchLimitOne
        var result: AnyObject?
        let status = withUnsafeMutablePointer(to: &result) {
            SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
        }
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess else { throw Failure.status(status) }
        return result as? Data
    }

    func accounts() throws -> [String] {
        let query: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecMatchLimit: kSecMatchLimitAll,
            kSecReturnAttributes: true,
        ]
        var items: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &items)
        guard status == errSecSuccess else { throw Failure.status(status) }
        return (items as? [[String: Any]])?.compactMap { $0[kSecAttrAccount as String] as? String } ?? []
    }

    func protect(_ account: String) throws -> SecAccessControl {
        var error: Unmanaged<CFError>?
        guard
            let control = SecAccessControlCreateWithFlags(
                kCFAllocatorDefault, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly,
                [.biometryCurrentSet, .or, .devicePasscode], &error)
        else { throw error!.takeRetainedValue() as Error }
        return control
    }

    func refused() -> Error? {
        var error: Unmanaged<CFError>?
        guard SecAccessControlCreateWithFlags(nil, "x" as CFString, .userPresence, &error) == nil else { return nil }
        return error!.takeRetainedValue()
    }

    static func token() -> Data? {
        var bytes = [UInt8](repeating: 0, count: 32)
        guard SecRandomCopyBytes(kSecRandomDefault, bytes.count, &bytes) == errSecSuccess else { return nil }
        return Data(bytes)
    }

    static func message(_ status: OSStatus) -> String? {
        SecCopyErrorMessageString(status, nil) as String?
    }

    private func base(_ account: String) -> [String: Any] {
        [
            String(kSecClass): kSecClassGenericPassword, String(kSecAttrService): service,
            String(kSecAttrAccount): account,
        ]
    }
}
