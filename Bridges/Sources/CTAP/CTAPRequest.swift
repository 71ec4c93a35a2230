internal import TouchstoneCBOR

/// A command, read and checked as far as that needs nobody (FD-9).
enum CTAPRequest: Hashable, Sendable {
    case makeCredential(MakeCredential)
    case getAssertion(GetAssertion)
    case getNextAssertion
    case getInfo
    case clientPIN(ClientPIN)
    case credentialManagement(CredentialManagement)
    case reset
    case selection

    enum Command {
        static let makeCredential: UInt8 = 0x01
        static let getAssertion: UInt8 = 0x02
        static let getInfo: UInt8 = 0x04
        static let clientPIN: UInt8 = 0x06
        static let reset: UInt8 = 0x07
        static let getNextAssertion: UInt8 = 0x08
        static let credentialMgmt: UInt8 = 0x0A
        static let selection: UInt8 = 0x0B
        /// The same before CTAP 2.1 was finished: libfido2 1.12 knows no other number (DEC-523).
        static let credentialMgmtPre: UInt8 = 0x41
    }

    /// What of several answers it goes on with.
    var goesOnWith: Authenticator.Several? {
        switch self {
        case .getNextAssertion: .assertions
        case .credentialManagement(let request) where request.action == .nextSite: .sites
        case .credentialManagement(let request) where request.action == .nextCredential: .credentials
        default: nil
        }
    }

    /// - Parameter bytes: The command, and its parameters.
    /// - Throws: `CTAPStatus`.
    init(_ bytes: [UInt8]) throws(CTAPStatus) {
        guard let command = bytes.first else { throw .invalidLength }
        func parameters() throws(CTAPStatus) -> Parameters {
            let value: CBOR
            do throws(MalformedCBOR) { value = try CBOR(Array(bytes.dropFirst())) } catch { throw .invalidCBOR }
            return try Parameters(value)
        }
        func alone(_ request: CTAPRequest) throws(CTAPStatus) -> CTAPRequest {
            guard bytes.count == 1 else { throw .invalidLength }
            return request
        }
        switch command {
        case Command.makeCredential: self = .makeCredential(try MakeCredential(parameters()))
        case Command.getAssertion: self = .getAssertion(try GetAssertion(parameters()))
        case Command.getInfo: self = try alone(.getInfo)
        case Command.clientPIN: self = .clientPIN(try ClientPIN(parameters()))
        case Command.credentialMgmt, Command.credentialMgmtPre:
            self = .credentialManagement(try CredentialManagement(parameters()))
        case Command.reset: self = try alone(.reset)
        case Command.getNextAssertion: self = try alone(.getNextAssertion)
        case Command.selection: self = try alone(.selection)
        default: throw .invalidCommand
        }
    }
}

/// The fields of a map, by number or by name.
struct Parameters {
    private let values: [CBOR: CBOR]

    init(_ value: CBOR) throws(CTAPStatus) {
        guard case .map(let values) = value else { throw .unexpectedType }
        self.values = values
    }

    subscript(_ key: Int) -> CBOR? { values[CBOR(key)] }
    subscript(_ key: String) -> CBOR? { values[.text(key)] }

    func needed(_ key: Int) throws(CTAPStatus) -> CBOR {
        guard let value = self[key] else { throw .missingParameter }
        return value
    }

    func needed(_ key: String) throws(CTAPStatus) -> CBOR {
        guard let value = self[key] else { throw .missingParameter }
        return value
    }
}

extension CBOR {
    func asBytes(_ counts: ClosedRange<Int>) throws(CTAPStatus) -> [UInt8] {
        guard case .bytes(let bytes) = self else { throw .unexpectedType }
        guard counts.contains(bytes.count) else { throw .invalidLength }
        return bytes
    }

    func asText() throws(CTAPStatus) -> String {
        guard case .text(let text) = self else { throw .unexpectedType }
        return text
    }

    func asArray() throws(CTAPStatus) -> [CBOR] {
        guard case .array(let values) = self else { throw .unexpectedType }
        return values
    }

    func asBoolean() throws(CTAPStatus) -> Bool {
        guard case .boolean(let value) = self else { throw .unexpectedType }
        return value
    }

    func asNumber() throws(CTAPStatus) -> Int {
        guard let number else { throw .unexpectedType }
        return number
    }
}

/// What both commands with a site have in common.
enum Fields {
    /// Most bytes of a site's name, as DNS has it.
    static let longestSite = 253
    /// Most credentials of one list.
    static let longestList = 16
    /// Most bytes of a credential's id; ours have 32.
    static let longestID = 1024
    /// Most bytes of a user's id, as WebAuthn has it.
    static let longestUser = 64
    /// ES256: ECDSA with P-256 and SHA-256.
    static let es256 = -7
    static let publicKey = "public-key"
    /// The level of credProtect that hides a credential from everybody but a verified owner.
    static let protectedByVerification = 3

    static func site(_ value: CBOR) throws(CTAPStatus) -> String {
        let site = try value.asText()
        guard (1...longestSite).contains(site.utf8.count) else { throw .invalidLength }
        return site
    }

