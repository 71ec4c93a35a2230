internal import Crypto
internal import Foundation
internal import SwiftASN1
internal import TouchstoneCertificates
internal import TouchstoneCore
import TouchstoneInterfaces
internal import TouchstoneKeyAlgorithms

/// A key whose bytes are in this process, in memory that is zeroed when it goes.
enum SoftwareKey: Sendable {
    case rsaPublic(RSAPublicKey)
    case rsaPrivate(RSAPrivateKey)
    case ellipticCurvePublic(EllipticCurvePublicKey)
    case ellipticCurvePrivate(EllipticCurvePrivateKey)
}

extension SoftwareKey: KeyImplementation {
    var keyType: KeyType {
        switch self {
        case .rsaPublic, .rsaPrivate: .rsa
        case .ellipticCurvePublic, .ellipticCurvePrivate: .ellipticCurve
        }
    }

    var keyClass: KeyClass {
        switch self {
        case .rsaPublic, .ellipticCurvePublic: .public
        case .rsaPrivate, .ellipticCurvePrivate: .private
        }
    }

    var sizeInBits: Int {
        switch self {
        case .rsaPublic(let key): key.keySizeInBits
        case .rsaPrivate(let key): key.keySizeInBits
        case .ellipticCurvePublic(let key): key.curve.sizeInBits
        case .ellipticCurvePrivate(let key): key.publicKey.curve.sizeInBits
        }
    }

    var blockSize: Int { (sizeInBits + 7) / 8 }

    var publicKey: SoftwareKey {
        switch self {
        case .rsaPublic, .ellipticCurvePublic: self
        case .rsaPrivate(let key): .rsaPublic(key.publicKey)
        case .ellipticCurvePrivate(let key): .ellipticCurvePublic(key.publicKey)
        }
    }

    var itemData: Data? { externalRepresentation() }

    /// What a key of an old curve cannot do.
    var ownAttributes: KeychainInterface.Dictionary {
        switch self {
        case .ellipticCurvePublic(let key) where key.curve.isOld: [.canEncrypt: .boolean(false)]
        case .ellipticCurvePrivate(let key) where key.publicKey.curve.isOld: [.canSign: .boolean(false)]
        default: [:]
        }
    }

    var furtherAttributes: KeychainInterface.Dictionary { [:] }

    func externalRepresentation() -> Data {
        switch self {
        case .rsaPublic(let key): key.pkcs1DERRepresentation
        case .rsaPrivate(let key): key.pkcs1DERRepresentation
        case .ellipticCurvePublic(let key): key.x963Representation
        case .ellipticCurvePrivate(let key): key.x963Representation
        }
    }
}

extension SoftwareKey {
    /// Reads the external representation of a key; nil if it is not a key of this type and class.
    ///
    /// A public RSA key may also be a SubjectPublicKeyInfo.
    init?(_ type: KeyType, _ keyClass: KeyClass, data: Data) {
        let key: SoftwareKey? =
            switch (type, keyClass) {
            case (.rsa, .public): Self.rsaPublicKey(data)
            case (.rsa, .private): Self.rsaPrivateKey(data)
            case (.ellipticCurve, .public):
                (try? EllipticCurvePublicKey(x963Representation: data)).map(SoftwareKey.ellipticCurvePublic)
            case (.ellipticCurve, .private):
                (try? EllipticCurvePrivateKey(x963Representation: data)).map(SoftwareKey.ellipticCurvePrivate)
            case (_, .symmetric): nil
            }
        guard let key else { return nil }
        self = key
    }

    /// The key of a certificate; nil for other algorithms and curves than ours.
    init?(_ info: SubjectPublicKeyInfo) {
        switch info.algorithm {
        case Self.rsaAlgorithm: self.init(.rsa, .public, data: info.key)
        case Self.ellipticCurveAlgorithm:
            guard let curve = Self.curve(info.parameters.flatMap { try? DER.parse(Array($0)) }),
                let key = try? EllipticCurvePublicKey(x963Representation: info.key), key.curve == curve
            else { return nil }
            self = .ellipticCurvePublic(key)
        default: return nil
        }
    }

    /// Reads the DER of a PKCS#8 PrivateKeyInfo; nil for other algorithms and curves than ours.
    init?(privateKeyInfo der: [UInt8]) {
        guard let fields = (try? DER.parse(der))?.children(.sequence), fields.count >= 3,
            let version = fields[0].bytes(.integer), version.elementsEqual([0]) || version.elementsEqual([1]),
            let algorithm = AlgorithmIdentifier(fields[1]), let key = fields[2].bytes(.octetString)
        else { return nil }
        switch algorithm.algorithm {
        case Self.rsaAlgorithm:
            var data = Data(key)
            defer { data.resetBytes(in: data.indices) }
            self.init(.rsa, .private, data: data)
        case Self.ellipticCurveAlgorithm:
            // RFC 5915: a version, the number, the curve again and perhaps the point.
            guard let curve = Self.curve(algorithm.parameters),
                let fields = (try? DER.parse(key))?.children(.sequence), fields.count >= 2,
                let bytes = fields[1].bytes(.octetString), bytes.count <= curve.fieldSize
            else { return nil }
            var number = [UInt8](repeating: 0, count: curve.fieldSize - bytes.count) + bytes
            defer { number.zero() }
            guard let key = try? EllipticCurvePrivateKey(curve, number: number) else { return nil }
            self = .ellipticCurvePrivate(key)
        default: return nil
        }
    }

    private static func rsaPublicKey(_ data: Data) -> SoftwareKey? {
        guard isSequence(data) else { return nil }
        return (try? RSAPublicKey(derRepresentation: data)).map(SoftwareKey.rsaPublic)
    }

    private static func rsaPrivateKey(_ data: Data) -> SoftwareKey? {
        var bytes = Array(data)
        defer { bytes.zero() }
        guard isPrivatePKCS1(bytes) else { return nil }
        return (try? RSAPrivateKey(derRepresentation: bytes)).map(SoftwareKey.rsaPrivate)
    }

    /// PKCS#8 has a sequence where PKCS#1 has the modulus.
    private static func isPrivatePKCS1(_ bytes: [UInt8]) -> Bool {
        guard let fields = (try? DER.parse(bytes))?.children(.sequence), fields.count >= 9 else { return false }
        return fields[1].identifier == .integer
    }

    /// One whole sequence: what comes after it would go unnoticed.
    private static func isSequence(_ data: Data) -> Bool {
        (try? DER.parse(Array(data)))?.children(.sequence) != nil
    }

    private static func curve(_ parameters: ASN1Node?) -> EllipticCurve? {
        guard let parameters else { return nil }
        return EllipticCurve.allCases.first { parameters.isObjectIdentifier($0.objectIdentifier) }
    }

    private static let rsaAlgorithm: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01]
    private static let ellipticCurveAlgorithm: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]
}
