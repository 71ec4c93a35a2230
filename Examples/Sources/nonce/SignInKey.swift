import CryptoKit
import Foundation
import LocalAuthentication
import Security

/// The key that signs in: made in the Secure Enclave, kept by the keychain in the form that only this enclave can use.
enum SignInKey {
    typealias Key = SecureEnclave.P256.Signing.PrivateKey

    private static var item: [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: "nonce",
            kSecAttrAccount as String: "sign-in key",
        ]
    }

    /// Makes a key for the fingers that are enrolled now, in place of the one before.
    static func make() throws -> Key {
        let accessControl = SecAccessControlCreateWithFlags(
            nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, [.privateKeyUsage, .biometryCurrentSet], nil)!
        let key = try Key(accessControl: accessControl)
        SecItemDelete(item as CFDictionary)
        var added = item
        added[kSecAttrAccessible as String] = kSecAttrAccessibleWhenUnlockedThisDeviceOnly
        added[kSecValueData as String] = key.dataRepresentation
        try check(SecItemAdd(added as CFDictionary, nil))
        return key
    }

    /// Finds the key, which shows no prompt; `prompt` is for its use.
    static func find(prompt: String) throws -> Key {
        var query = item
        query[kSecReturnData as String] = true
        var result: CFTypeRef?
        try check(SecItemCopyMatching(query as CFDictionary, &result))
        let context = LAContext()
        context.localizedReason = prompt
        return try Key(dataRepresentation: result as! Data, authenticationContext: context)
    }

    static func delete() throws {
        try check(SecItemDelete(item as CFDictionary))
    }

    private static func check(_ status: OSStatus) throws {
        guard status == errSecSuccess else { throw NSError(domain: NSOSStatusErrorDomain, code: Int(status)) }
    }
}
