internal import P11RPC

/// A key of the enclave's, with its certificate if it has one.
public struct TokenKey: Hashable, Sendable {
    /// A number that no other key of the bridge has or had.
    public var number: UInt64
    /// What its owner calls it.
    public var label: String
    /// What its objects have in common, 1 to 64 bytes.
    public var identifier: [UInt8]
    /// 65 bytes, uncompressed.
    public var point: [UInt8]
    /// The certificate beside it.
    public var certificate: TokenCertificate?
    /// Whether a client logs in for each use (PK-12).
    public var wantsExplicitLogin = false

    /// A key without a certificate.
    public init(number: UInt64, label: String, identifier: [UInt8], point: [UInt8]) {
        (self.number, self.label, self.identifier, self.point) = (number, label, identifier, point)
    }

    /// What stands before the point in a SubjectPublicKeyInfo of P-256.
    static let publicKeyInfoStart: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
        0xCE,
        0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ]
    /// The object identifier of P-256, DER.
    static let curve: [UInt8] = [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]

    /// The public key as certificates have it, DER.
    public var publicKeyInfo: [UInt8] { Self.publicKeyInfoStart + point }

    // MARK: Its objects (PK-11)

    /// What an object is, by PKCS#11's number.
    enum ObjectClass: UInt64, CaseIterable {
        case certificate = 1
        case publicKey = 2
        case privateKey = 3
    }

    /// The handle of one of its objects: the same as long as the bridge runs.
    func handle(of object: ObjectClass) -> UInt64 { number << 2 | object.rawValue }

    /// Its objects, in the order in which clients find them.
    var objects: [(object: ObjectClass, handle: UInt64)] {
        ObjectClass.allCases.reversed().filter { $0 != .certificate || certificate != nil }
            .map { ($0, handle(of: $0)) }
    }

    /// What an object says of itself.
    func attributes(of object: ObjectClass) -> [Attribute.Kind: Attribute.Value] {
        var all: [Attribute.Kind: Attribute.Value] = [
            .objectClass: .number(object.rawValue), .token: .flag(true), .isPrivate: .flag(false),
            .label: .bytes(Array(label.utf8)), .identifier: .bytes(identifier), .modifiable: .flag(false),
            .copyable: .flag(false),
        ]
        switch object {
        case .privateKey: all.merge(privateKeyAttributes) { $1 }
        case .publicKey: all.merge(publicKeyAttributes) { $1 }
        case .certificate: all.merge(certificateAttributes) { $1 }
        }
        return all
    }

    private var keyAttributes: [Attribute.Kind: Attribute.Value] {
        [
            .keyType: .number(3), .ecParameters: .bytes(Self.curve), .ecPoint: .bytes([0x04, 0x41] + point),
            .publicKeyInfo: .bytes(publicKeyInfo), .subject: .bytes(certificate?.subject ?? []), .local: .flag(true),
            .keyGenerationMechanism: .number(UInt64(Mechanism.ecKeyPairGeneration.type)), .derive: .flag(false),
        ]
    }

    private var privateKeyAttributes: [Attribute.Kind: Attribute.Value] {
        keyAttributes.merging([
            .sign: .flag(true), .signRecover: .flag(false), .decrypt: .flag(false), .unwrap: .flag(false),
            .sensitive: .flag(true), .alwaysSensitive: .flag(true), .extractable: .flag(false),
            .neverExtractable: .flag(true), .wrapWithTrusted: .flag(false),
            .alwaysAuthenticate: .flag(wantsExplicitLogin),
        ]) { $1 }
    }

    private var publicKeyAttributes: [Attribute.Kind: Attribute.Value] {
        keyAttributes.merging([
            .verify: .flag(true), .verifyRecover: .flag(false), .encrypt: .flag(false), .wrap: .flag(false),
            .trusted: .flag(false),
        ]) { $1 }
    }

    private var certificateAttributes: [Attribute.Kind: Attribute.Value] {
        guard let certificate else { return [:] }
        return [
            .certificateType: .number(0), .certificateCategory: .number(0), .trusted: .flag(false),
            .value: .bytes(certificate.der), .subject: .bytes(certificate.subject), .issuer: .bytes(certificate.issuer),
            .serialNumber: .bytes(certificate.serialNumber),
        ]
    }
}
