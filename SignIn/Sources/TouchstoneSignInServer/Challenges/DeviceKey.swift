import Crypto
import Foundation

/// A device's public key: P-256, SubjectPublicKeyInfo, in the one form that it has (NP-03, NP-16).
struct DeviceKey: Sendable {
    /// SubjectPublicKeyInfo, DER, with the uncompressed point.
    let der: Data
    private let key: P256.Signing.PublicKey

    /// SHA-256 of the SubjectPublicKeyInfo.
    var id: Data { der.hashed }

    /// Nil for anything but a P-256 key that is written as OpenSSL and CryptoKit write it: other curves, a point that is
    /// not on the curve, compressed points, explicit parameters, bytes after it.
    init?(pem: String) {
        guard pem.utf8.count <= 512, let key = try? P256.Signing.PublicKey(pemRepresentation: pem),
            Self.characters(of: key.pemRepresentation) == Self.characters(of: pem)
        else { return nil }
        self.key = key
        der = key.derRepresentation
    }

    init?(der: Data) {
        // Bytes that are always the same need no parser, and have no second form.
        guard der.starts(with: Self.beforePoint),
            let key = try? P256.Signing.PublicKey(rawRepresentation: der.dropFirst(Self.beforePoint.count))
        else { return nil }
        self.key = key
        self.der = der
    }

    /// A SubjectPublicKeyInfo up to x and y: its lengths, ecPublicKey on prime256v1, and that the point is uncompressed
    /// (RFC 5480, 2).
    private static let beforePoint = Data([
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
        0xCE,
        0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
    ])

    func verifies(_ signature: StrictSignature, of message: Data) -> Bool {
        key.isValidSignature(signature.value, for: message)
    }

    private static func characters(of pem: String) -> String { pem.filter { !$0.isWhitespace } }
}
