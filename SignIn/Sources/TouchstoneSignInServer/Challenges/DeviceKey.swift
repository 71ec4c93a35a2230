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
        guard let key = try? P256.Signing.PublicKey(derRepresentation: der), key.derRepresentation == der else {
            return nil
        }
        self.key = key
        self.der = der
    }

    func verifies(_ signature: StrictSignature, of message: Data) -> Bool {
        key.isValidSignature(signature.value, for: message)
    }

    private static func characters(of pem: String) -> String { pem.filter { !$0.isWhitespace } }
}
