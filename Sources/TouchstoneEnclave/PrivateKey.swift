import Crypto
import Foundation
import TouchstoneCore

/// A private key outside of its blob, for the length of one operation.
enum PrivateKey {
    /// Signs and exchanges keys with the same number.
    case p256(P256.Signing.PrivateKey)

    init(_ kind: KeyInterface.Kind) {
        switch kind {
        case .p256: self = .p256(P256.Signing.PrivateKey(compactRepresentable: false))
        }
    }

    /// nil where the bytes are no such key.
    init?(_ kind: KeyInterface.Kind, rawRepresentation: Data) {
        switch kind {
        case .p256:
            guard let key = try? P256.Signing.PrivateKey(rawRepresentation: rawRepresentation) else { return nil }
            self = .p256(key)
        }
    }

    /// What the blob keeps; whoever asks erases it.
    var rawRepresentation: Data {
        switch self {
        case .p256(let key): key.rawRepresentation
        }
    }

    var publicKey: Data {
        switch self {
        case .p256(let key): key.publicKey.x963Representation
        }
    }

    /// - Throws: `.param` where the data is not what this kind of key signs.
    func signature(for data: Data) throws(Status) -> Data {
        switch self {
        case .p256(let key):
            guard let digest = GivenDigest(data), let signature = try? key.signature(for: digest) else { throw .param }
            return signature.rawRepresentation
        }
    }

    /// - Throws: `.param` where the public key is none of this kind.
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
        }
    }
}

extension KeyInterface.Kind {
    /// The kind as one byte of a blob.
    var number: UInt8 {
        switch self {
        case .p256: 1
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
