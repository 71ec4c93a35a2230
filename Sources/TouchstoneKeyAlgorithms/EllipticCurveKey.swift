package import Crypto
package import Foundation
package import TouchstoneCore

/// A curve that keys may be of.
package enum EllipticCurve: CaseIterable, Sendable {
    case p192
    case p224
    case p256
    case p384
    case p521

    package var sizeInBits: Int {
        switch self {
        case .p192: 192
        case .p224: 224
        case .p256: 256
        case .p384: 384
        case .p521: 521
        }
    }

    /// Whether keys of this curve are there for old data only: to verify, to decrypt and to agree on a secret.
    package var isOld: Bool { self == .p192 || self == .p224 }

    /// The curves that keys are made of, that sign and are encrypted to.
    package static let current: [EllipticCurve] = allCases.filter { !$0.isOld }

    /// Bytes of a coordinate.
    package var fieldSize: Int { (sizeInBits + 7) / 8 }

    /// The contents of the object identifier of the curve.
    package var objectIdentifier: [UInt8] {
        switch self {
        case .p192: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x01]
        case .p224: [0x2b, 0x81, 0x04, 0x00, 0x21]
        case .p256: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]
        case .p384: [0x2b, 0x81, 0x04, 0x00, 0x22]
        case .p521: [0x2b, 0x81, 0x04, 0x00, 0x23]
        }
    }
}

/// A point of a curve.
package enum EllipticCurvePublicKey: Sendable {
    case old(OldCurvePublicKey)
    case p256(P256.Signing.PublicKey)
    case p384(P384.Signing.PublicKey)
    case p521(P521.Signing.PublicKey)

    /// Reads `04 ‖ X ‖ Y`, of the curve whose points have this length; throws where that is not a point.
    package init(x963Representation bytes: Data) throws {
        switch EllipticCurve.allCases.first(where: { bytes.count == 1 + 2 * $0.fieldSize }) {
        case .p192: self = .old(try OldCurvePublicKey(.p192, x963Representation: bytes))
        case .p224: self = .old(try OldCurvePublicKey(.p224, x963Representation: bytes))
        case .p256: self = .p256(try P256.Signing.PublicKey(x963Representation: bytes))
        case .p384: self = .p384(try P384.Signing.PublicKey(x963Representation: bytes))
        case .p521: self = .p521(try P521.Signing.PublicKey(x963Representation: bytes))
        case nil: throw CryptoKitError.incorrectKeySize
        }
    }

    package var curve: EllipticCurve {
        switch self {
        case .old(let key): key.curve
        case .p256: .p256
        case .p384: .p384
        case .p521: .p521
        }
    }

    package var x963Representation: Data {
        switch self {
        case .old(let key): key.x963Representation
        case .p256(let key): key.x963Representation
        case .p384(let key): key.x963Representation
        case .p521(let key): key.x963Representation
        }
    }
}

/// A number and the point it leads to.
package enum EllipticCurvePrivateKey: Sendable {
    case old(OldCurvePrivateKey)
    case p256(P256.Signing.PrivateKey)
    case p384(P384.Signing.PrivateKey)
    case p521(P521.Signing.PrivateKey)

    /// A new key.
    ///
    /// - Throws: `errSecKeySizeNotAllowed` for an old curve.
    package init(_ curve: EllipticCurve) throws(Status) {
        switch curve {
        case .p192, .p224: throw .keySizeNotAllowed
        case .p256: self = .p256(P256.Signing.PrivateKey(compactRepresentable: false))
        case .p384: self = .p384(P384.Signing.PrivateKey(compactRepresentable: false))
        case .p521: self = .p521(P521.Signing.PrivateKey(compactRepresentable: false))
        }
    }

    /// Reads `04 ‖ X ‖ Y ‖ K`, of the curve whose keys have this length; throws where K does not lead to the point.
    package init(x963Representation bytes: Data) throws {
        switch EllipticCurve.allCases.first(where: { bytes.count == 1 + 3 * $0.fieldSize }) {
        case .p192: self = .old(try OldCurvePrivateKey(.p192, x963Representation: bytes))
        case .p224: self = .old(try OldCurvePrivateKey(.p224, x963Representation: bytes))
        case .p256: self = .p256(try P256.Signing.PrivateKey(x963Representation: bytes))
        case .p384: self = .p384(try P384.Signing.PrivateKey(x963Representation: bytes))
        case .p521: self = .p521(try P521.Signing.PrivateKey(x963Representation: bytes))
        case nil: throw CryptoKitError.incorrectKeySize
        }
    }

    /// Takes K, as long as a coordinate; throws where it is 0 or too large.
    package init(_ curve: EllipticCurve, number: some ContiguousBytes) throws {
        switch curve {
        case .p192, .p224: self = .old(try OldCurvePrivateKey(curve, number: number))
        case .p256: self = .p256(try P256.Signing.PrivateKey(rawRepresentation: number))
        case .p384: self = .p384(try P384.Signing.PrivateKey(rawRepresentation: number))
        case .p521: self = .p521(try P521.Signing.PrivateKey(rawRepresentation: number))
        }
    }

    package var publicKey: EllipticCurvePublicKey {
        switch self {
        case .old(let key): .old(key.publicKey)
        case .p256(let key): .p256(key.publicKey)
        case .p384(let key): .p384(key.publicKey)
        case .p521(let key): .p521(key.publicKey)
        }
    }

    package var x963Representation: Data {
        switch self {
        case .old(let key): key.x963Representation
        case .p256(let key): key.x963Representation
        case .p384(let key): key.x963Representation
        case .p521(let key): key.x963Representation
        }
    }
}
