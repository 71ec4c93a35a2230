import Foundation
import LocalAuthentication
import Security

/// A key of the enclave that only the owner's finger lets sign, with a context that has seen it.
struct FingerGuardedKey {
    private let key: SecKey
    private static let tag = Data("benchmark".utf8)

    /// Makes it, and finds it with the context.
    init(context: LAContext) throws {
        var error: Unmanaged<CFError>?
        guard
            let control = SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, [.privateKeyUsage, .biometryAny], &error),
            SecKeyCreateRandomKey(
                [
                    kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
                    kSecAttrTokenID: kSecAttrTokenIDSecureEnclave,
                    kSecPrivateKeyAttrs: [
                        kSecAttrIsPermanent: true, kSecAttrApplicationTag: Self.tag, kSecAttrAccessControl: control,
                    ] as [CFString: Any],
                ] as CFDictionary, &error) != nil
        else { throw Self.failure(error) }
        let query =
            [
                kSecClass: kSecClassKey, kSecAttrApplicationTag: Self.tag, kSecReturnRef: true,
                kSecUseAuthenticationContext: context,
            ] as CFDictionary
        var found: CFTypeRef?
        let status = SecItemCopyMatching(query, &found)
        guard status == errSecSuccess, let key = found as? SecKey else {
            throw NSError(domain: NSOSStatusErrorDomain, code: Int(status))
        }
        self.key = key
    }

    func sign(_ message: Data) throws {
        var error: Unmanaged<CFError>?
        guard SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, message as CFData, &error) != nil else {
            throw Self.failure(error)
        }
    }

    static func delete() {
        SecItemDelete([kSecClass: kSecClassKey, kSecAttrApplicationTag: tag] as CFDictionary)
    }

    private static func failure(_ error: Unmanaged<CFError>?) -> any Error {
        error?.takeRetainedValue() ?? NSError(domain: NSOSStatusErrorDomain, code: Int(errSecParam))
    }
}
