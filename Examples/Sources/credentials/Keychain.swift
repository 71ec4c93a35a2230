import Foundation
import LocalAuthentication
import Outcome
import Security

extension Credentials {
    /// Adds a credential or, where the server has one for this account, replaces its password.
    static func save(_ credential: Credential, server: String, _ protection: Protection) throws {
        let item: [String: Any] = [
            kSecClass as String: kSecClassInternetPassword,
            kSecAttrAccount as String: credential.account,
            kSecAttrServer as String: server,
            kSecAttrSynchronizable as String: protection == .synchronizable,
        ]
        let context = LAContext()
        context.localizedReason = "change your password for \(server)"

        var attributes = item
        attributes[kSecValueData as String] = Data(credential.password.utf8)
        attributes[kSecUseAuthenticationContext as String] = context
        switch protection {
        case .owner: attributes[kSecAttrAccessControl as String] = try ownerIsPresent()
        case .unprotected: attributes[kSecAttrAccessible as String] = kSecAttrAccessibleWhenUnlockedThisDeviceOnly
        case .synchronizable: attributes[kSecAttrAccessible as String] = kSecAttrAccessibleWhenUnlocked
        }

        let added = SecItemAdd(attributes as CFDictionary, nil)
        try check("SecItemAdd", added, tolerating: errSecDuplicateItem)
        guard added == errSecDuplicateItem else { return }

        var query = item
        query[kSecUseAuthenticationContext as String] = context
        let change: [String: Any] = [kSecValueData as String: Data(credential.password.utf8)]
        try check("SecItemUpdate", SecItemUpdate(query as CFDictionary, change as CFDictionary))
    }

    /// Reads the credential for a server.
    ///
    /// A finger that unlocked the device less than `reuseDuration` seconds ago will do.
    static func read(server: String, reuseDuration: TimeInterval) throws -> Credential {
        let context = LAContext()
        context.localizedReason = "sign in to \(server)"
        context.touchIDAuthenticationAllowableReuseDuration = reuseDuration

        let query: [String: Any] = [
            kSecClass as String: kSecClassInternetPassword,
            kSecAttrServer as String: server,
            kSecAttrSynchronizable as String: kSecAttrSynchronizableAny,
            kSecMatchLimit as String: kSecMatchLimitOne,
            kSecReturnAttributes as String: true,
            kSecReturnData as String: true,
            kSecUseAuthenticationContext as String: context,
        ]
        var item: CFTypeRef?
        try check("SecItemCopyMatching", SecItemCopyMatching(query as CFDictionary, &item))

        guard let found = item as? [String: Any],
            let account = found[kSecAttrAccount as String] as? String,
            let data = found[kSecValueData as String] as? Data,
            let password = String(data: data, encoding: .utf8)
        else {
            throw KeychainError(status: errSecDecode)
        }
        return Credential(account: account, password: password)
    }

    /// Lists what can be listed without troubling the owner: protected items are left out, not asked for.
    static func search() throws {
        let query: [String: Any] = [
            kSecClass as String: kSecClassInternetPassword,
            kSecAttrSynchronizable as String: kSecAttrSynchronizableAny,
            kSecMatchLimit as String: kSecMatchLimitAll,
            kSecReturnAttributes as String: true,
            kSecUseAuthenticationUI as String: kSecUseAuthenticationUISkip,
        ]
        var items: CFTypeRef?
        try check("SecItemCopyMatching", SecItemCopyMatching(query as CFDictionary, &items))

        for item in items as? [[String: Any]] ?? [] {
            let account = item[kSecAttrAccount as String] as? String ?? ""
            let server = item[kSecAttrServer as String] as? String ?? ""
            print("\(account) at \(server)")
        }
    }

    /// Deletes every credential for a server.
    ///
    /// Deleting asks for nobody: what is protected is the secret.
    static func delete(server: String) throws {
        let query: [String: Any] = [
            kSecClass as String: kSecClassInternetPassword,
            kSecAttrServer as String: server,
            kSecAttrSynchronizable as String: kSecAttrSynchronizableAny,
        ]
        try check("SecItemDelete", SecItemDelete(query as CFDictionary))
    }

    /// Who has to be there, and where the item may live: only on this device, only while it has a passcode.
    private static func ownerIsPresent() throws -> SecAccessControl {
        guard
            let accessControl = SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, .userPresence, nil)
        else { throw KeychainError(status: errSecParam) }
        return accessControl
    }

    private static func check(_ call: String, _ status: OSStatus, tolerating tolerated: OSStatus? = nil) throws {
        print("\(call): \(description(of: status))")
        guard status == errSecSuccess || status == tolerated else { throw KeychainError(status: status) }
    }
}
