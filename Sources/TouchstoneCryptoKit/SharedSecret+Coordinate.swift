internal import Crypto
internal import Foundation

extension SharedSecret {
    /// Makes the secret that key agreement on P-256 gave, of which swift-crypto has no public initializer.
    ///
    /// The secret is the coordinate x of a point; so it is what the private key 1 agrees on with that point.
    ///
    /// - Parameter coordinate: 32 bytes, big-endian.
    /// - Throws: `CryptoKitError` if no point has it.
    init(coordinate: Data) throws {
        let one = try P256.KeyAgreement.PrivateKey(rawRepresentation: Data(count: 31) + [1])
        // Of the two points with this x either will do.
        let point = try P256.KeyAgreement.PublicKey(compressedRepresentation: [2] + coordinate)
        self = try one.sharedSecretFromKeyAgreement(with: point)
    }
}
