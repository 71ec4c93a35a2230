import Crypto
import Foundation

#if canImport(TouchstoneSecurity)
import TouchstoneCoreFoundation
import TouchstoneSecurity
#else
import Security
#endif

/// Device keys: P-256 in the Secure Enclave, for the fingers or faces that were enrolled when they were made, and none without a passcode
/// (NP-02, AC-20).
@available(macOS 14, iOS 17, *)
enum EnclaveKeys {
    /// Makes a key; `label` is what the prompt calls it, and what finds all keys for one server.
    static func make(label: String) throws -> NewKey {
        let tag = "io.touchstone.sign-in." + UUID().uuidString
        var error: Unmanaged<CFError>?
        guard
            let control = unsafe SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, [.privateKeyUsage, .biometryCurrentSet], &error)
        else { throw unsafe failure(error) }
        let parameters: [CFString: Any] = [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
            kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, kSecUseDataProtectionKeychain: true,
            kSecPrivateKeyAttrs: [
                kSecAttrIsPermanent: true, kSecAttrApplicationTag: Data(tag.utf8), kSecAttrLabel: label,
                kSecAttrAccessControl: control,
            ] as [CFString: Any],
        ]
        guard let key = unsafe SecKeyCreateRandomKey(parameters as CFDictionary, &error) else {
            throw unsafe failure(error)
        }
        guard let publicKey = SecKeyCopyPublicKey(key),
            let point = unsafe SecKeyCopyExternalRepresentation(publicKey, &error) as Data?
        else { throw unsafe failure(error) }
        return NewKey(tag: tag, publicKey: try P256.Signing.PublicKey(x963Representation: point))
    }

    /// Asks the owner.
    ///
    /// - Throws: ``KeyUseFailure``.
    static func sign(_ message: Data, tag: String, prompt: Prompt) throws(KeyUseFailure) -> Data {
        var query = query(tag: tag)
        query[kSecReturnRef] = true
        query[kSecUseAuthenticationContext] = prompt.context
        var found: CFTypeRef?
        let status = unsafe SecItemCopyMatching(query as CFDictionary, &found)
        guard status == errSecSuccess, let found else {
            throw Self.failure(KeyUseFailure(status: status), prompt)
        }
        // The query is for a key and asks for a reference.
        let key = found as! SecKey
        var error: Unmanaged<CFError>?
        guard
            let signature = unsafe SecKeyCreateSignature(
                key, .ecdsaSignatureMessageX962SHA256, message as CFData, &error) as Data?
        else { throw Self.failure(unsafe failure(error), prompt) }
        return signature
    }

    /// A question that was taken back was cancelled, whatever it ended with.
    private static func failure(_ failure: KeyUseFailure, _ prompt: Prompt) -> KeyUseFailure {
        guard case .other = failure, prompt.isCancelled else { return failure }
        return .other(.cancelled)
    }

    static func tags(label: String) throws(SignInError) -> [String] {
        let query: [CFString: Any] = [
            kSecClass: kSecClassKey, kSecAttrKeyClass: kSecAttrKeyClassPrivate, kSecAttrLabel: label,
            kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, kSecUseDataProtectionKeychain: true,
            kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true,
        ]
        let found = try Item.copy(query) as? [[String: Any]] ?? []
        return found.compactMap { $0[kSecAttrApplicationTag as String] as? Data }
            .map { String(decoding: $0, as: UTF8.self) }
            .filter { $0.hasPrefix("io.touchstone.sign-in.") }
    }

    static func delete(tag: String) throws(SignInError) {
        try Item.check(SecItemDelete(query(tag: tag) as CFDictionary), errSecItemNotFound)
    }

    private static func query(tag: String) -> [CFString: Any] {
        [
            kSecClass: kSecClassKey, kSecAttrKeyClass: kSecAttrKeyClassPrivate,
            kSecAttrApplicationTag: Data(tag.utf8), kSecUseDataProtectionKeychain: true,
        ]
    }

    private static func failure(_ error: Unmanaged<CFError>?) -> KeyUseFailure {
        guard let error = unsafe error?.takeRetainedValue() else { return .other(.keychain(errSecInternalError)) }
        return KeyUseFailure(error as any Error as NSError)
    }
}
