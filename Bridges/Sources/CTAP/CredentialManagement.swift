internal import TouchstoneCBOR

/// What authenticatorCredentialManagement asks for (FD-57).
struct CredentialManagement: Hashable, Sendable {
    enum Action: Hashable, Sendable {
        case metadata
        case sites
        case nextSite
        /// The SHA-256 of a site's name.
        case credentials(site: [UInt8])
        case nextCredential
        case delete(id: [UInt8])
        case update(id: [UInt8], userID: [UInt8], userName: String?, displayName: String?)
    }

    enum Subcommand {
        static let getCredsMetadata = 0x01
        static let enumerateRPsBegin = 0x02
        static let enumerateRPsNext = 0x03
        static let enumerateCredsBegin = 0x04
        static let enumerateCredsNext = 0x05
        static let deleteCredential = 0x06
        static let updateUserInfo = 0x07
    }

    var action: Action
    /// nil: it goes on with what another one began, and proves nothing.
    var proof: TokenProof?
    /// What the code of the proof is over.
    var message: [UInt8]

    init(_ parameters: Parameters) throws(CTAPStatus) {
        let number = try parameters.needed(1).asNumber()
        let goesOn = [Subcommand.enumerateRPsNext, Subcommand.enumerateCredsNext].contains(number)
        guard (Subcommand.getCredsMetadata...Subcommand.updateUserInfo).contains(number) else {
            throw .invalidSubcommand
        }
        if !goesOn {
            // An empty code proves nothing either.
            guard let code = parameters[4] else { throw .puatRequired }
            guard let proof = try Fields.proof(code, parameters[3]) else { throw .pinAuthInvalid }
            self.proof = proof
        }
        func fields() throws(CTAPStatus) -> Parameters { try Parameters(parameters.needed(2)) }
        func id() throws(CTAPStatus) -> [UInt8] {
            try Parameters(fields().needed(2)).needed("id").asBytes(0...Fields.longestID)
        }
        action =
            switch number {
            case Subcommand.getCredsMetadata: .metadata
            case Subcommand.enumerateRPsBegin: .sites
            case Subcommand.enumerateRPsNext: .nextSite
            case Subcommand.enumerateCredsBegin: .credentials(site: try fields().needed(1).asBytes(32...32))
            case Subcommand.enumerateCredsNext: .nextCredential
            case Subcommand.deleteCredential: .delete(id: try id())
            default: try Self.update(id(), Parameters(fields().needed(3)))
            }
        // Canonical CBOR has one form, so this is what came.
        message = [UInt8(number)] + (parameters[2]?.encoded ?? [])
    }

    private static func update(_ id: [UInt8], _ user: Parameters) throws(CTAPStatus) -> Action {
        func text(_ name: String) throws(CTAPStatus) -> String? {
            // An empty one is removed, as one that is missing.
            try user[name]?.asText().nonEmpty
        }
        return .update(
            id: id, userID: try user.needed("id").asBytes(0...Fields.longestUser), userName: try text("name"),
            displayName: try text("displayName"))
    }
}

extension String {
    fileprivate var nonEmpty: String? { isEmpty ? nil : self }
}
