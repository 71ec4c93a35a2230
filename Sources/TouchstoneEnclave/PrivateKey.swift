import Crypto
import Foundation
import TouchstoneCore

/// A private key outside of its blob, for the length of one operation.
enum PrivateKey {
    /// Signs and exchanges keys with the same number.
    case p256(P256.Signing.PrivateKey)
    case mlkem768(MLKEM768.PrivateKey)
    case mlkem1024(MLKEM1024.PrivateKey)
    case mldsa65(MLDSA65.PrivateKey)
    case mldsa87(MLDSA87.PrivateKey)
    /// Of P-256: no number is here.
    case held(HeldKey, publicKey: Data)

    /// Makes a key from bytes of this source.
    ///
    /// - Throws: `.internalError` for a source that gives no number of the curve.
    init(_ kind: KeyKind, _ random: any RandomSource) throws(Status) {
        // Of P-256 one of 2^32 is 0 or past the last number; every seed is one of ML-KEM and ML-DSA.
        for _ in 0..<Self.attempts {
            var bytes = random.bytes(count: kind.rawBytes)
            defer { bytes.resetBytes(in: 0..<bytes.count) }
            if let key = PrivateKey(kind, rawRepresentation: bytes) {
                self = key
                return
            }
        }
        throw .internalError
    }

    private static let attempts = 8

    /// nil where the bytes are no such key.
    init?(_ kind: KeyKind, rawRepresentation: Data) {
        let seed = rawRepresentation
        do {
            switch kind {
            case .p256: self = .p256(try P256.Signing.PrivateKey(rawRepresentation: rawRepresentation))
            case .mlkem768: self = .mlkem768(try MLKEM768.PrivateKey(seedRepresentation: seed, publicKey: nil))
            case .mlkem1024: self = .mlkem1024(try MLKEM1024.PrivateKey(seedRepresentation: seed, publicKey: nil))
            case .mldsa65: self = .mldsa65(try MLDSA65.PrivateKey(seedRepresentation: seed, publicKey: nil))
            case .mldsa87: self = .mldsa87(try MLDSA87.PrivateKey(seedRepresentation: seed, publicKey: nil))
            }
        } catch {
            return nil
        }
    }

    /// What the blob keeps, of ML-KEM and ML-DSA the seed; whoever asks erases it.
    var rawRepresentation: Data {
        switch self {
        case .p256(let key): key.rawRepresentation
        case .mlkem768(let key): key.seedRepresentation
        case .mlkem1024(let key): key.seedRepresentation
        case .mldsa65(let key): key.seedRepresentation
        case .mldsa87(let key): key.seedRepresentation
        case .held(let key, _): key.rawRepresentation
        }
    }

    var isHeld: Bool { if case .held = self { true } else { false } }

    var publicKey: Data {
        switch self {
        case .p256(let key): key.publicKey.x963Representation
        case .mlkem768(let key): key.publicKey.rawRepresentation
        case .mlkem1024(let key): key.publicKey.rawRepresentation
        case .mldsa65(let key): key.publicKey.rawRepresentation
        case .mldsa87(let key): key.publicKey.rawRepresentation
        case .held(_, let publicKey): publicKey
        }
    }

    /// Whether it is an uncompressed point of P-256.
    static func isPoint(_ bytes: Data) -> Bool {
        bytes.count == 65 && (try? P256.KeyAgreement.PublicKey(x963Representation: bytes)) != nil
    }

    /// - Throws: `.param` where the data is not what this kind of key signs.
    func signature(for data: Data) throws(Status) -> Data {
        switch self {
        case .p256(let key):
            guard let digest = GivenDigest(data), let signature = try? key.signature(for: digest) else { throw .param }
            return signature.rawRepresentation
        default: throw .param
        }
    }

    /// - Throws: `.param` if the public key is not of this kind.
    func sharedSecret(with publicKey: Data) throws(Status) -> Data {
        switch self {
        case .p256:
            var number = rawRepresentation
            defer { number.resetBytes(in: 0..<number.count) }
            guard publicKey.count == 65,
                let other = try? P256.KeyAgreement.PublicKey(x963Representation: publicKey),
                let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: number),
                let secret = try? key.sharedSecretFromKeyAgreement(with: other)
            else { throw .param }
            return unsafe secret.withUnsafeBytes { unsafe Data($0) }
        default: throw .param
        }
    }
}

extension KeyKind {
    /// The kind as one byte of a blob.
    var number: UInt8 {
        switch self {
        case .p256: 1
        case .mlkem768: 2
        case .mlkem1024: 3
        case .mldsa65: 4
        case .mldsa87: 5
        }
    }

    /// Bytes of the number of P-256, or of the seed.
    fileprivate var rawBytes: Int {
        switch self {
        case .p256, .mldsa65, .mldsa87: 32
        case .mlkem768, .mlkem1024: 64
        }
    }

    init?(number: UInt8) {
        guard let kind = Self.allCases.first(where: { $0.number == number }) else { return nil }
        self = kind
    }
}

/// A digest that the app made, as long as a number of the curve.
private struct GivenDigest: Digest {
    static let byteCount = 32

    private let data: Data

    init?(_ data: Data) {
        guard data.count == Self.byteCount else { return nil }
        self.data = data
    }

    var description: String { "digest of \(data.count) bytes" }

    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try unsafe data.withUnsafeBytes(body)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(data) }
}
