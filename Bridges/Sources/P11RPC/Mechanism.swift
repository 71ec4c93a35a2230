/// How something is signed or made.
public enum Mechanism: Hashable, Sendable {
    /// CKM_EC_KEY_PAIR_GEN.
    case ecKeyPairGeneration
    /// CKM_ECDSA: of a digest that the client made.
    case ecdsa
    /// CKM_ECDSA_SHA256: of the data itself.
    case ecdsaSHA256
    /// No mechanism: ends what was begun.
    case none
    /// One that this token does not have.
    case other(UInt32)

    /// Those of this token, as it lists them.
    public static let all: [Mechanism] = [.ecdsa, .ecdsaSHA256, .ecKeyPairGeneration]

    /// The mechanism of this number.
    public init(type: UInt32) {
        self =
            switch type {
            case 0x1040: .ecKeyPairGeneration
            case 0x1041: .ecdsa
            case 0x1044: .ecdsaSHA256
            case .max: .none
            default: .other(type)
            }
    }

    /// As PKCS#11 numbers it.
    public var type: UInt32 {
        switch self {
        case .ecKeyPairGeneration: 0x1040
        case .ecdsa: 0x1041
        case .ecdsaSHA256: 0x1044
        case .none: .max
        case .other(let type): type
        }
    }

    /// Whether it is one of this token's, each of which has no parameters.
    var isOurs: Bool { Self.all.contains(self) }
}
