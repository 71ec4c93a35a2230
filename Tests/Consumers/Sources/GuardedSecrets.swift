// swift-format-ignore-file: written as iOS apps are, force unwraps included.

import Foundation
import LocalAuthentication
import Security

/// Secrets that the owner has to open.
///
/// After one prompt they stay open until `close` is called.
final class GuardedSecrets: @unchecked Sendable {
    private let lock = NSLock()
    private var context = LAContext()
    private let service: String
    private let flags: SecAccessControlCreateFlags

    init(service: String, flags: SecAccessControlCreateFlags = .userPresence) {
        self.service = service
        self.flags = flags
    }

    func set(_ secret: Data, for account: String) throws {
        // Deleted first: changing an item asks its owner, deleting it does not.
        SecItemDelete(query(account) as CFDictionary)
        var error: Unmanaged<CFError>?
        guard
            let control = SecAccessControlCreateWithFlags(
                kCFAllocatorDefault, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, flags, &error)
        else { throw error!.takeRetainedValue() as Error }
        var item = query(account)
        item[kSecAttrAccessControl as String] = control
        item[kSecValueData as String] = secret
        let status = SecItemAdd(item as CFDictionary, nil)
        guard status == errSecSuccess else {
            throw NSError(domain: NSOSStatusErrorDomain, code: Int(status), userInfo: nil)
        }
    }

    func secret(_ account: String, prompt: String) throws -> Data? {
        return try synchronized {
            var query = self.query(account)
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            query[kSecReturnData as String] = true
            query[kSecUseOperationPrompt as String] = prompt
            query[kSecUseAuthenticationContext as String] = context
            var result: AnyObject? = nil
            let status = SecItemCopyMatching(query as CFDictionary, &result)
            switch status {
            case errSecSuccess: return result as? Data
            case errSecItemNotFound: return nil
            default: throw NSError(domain: NSOSStatusErrorDomain, code: Int(status), userInfo: nil)
            }
        }
    }

    /// Whether there is such a secret, which nobody is asked for.
    func contains(_ account: String) -> Bool {
        var query = self.query(account)
        query[kSecReturnData as String] = true
        query[kSecUseAuthenticationUI as String] = kSecUseAuthenticationUIFail
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        return status == errSecSuccess || status == errSecInteractionNotAllowed
    }

    /// The same by way of a context that may not ask.
    func exists(_ account: String) throws -> Bool {
        let silent = LAContext()
        silent.interactionNotAllowed = true
        defer { silent.invalidate() }
        var query = self.query(account)
        query[kSecReturnData as String] = kCFBooleanTrue
        query[kSecUseAuthenticationContext as String] = silent
        var result: CFTypeRef?
        switch SecItemCopyMatching(query as CFDictionary, &result) {
        case noErr, errSecInteractionNotAllowed: return true
        case errSecItemNotFound: return false
        case let status: throw NSError(domain: NSOSStatusErrorDomain, code: Int(status))
        }
    }

    func close() {
        synchronized {
            context.invalidate()
            context = LAContext()
        }
    }

    private func synchronized<T>(_ body: () throws -> T) rethrows -> T {
        lock.lock()
        defer { lock.unlock() }
        return try body()
    }

    private func query(_ account: String) -> [String: AnyHashable] {
        return [
            kSecClass as String: kSecClassGenericPassword as String,
            kSecAttrService as String: service,
            kSecAttrAccount as String: account,
        ]
    }
}
