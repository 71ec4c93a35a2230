public import Crypto
internal import Foundation
internal import TouchstoneCBOR

/// The public half of a passkey: ES256, and nothing else.
public struct PasskeyPublicKey: Sendable {
    /// The key.
    public let key: P256.Signing.PublicKey

    /// A key that was kept.
    public init(_ key: P256.Signing.PublicKey) { self.key = key }

    /// COSE's numbers: the kind 1, the algorithm 3, the curve -1 and the coordinates -2 and -3.
    private enum Fields {
        static let es256 = CBOR(-7)
        static let ellipticCurve = CBOR(2)
        static let p256 = CBOR(1)
    }

    init(_ value: CBOR) throws(WebAuthnRefusal) {
        guard case .map(let fields) = value, let algorithm = fields[CBOR(3)] else { throw .keyForm }
        guard algorithm == Fields.es256 else { throw .algorithm }
        guard fields.count == 5, fields[CBOR(1)] == Fields.ellipticCurve, fields[CBOR(-1)] == Fields.p256,
            case .bytes(let x) = fields[CBOR(-2)], case .bytes(let y) = fields[CBOR(-3)], x.count == 32, y.count == 32,
            let key = try? P256.Signing.PublicKey(rawRepresentation: x + y)
        else { throw .keyForm }
        self.key = key
    }

    /// - Parameters:
    ///   - signature: DER.
    ///   - message: What should have been signed.
    /// - Returns: Whether it was, by this key.
    func verifies(_ signature: [UInt8], of message: Data) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(derRepresentation: signature) else { return false }
        return key.isValidSignature(signature, for: message)
    }
}
