import Foundation
import LocalAuthentication
import Security

/// The key of the notes: made in the Secure Enclave, found by its tag.
enum NoteKey {
    private static let algorithm = SecKeyAlgorithm.eciesEncryptionCofactorVariableIVX963SHA256AESGCM

    private static var item: [String: Any] {
        [
            kSecClass as String: kSecClassKey,
            kSecAttrKeyClass as String: kSecAttrKeyClassPrivate,
            kSecAttrApplicationTag as String: Data("enclave-note".utf8),
        ]
    }

    /// Makes the key for the fingers that are enrolled now.
    ///
    /// Shows no prompt.
    static func make() throws -> SecKey {
        var error: Unmanaged<CFError>?
        guard
            let accessControl = SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, [.privateKeyUsage, .biometryCurrentSet], &error),
            let key = SecKeyCreateRandomKey(
                [
                    kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom,
                    kSecAttrKeySizeInBits as String: 256,
                    kSecAttrTokenID as String: kSecAttrTokenIDSecureEnclave,
                    kSecPrivateKeyAttrs as String: [
                        kSecAttrIsPermanent as String: true,
                        kSecAttrApplicationTag as String: Data("enclave-note".utf8),
                        kSecAttrLabel as String: "Notes",
                        kSecAttrAccessControl as String: accessControl,
                    ] as [String: Any],
                ] as CFDictionary, &error)
        else { throw failure(error) }
        return key
    }

    /// Finds the key, which shows no prompt; `prompt` is for its use.
    static func find(prompt: String = "") throws -> SecKey? {
        let context = LAContext()
        context.localizedReason = prompt
        var query = item
        query[kSecReturnRef as String] = true
        query[kSecUseAuthenticationContext as String] = context
        var result: CFTypeRef?
        switch SecItemCopyMatching(query as CFDictionary, &result) {
        case errSecSuccess: return (result as! SecKey)
        case errSecItemNotFound: return nil
        case let status: throw NSError(domain: NSOSStatusErrorDomain, code: Int(status))
        }
    }

    static func delete() throws {
        let status = SecItemDelete(item as CFDictionary)
        guard status == errSecSuccess else { throw NSError(domain: NSOSStatusErrorDomain, code: Int(status)) }
    }

    static func encrypt(_ note: Data, to key: SecKey) throws -> Data {
        var error: Unmanaged<CFError>?
        guard let publicKey = SecKeyCopyPublicKey(key),
            let encrypted = SecKeyCreateEncryptedData(publicKey, algorithm, note as CFData, &error)
        else { throw failure(error) }
        return encrypted as Data
    }

    /// Blocks while the owner is asked.
    static func decrypt(_ encrypted: Data, with key: SecKey) throws -> Data {
        var error: Unmanaged<CFError>?
        guard let note = SecKeyCreateDecryptedData(key, algorithm, encrypted as CFData, &error) else {
            throw failure(error)
        }
        return note as Data
    }

    private static func failure(_ error: Unmanaged<CFError>?) -> any Error {
        if let error { return error.takeRetainedValue() }
        return NSError(domain: NSOSStatusErrorDomain, code: Int(errSecInternalError))
    }
}
