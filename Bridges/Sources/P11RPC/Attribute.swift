/// One attribute of an object, or of a template.
public struct Attribute: Hashable, Sendable {
    /// What it says.
    public enum Value: Hashable, Sendable {
        case flag(Bool)
        case number(UInt64)
        case bytes([UInt8])
        case attributes([Attribute])
        case mechanisms([UInt64])

        /// As many bytes as a client on a machine with 64 bits keeps it in.
        public var length: Int {
            switch self {
            case .flag: 1
            case .number: 8
            case .bytes(let bytes): bytes.count
            // Of a CK_ATTRIBUTE.
            case .attributes(let list): list.count * 24
            case .mechanisms(let list): list.count * 8
            }
        }
    }

    /// Which attribute it is: `CK_ATTRIBUTE_TYPE`.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// As PKCS#11 numbers it.
        public let rawValue: UInt32

        /// The attribute of this number.
        public init(rawValue: UInt32) { self.rawValue = rawValue }
    }

    /// Deepest templates in templates (PK-4).
    static let deepest = 8
    /// The most attributes, or mechanisms, of one list.
    static let mostOfList = 256

    /// Which it is.
    public var kind: Kind
    /// What it says; nil where the client has no value, and where the object does not have it or does not tell it.
    public var value: Value?

    /// An attribute with a value, or without.
    public init(_ kind: Kind, _ value: Value?) {
        (self.kind, self.value) = (kind, value)
    }

    /// How its value is written.
    enum Form { case flag, number, bytes, attributes, mechanisms }
}

/// What a client wants to know of an object.
public struct AttributeRoom: Hashable, Sendable {
    /// Which attribute.
    public var kind: Attribute.Kind
    /// For how many bytes it has room; 0 where it only asks for the length.
    public var room: Int

    /// A wish.
    public init(kind: Attribute.Kind, room: Int) {
        (self.kind, self.room) = (kind, room)
    }
}

extension Attribute.Kind {
    /// What the object is.
    public static let objectClass = Self(rawValue: 0x0)
    /// Whether it stays when the session ends.
    public static let token = Self(rawValue: 0x1)
    /// Whether it is seen after C_Login alone.
    public static let isPrivate = Self(rawValue: 0x2)
    /// What its owner calls it.
    public static let label = Self(rawValue: 0x3)
    /// A certificate's DER, or the number that a private key is, which never leaves the enclave.
    public static let value = Self(rawValue: 0x11)
    /// Of a certificate.
    public static let certificateType = Self(rawValue: 0x80)
    /// Of a certificate, DER.
    public static let issuer = Self(rawValue: 0x81)
    /// Of a certificate, DER.
    public static let serialNumber = Self(rawValue: 0x82)
    /// Of a certificate: whether it may be believed without another.
    public static let trusted = Self(rawValue: 0x86)
    /// Of a certificate.
    public static let certificateCategory = Self(rawValue: 0x87)
    /// Of a key.
    public static let keyType = Self(rawValue: 0x100)
    /// Whom a certificate is for, DER.
    public static let subject = Self(rawValue: 0x101)
    /// What the objects of one key have in common.
    public static let identifier = Self(rawValue: 0x102)
    /// Of a private key: whether its value is kept secret.
    public static let sensitive = Self(rawValue: 0x103)
    /// Whether it encrypts.
    public static let encrypt = Self(rawValue: 0x104)
    /// Whether it decrypts.
    public static let decrypt = Self(rawValue: 0x105)
    /// Whether it wraps other keys.
    public static let wrap = Self(rawValue: 0x106)
    /// Whether it unwraps other keys.
    public static let unwrap = Self(rawValue: 0x107)
    /// Whether it signs.
    public static let sign = Self(rawValue: 0x108)
    /// Whether it makes signatures that hold what they sign.
    public static let signRecover = Self(rawValue: 0x109)
    /// Whether it verifies.
    public static let verify = Self(rawValue: 0x10A)
    /// Whether it verifies signatures that hold what they sign.
    public static let verifyRecover = Self(rawValue: 0x10B)
    /// Whether secrets are derived from it.
    public static let derive = Self(rawValue: 0x10C)
    /// The key as certificates have it, DER.
    public static let publicKeyInfo = Self(rawValue: 0x129)
    /// Of a private key: whether its value can be had.
    public static let extractable = Self(rawValue: 0x162)
    /// Whether it was made in the token.
    public static let local = Self(rawValue: 0x163)
    /// Of a private key: whether its value could never be had.
    public static let neverExtractable = Self(rawValue: 0x164)
    /// Of a private key: whether its value was kept secret from the start.
    public static let alwaysSensitive = Self(rawValue: 0x165)
    /// How it was made.
    public static let keyGenerationMechanism = Self(rawValue: 0x166)
    /// Whether a program can change it.
    public static let modifiable = Self(rawValue: 0x170)
    /// Whether a program can copy it.
    public static let copyable = Self(rawValue: 0x171)
    /// The curve, DER.
    public static let ecParameters = Self(rawValue: 0x180)
    /// The point, an OCTET STRING of DER.
    public static let ecPoint = Self(rawValue: 0x181)
    /// Whether each use takes a C_Login of its own (PK-12).
    public static let alwaysAuthenticate = Self(rawValue: 0x202)
    /// Of a private key: whether only some keys may wrap it.
    public static let wrapWithTrusted = Self(rawValue: 0x210)

    /// How p11-kit writes the value of each attribute; of one that it does not know, as bytes.
    var form: Attribute.Form {
        switch rawValue {
        // CKA_SECONDARY_AUTH, CKA_RESET_ON_INIT, CKA_HAS_RESET and CKA_COLOR are read, and then are no attribute of any object.
        case 0x1, 0x2, 0x86, 0x103...0x10C, 0x162...0x165, 0x170, 0x171, 0x200, 0x202, 0x210, 0x301, 0x302, 0x405:
            .flag
        case 0x0, 0x80, 0x87, 0x88, 0x100, 0x121, 0x133, 0x134, 0x160, 0x161, 0x166, 0x201, 0x300, 0x400...0x404,
            0x406, 0x500:
            .number
        case 0x4000_0211...0x4000_0213: .attributes
        case 0x4000_0600: .mechanisms
        default: .bytes
        }
    }
}
