internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import TouchstoneCBOR

/// How a client and the authenticator agree on a key: PIN/UV auth protocol one and two of CTAP, for tokens (FD-55) and hmac-secret (FD-15).
enum PINProtocol: Int, Hashable, Sendable {
    case one = 1
    case two = 2

    /// Two keys, one to authenticate and one to encrypt; with the first protocol they are the same.
    struct Keys {
        var authentication: SymmetricKey
        var encryption: SymmetricKey
    }

    /// - Throws: `CTAPStatus.invalidParameter`: the client's half is not on the curve.
    func keys(_ own: P256.KeyAgreement.PrivateKey, with share: [UInt8]) throws(CTAPStatus) -> Keys {
        guard let other = try? P256.KeyAgreement.PublicKey(x963Representation: share),
            let agreed = try? own.sharedSecretFromKeyAgreement(with: other)
        else { throw .invalidParameter }
        return keys(agreed)
    }

    func keys(_ agreed: SharedSecret) -> Keys {
        switch self {
        case .one:
            let key = unsafe agreed.withUnsafeBytes { unsafe SymmetricKey(data: SHA256.hash(data: Data($0))) }
            return Keys(authentication: key, encryption: key)
        case .two:
            func key(_ purpose: String) -> SymmetricKey {
                agreed.hkdfDerivedSymmetricKey(
                    using: SHA256.self, salt: Data(count: 32), sharedInfo: Data(purpose.utf8), outputByteCount: 32)
            }
            return Keys(authentication: key("CTAP2 HMAC key"), encryption: key("CTAP2 AES key"))
        }
    }

    private static let blockCount = 16

    /// - Throws: `CTAPStatus.pinAuthInvalid`.
    func check(_ tag: [UInt8], of message: [UInt8], _ key: SymmetricKey) throws(CTAPStatus) {
        let code = HMAC<SHA256>.authenticationCode(for: message, using: key)
        let expected = Array(code).prefix(self == .one ? 16 : 32)
        // In the same time whatever differs.
        guard tag.count == expected.count, zip(tag, expected).reduce(UInt8(0), { $0 | ($1.0 ^ $1.1) }) == 0 else {
            throw .pinAuthInvalid
        }
    }

    /// - Throws: `CTAPStatus.invalidLength`: not whole blocks.
    func decrypt(_ ciphertext: [UInt8], _ keys: Keys) throws(CTAPStatus) -> [UInt8] {
        let vector =
            self == .one ? [UInt8](repeating: 0, count: Self.blockCount) : Array(ciphertext.prefix(Self.blockCount))
        let rest = self == .one ? ciphertext[...] : ciphertext.dropFirst(Self.blockCount)
        do {
            let iv = try AES._CBC.IV(ivBytes: vector)
            return Array(try AES._CBC.decrypt(Data(rest), using: keys.encryption, iv: iv, noPadding: true))
        } catch {
            throw .invalidLength
        }
    }

    /// - Throws: `CTAPStatus.invalidLength`: not whole blocks.
    func encrypt(_ plaintext: [UInt8], _ keys: Keys) throws(CTAPStatus) -> [UInt8] {
        let vector =
            self == .one
            ? [UInt8](repeating: 0, count: Self.blockCount)
            : (0..<Self.blockCount).map { _ in UInt8.random(in: 0...255) }
        do {
            let iv = try AES._CBC.IV(ivBytes: vector)
            let text = try AES._CBC.encrypt(Data(plaintext), using: keys.encryption, iv: iv, noPadding: true)
            return (self == .one ? [] : vector) + Array(text)
        } catch {
            throw .invalidLength
        }
    }
}

/// What a client sends for the extension hmac-secret.
struct SecretRequest: Hashable, Sendable {
    /// The client's half of the agreement: an uncompressed point.
    var share: [UInt8]
    var encryptedSalts: [UInt8]
    var tag: [UInt8]
    var version: PINProtocol

    init(_ value: CBOR) throws(CTAPStatus) {
        let fields = try Parameters(value)
        share = try COSEKey.point(fields.needed(1))
        encryptedSalts = try fields.needed(2).asBytes(32...80)
        tag = try fields.needed(3).asBytes(16...32)
        guard let version = PINProtocol(rawValue: try fields[4]?.asNumber() ?? 1) else { throw .invalidParameter }
        self.version = version
    }

    /// The salts, one or two of 32 bytes each, and with what the answer is encrypted.
    ///
    /// - Throws: `CTAPStatus`.
    func open(_ own: P256.KeyAgreement.PrivateKey) throws(CTAPStatus) -> OpenedSecretRequest {
        let keys = try version.keys(own, with: share)
        try version.check(tag, of: encryptedSalts, keys.authentication)
        let salts = try version.decrypt(encryptedSalts, keys)
        guard salts.count == 32 || salts.count == 64 else { throw .invalidLength }
        return OpenedSecretRequest(salts: salts, version: version, keys: keys)
    }
}

struct OpenedSecretRequest {
    var salts: [UInt8]
    var version: PINProtocol
    var keys: PINProtocol.Keys

    /// The extension's answer: an HMAC of each salt, encrypted.
    func answer(_ secret: [UInt8]) throws(CTAPStatus) -> CBOR {
        let key = SymmetricKey(data: secret)
        let codes = stride(from: 0, to: salts.count, by: 32).flatMap {
            Array(HMAC<SHA256>.authenticationCode(for: salts[$0..<$0 + 32], using: key))
        }
        return .bytes(try version.encrypt(codes, keys))
    }
}
