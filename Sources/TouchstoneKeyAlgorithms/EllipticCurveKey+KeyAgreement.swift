package import Crypto
internal import Foundation
package import TouchstoneCore

extension EllipticCurvePrivateKey {
    /// The coordinate Z that this key and another's point share, in memory that is zeroed when it goes.
    ///
    /// - Throws: `errSecParam` for a point of another curve.
    package func sharedSecret(with other: EllipticCurvePublicKey) throws(Status) -> SymmetricKey {
        if case (.old(let key), .old(let other)) = (self, other) { return try key.sharedSecret(with: other) }
        var number = number
        defer { number.erase() }
        do {
            let secret =
                switch (self, other) {
                case (.p256, .p256(let other)):
                    try P256.KeyAgreement.PrivateKey(rawRepresentation: number)
                        .sharedSecretFromKeyAgreement(
                            with: P256.KeyAgreement.PublicKey(rawRepresentation: other.rawRepresentation))
                case (.p384, .p384(let other)):
                    try P384.KeyAgreement.PrivateKey(rawRepresentation: number)
                        .sharedSecretFromKeyAgreement(
                            with: P384.KeyAgreement.PublicKey(rawRepresentation: other.rawRepresentation))
                case (.p521, .p521(let other)):
                    try P521.KeyAgreement.PrivateKey(rawRepresentation: number)
                        .sharedSecretFromKeyAgreement(
                            with: P521.KeyAgreement.PublicKey(rawRepresentation: other.rawRepresentation))
                default: throw Status.param
                }
            return SymmetricKey(data: secret)
        } catch {
            throw .param
        }
    }

    /// K of a current curve; the caller erases it.
    private var number: Data {
        switch self {
        case .old: Data()
        case .p256(let key): key.rawRepresentation
        case .p384(let key): key.rawRepresentation
        case .p521(let key): key.rawRepresentation
        }
    }
}
