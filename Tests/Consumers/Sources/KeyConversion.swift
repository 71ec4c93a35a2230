// swift-format-ignore-file: written as iOS apps are, force unwraps included.

#if canImport(CryptoKit)
import CryptoKit
import Foundation
import LocalAuthentication
import Security

// Keys that go into the keychain in their bytes: those of the enclave in the form that only it can use.

extension Curve25519.KeyAgreement.PrivateKey: RawKey {
    init<Bytes: ContiguousBytes>(raw: Bytes) throws { try self.init(rawRepresentation: raw) }
    var raw: Data { return rawRepresentation }
}

extension Curve25519.Signing.PrivateKey: RawKey {
    init<Bytes: ContiguousBytes>(raw: Bytes) throws { try self.init(rawRepresentation: raw) }
    var raw: Data { return rawRepresentation }
}

extension SymmetricKey: RawKey {
    init<Bytes: ContiguousBytes>(raw: Bytes) throws { self.init(data: raw) }
    var raw: Data { return data }
}

extension SecureEnclave.P256.Signing.PrivateKey: RawKey {
    init<Bytes: ContiguousBytes>(raw: Bytes) throws { try self.init(dataRepresentation: raw.data) }
    var raw: Data { return dataRepresentation }
}

extension SecureEnclave.P256.KeyAgreement.PrivateKey: RawKey {
    init<Bytes: ContiguousBytes>(raw: Bytes) throws { try self.init(dataRepresentation: raw.data) }
    var raw: Data { return dataRepresentation }
}

/// A key that the keychain can hold as a key.
protocol KeychainKey {
    init<Bytes: ContiguousBytes>(x963Representation: Bytes) throws
    var x963Representation: Data { get }
}

extension P256.Signing.PrivateKey: KeychainKey {}
extension P256.KeyAgreement.PrivateKey: KeychainKey {}
extension P384.Signing.PrivateKey: KeychainKey {}
extension P521.Signing.PrivateKey: KeychainKey {}

struct KeychainKeyStore {
    func add<Key: KeychainKey>(_ key: Key, label: String) throws {
        let attributes =
            [kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeyClass: kSecAttrKeyClassPrivate]
            as [String: Any]
        var error: Unmanaged<CFError>?
        guard let secKey = SecKeyCreateWithData(key.x963Representation as CFData, attributes as CFDictionary, &error)
        else {
            throw error!.takeRetainedValue() as Error
        }
        let query =
            [
                kSecClass: kSecClassKey, kSecAttrApplicationLabel: label, kSecUseDataProtectionKeychain: true,
                kSecValueRef: secKey,
            ] as [String: Any]
        let status = SecItemAdd(query as CFDictionary, nil)
        guard status == errSecSuccess else { throw RawKeyFailure(description: "cannot add the key: \(status.text)") }
    }

    func read<Key: KeychainKey>(_ label: String) throws -> Key? {
        let query =
            [
                kSecClass: kSecClassKey, kSecAttrApplicationLabel: label,
                kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom,
                kSecUseDataProtectionKeychain: true, kSecReturnRef: true,
            ] as [String: Any]
        var item: CFTypeRef?
        switch SecItemCopyMatching(query as CFDictionary, &item) {
        case errSecSuccess: break
        case errSecItemNotFound: return nil
        case let status: throw RawKeyFailure(description: "cannot read the key: \(status.text)")
        }
        var error: Unmanaged<CFError>?
        guard let data = SecKeyCopyExternalRepresentation(item as! SecKey, &error) as Data? else {
            throw error!.takeRetainedValue()
        }
        return try Key(x963Representation: data)
    }
}

/// Two people who write to one another, each with a key in an enclave: what one seals only the other opens.
struct Correspondent {
    let agreement: SecureEnclave.P256.KeyAgreement.PrivateKey
    let signing: SecureEnclave.P256.Signing.PrivateKey

    struct Letter {
        let sealed: Data
        let signature: Data
    }

    /// Nil if there is no enclave: the app then has to do without.
    init?() throws {
        guard SecureEnclave.isAvailable else { return nil }
        agreement = try SecureEnclave.P256.KeyAgreement.PrivateKey()
        var error: Unmanaged<CFError>?
        guard
            let control = SecAccessControlCreateWithFlags(
                kCFAllocatorDefault, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly,
                [.privateKeyUsage, .userPresence], &error)
        else {
            throw error!.takeRetainedValue() as Error
        }
        signing = try SecureEnclave.P256.Signing.PrivateKey(accessControl: control)
    }

    func save(to store: RawKeyStore, as name: String) throws {
        try store.add(agreement, account: "\(name).agreement")
        try store.add(signing, account: "\(name).signing")
    }

    init?(from store: RawKeyStore, as name: String) throws {
        guard let agreement: SecureEnclave.P256.KeyAgreement.PrivateKey = try store.read("\(name).agreement"),
            let signing: SecureEnclave.P256.Signing.PrivateKey = try store.read("\(name).signing")
        else { return nil }
        self.agreement = agreement
        self.signing = signing
    }

    func write(_ text: String, to reader: P256.KeyAgreement.PublicKey) throws -> Letter {
        let sealed = try ChaChaPoly.seal(Data(text.utf8), using: key(with: reader)).combined
        return Letter(sealed: sealed, signature: try signing.signature(for: sealed).derRepresentation)
    }

    func read(_ letter: Letter, from writer: Correspondent) throws -> String? {
        let signature = try P256.Signing.ECDSASignature(derRepresentation: letter.signature)
        guard writer.signing.publicKey.isValidSignature(signature, for: letter.sealed) else { return nil }
        let box = try ChaChaPoly.SealedBox(combined: letter.sealed)
        return String(decoding: try ChaChaPoly.open(box, using: key(with: writer.agreement.publicKey)), as: UTF8.self)
    }

    private func key(with other: P256.KeyAgreement.PublicKey) throws -> SymmetricKey {
        let secret = try agreement.sharedSecretFromKeyAgreement(with: other)
        return secret.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: Data("letters".utf8), sharedInfo: Data(), outputByteCount: 32)
    }
}

/// What an app says of a failed signature.
func explanation(of error: Error) -> String {
    switch error {
    case LAError.userCancel: return "cancelled"
    case let error as LAError: return "not authenticated: \(error.code.rawValue)"
    case CryptoKitError.unwrapFailure: return "not a key of this device"
    case CryptoKitError.underlyingCoreCryptoError(let code): return "failed: \(code)"
    default: return "\(error)"
    }
}
#endif
