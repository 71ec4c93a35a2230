internal import TouchstoneCBOR

/// What authenticatorClientPIN asks for: there is no PIN, and the owner is verified by the device (FD-55).
enum ClientPIN: Hashable, Sendable {
    case keyAgreement(PINProtocol)
    case uvRetries
    case token(TokenRequest)

    enum Subcommand {
        static let getKeyAgreement = 0x02
        static let getTokenUsingUV = 0x06
        static let getUVRetries = 0x07
    }

    init(_ parameters: Parameters) throws(CTAPStatus) {
        switch try parameters.needed(2).asNumber() {
        case Subcommand.getKeyAgreement: self = .keyAgreement(try PINProtocol(parameters.needed(1)))
        case Subcommand.getTokenUsingUV: self = .token(try TokenRequest(parameters))
        case Subcommand.getUVRetries: self = .uvRetries
        default: throw .invalidSubcommand
        }
    }
}

/// Who wants a token, and what for.
struct TokenRequest: Hashable, Sendable {
    var version: PINProtocol
    /// The client's half of the agreement: an uncompressed point.
    var share: [UInt8]
    var permissions: Permissions
    var site: String?

    init(_ parameters: Parameters) throws(CTAPStatus) {
        let (number, key, wanted) = try (parameters.needed(1), parameters.needed(3), parameters.needed(9).asNumber())
        version = try PINProtocol(number)
        share = try COSEKey.point(key)
        guard wanted > 0 else { throw .invalidParameter }
        let permissions = Permissions(rawValue: wanted)
        guard permissions.isDisjoint(with: .unauthorized) else { throw .unauthorizedPermission }
        // Bits that nobody knows are ignored, as long as one is left.
        self.permissions = permissions.intersection([.ofOneSite, .credentialManagement])
        guard !self.permissions.isEmpty else { throw .invalidParameter }
        site = try parameters[10].map(Fields.site)
        guard site != nil || permissions.isDisjoint(with: .ofOneSite) else { throw .missingParameter }
    }
}

extension PINProtocol {
    /// - Throws: `CTAPStatus.invalidParameter`: there is no such protocol.
    init(_ value: CBOR) throws(CTAPStatus) {
        guard let version = PINProtocol(rawValue: try value.asNumber()) else { throw .invalidParameter }
        self = version
    }
}
