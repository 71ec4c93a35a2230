internal import Crypto
public import Foundation
internal import TouchstoneCBOR

/// A site that takes passkeys, and judges what a browser sends it (FD-50, FD-51).
///
/// It keeps nothing. Who calls it gives each challenge out once, and takes it back before this judges the answer.
public struct RelyingParty: Hashable, Sendable {
    /// The site's domain, without a port.
    public let domain: String
    /// Whose pages may ask, as a browser writes them: `https://example.org`.
    public let origins: [String]

    /// A site.
    public init(domain: String, origins: [String]) { (self.domain, self.origins) = (domain, origins) }

    /// A passkey that was just made.
    public struct NewPasskey: Sendable {
        /// How the new key vouched for itself.
        public enum Attestation: String, Sendable {
            /// Not at all.
            case none
            /// The new key signed: who made it has it.
            case own
        }

        /// What the authenticator calls it, 1 to 1023 bytes.
        public var id: Data
        /// Its public half.
        public var publicKey: PasskeyPublicKey
        /// 0 if the authenticator does not count.
        public var counter: UInt32
        /// The authenticator's model, 16 bytes; zeros if the browser hides it.
        public var model: Data
        /// Whether the passkey may come to other devices.
        public var canBeBackedUp: Bool
        /// Who vouched.
        public var attestation: Attestation
    }

    /// Judges a registration.
    ///
    /// - Parameters:
    ///   - clientData: JSON, as the browser sent it.
    ///   - attestationObject: CBOR, as the browser sent it.
    ///   - challenge: What was given out, and taken back.
    /// - Returns: What to keep.
    /// - Throws: ``WebAuthnRefusal``.
    public func register(clientData: Data, attestationObject: Data, challenge: Data) throws(WebAuthnRefusal)
        -> NewPasskey
    {
        try check(clientData, .registration, challenge)
        guard let object = try? CBOR(Array(attestationObject)), case .map(let fields) = object, fields.count == 3,
            case .text(let format) = fields[.text("fmt")], case .map(let statement) = fields[.text("attStmt")],
            case .bytes(let data) = fields[.text("authData")]
        else { throw .attestationForm }
        let said = try read(data)
        guard let credential = said.credential else { throw .noCredential }
        let key = try PasskeyPublicKey(credential.key)
        return NewPasskey(
            id: Data(credential.id), publicKey: key, counter: said.counter, model: Data(credential.model),
            canBeBackedUp: said.flags.contains(.canBeBackedUp),
            attestation: try attestation(format, statement, key, Self.message(data, clientData)))
    }

    private func attestation(_ format: String, _ statement: [CBOR: CBOR], _ key: PasskeyPublicKey, _ message: Data)
        throws(WebAuthnRefusal) -> NewPasskey.Attestation
    {
        switch format {
        case "none":
            guard statement.isEmpty else { throw .attestationForm }
            return .none
        case "packed":
            // With certificates it is somebody else who vouches.
            guard statement.count == 2, case .bytes(let signature) = statement[.text("sig")],
                statement[.text("alg")] == CBOR(-7)
            else { throw .attestationFormat }
            guard key.verifies(signature, of: message) else { throw .attestationSignature }
            return .own
        default: throw .attestationFormat
        }
    }

    /// Judges a sign-in.
    ///
    /// - Parameters:
    ///   - clientData: JSON, as the browser sent it.
    ///   - authenticatorData: As the browser sent it.
    ///   - signature: DER, as the browser sent it.
    ///   - key: The passkey that the browser named.
    ///   - counter: What it counted when it was last used.
    ///   - challenge: What was given out, and taken back.
    /// - Returns: What it counts now, which takes the place of `counter`.
    /// - Throws: ``WebAuthnRefusal``.
    public func signIn(
        clientData: Data, authenticatorData: Data, signature: Data, key: PasskeyPublicKey, counter: UInt32,
        challenge: Data
    ) throws(WebAuthnRefusal) -> UInt32 {
        try check(clientData, .signIn, challenge)
        let data = Array(authenticatorData)
        let said = try read(data)
        guard key.verifies(Array(signature), of: Self.message(data, clientData)) else { throw .signature }
        // One that does not count says 0 for ever.
        guard said.counter > counter || (said.counter == 0 && counter == 0) else { throw .counter }
        return said.counter
    }

    private func check(_ json: Data, _ ceremony: ClientData.Ceremony, _ challenge: Data) throws(WebAuthnRefusal) {
        let said = try ClientData(json: json)
        guard said.type == ceremony.rawValue else { throw .ceremony }
        guard said.challenge == challenge else { throw .challenge }
        guard origins.contains(where: { $0.utf8.elementsEqual(said.origin.utf8) }) else { throw .origin }
        guard !said.isCrossOrigin else { throw .crossOrigin }
    }

    private func read(_ data: [UInt8]) throws(WebAuthnRefusal) -> AuthenticatorData {
        let said = try AuthenticatorData(data)
        guard said.relyingParty == Array(SHA256.hash(data: Data(domain.utf8))) else { throw .relyingParty }
        guard said.flags.contains(.present) else { throw .userNotPresent }
        guard said.flags.contains(.verified) else { throw .userNotVerified }
        guard !said.flags.contains(.isBackedUp) || said.flags.contains(.canBeBackedUp) else { throw .backupState }
        return said
    }

    private static func message(_ authenticatorData: [UInt8], _ clientData: Data) -> Data {
        Data(authenticatorData) + Data(SHA256.hash(data: clientData))
    }
}