    /// The ids of a list of credentials; those of another type are not ours.
    static func credentials(_ value: CBOR?) throws(CTAPStatus) -> [[UInt8]] {
        guard let list = try value?.asArray() else { return [] }
        guard list.count <= longestList else { throw .limitExceeded }
        var found: [[UInt8]] = []
        for entry in list {
            let fields = try Parameters(entry)
            let id = try fields.needed("id").asBytes(0...longestID)
            if try fields.needed("type").asText() == publicKey { found.append(id) }
        }
        return found
    }

    static func option(_ name: String, _ value: CBOR?) throws(CTAPStatus) -> Bool? {
        guard let value else { return nil }
        return try Parameters(value)[name]?.asBoolean()
    }

    /// What proves that the client has a token; nil if it does not say so, or only has the device chosen.
    static func proof(_ code: CBOR?, _ version: CBOR?) throws(CTAPStatus) -> TokenProof? {
        guard let code = try code?.asBytes(0...64), !code.isEmpty else { return nil }
        guard let version else { throw .missingParameter }
        return TokenProof(code: code, version: try PINProtocol(version))
    }

    static func extensions(_ value: CBOR?) throws(CTAPStatus) -> Parameters? {
        guard let value else { return nil }
        return try Parameters(value)
    }
}

/// The parameters of authenticatorMakeCredential.
struct MakeCredential: Hashable, Sendable {
    var clientDataHash: [UInt8]
    var site: String
    var userID: [UInt8]
    var userName: String?
    var displayName: String?
    var excluded: [[UInt8]]
    var isDiscoverable: Bool
    /// 1 to 3, as the extension credProtect has it; nil if it is not asked for.
    var protection: Int?
    var wantsSecret: Bool
    /// Whether only this device is to be chosen: the parameter with which a token would be proven is empty.
    var isSelection: Bool
    var proof: TokenProof?

    init(_ parameters: Parameters) throws(CTAPStatus) {
        clientDataHash = try parameters.needed(1).asBytes(32...32)
        site = try Fields.site(Parameters(parameters.needed(2)).needed("id"))
        let user = try Parameters(parameters.needed(3))
        userID = try user.needed("id").asBytes(0...Fields.longestUser)
        userName = try user["name"]?.asText()
        displayName = try user["displayName"]?.asText()
        var isSupported = false
        for entry in try parameters.needed(4).asArray() {
            let fields = try Parameters(entry)
            let (number, type) = (try fields.needed("alg").asNumber(), try fields.needed("type").asText())
            if number == Fields.es256, type == Fields.publicKey { isSupported = true }
        }
        excluded = try Fields.credentials(parameters[5])
        let extensions = try Fields.extensions(parameters[6])
        protection = try extensions?["credProtect"]?.asNumber()
        wantsSecret = try extensions?["hmac-secret"]?.asBoolean() ?? false
        isDiscoverable = try Fields.option("rk", parameters[7]) ?? false
        let isPresenceWanted = try Fields.option("up", parameters[7]) ?? true
        _ = try Fields.option("uv", parameters[7])
        isSelection = try parameters[8]?.asBytes(0...64).isEmpty ?? false
        // In the standard's order: what chooses a device comes first.
        guard !isSelection else { return }
        proof = try Fields.proof(parameters[8], parameters[9])
        guard isSupported else { throw .unsupportedAlgorithm }
        guard isPresenceWanted else { throw .invalidOption }
        guard protection.map({ (1...3).contains($0) }) ?? true else { throw .invalidOption }
    }
}

/// The parameters of authenticatorGetAssertion.
struct GetAssertion: Hashable, Sendable {
    var site: String
    var clientDataHash: [UInt8]
    /// Empty if any discoverable credential of the site will do.
    var allowed: [[UInt8]]
    /// What the extension hmac-secret wants to know; nil if it is not asked for.
    var secret: SecretRequest?
    /// Whether nobody is to be asked, because only whether a credential is here is wanted (FD-32).
    var isSilent: Bool
    var isSelection: Bool
    var proof: TokenProof?

    init(_ parameters: Parameters) throws(CTAPStatus) {
        site = try Fields.site(parameters.needed(1))
        clientDataHash = try parameters.needed(2).asBytes(32...32)
        allowed = try Fields.credentials(parameters[3])
        secret = try Fields.extensions(parameters[4])?["hmac-secret"].map(SecretRequest.init)
        guard try Fields.option("rk", parameters[5]) == nil else { throw .unsupportedOption }
        let isPresenceWanted = try Fields.option("up", parameters[5]) ?? true
        let isVerificationWanted = try Fields.option("uv", parameters[5]) ?? false
        isSelection = try parameters[6]?.asBytes(0...64).isEmpty ?? false
        proof = try Fields.proof(parameters[6], parameters[7])
        // Whoever is verified now is present, too. A token was verified before, and then the option does not count.
        isSilent = !isPresenceWanted && (proof != nil || !isVerificationWanted)
    }
}

extension CBOR {
    static func data(_ data: some Sequence<UInt8>) -> CBOR { .bytes(Array(data)) }
}
