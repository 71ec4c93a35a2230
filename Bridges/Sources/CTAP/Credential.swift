public import Foundation

/// What is kept of one passkey: nothing of it opens anything without the enclave (FD-10).
public struct Credential: Codable, Hashable, Sendable {
    /// 32 random bytes, by which clients name it.
    public var id: Data
    /// The site, as the program that asked named it.
    public var site: String
    /// The site's name of the user: at most 64 bytes.
    public var userID: Data
    /// For people to read.
    public var userName: String?
    /// For people to read.
    public var displayName: String?
    /// What the enclave calls the key.
    public var key: Data
    /// The uncompressed point of its public half, 65 bytes.
    public var publicKey: Data
    /// When it was made.
    public var created: Date
    /// Whether a site finds it without its id.
    public var isDiscoverable: Bool
    /// 1 to 3, as the extension credProtect has it.
    public var protection: Int
    /// Whether there is a secret beside it, for the extension hmac-secret.
    public var hasSecret: Bool

    /// What an owner reads: the user's name, else the longer one.
    public var account: String? { [userName, displayName].compactMap { $0 }.first { !$0.isEmpty } }
}

/// What the owner is asked for.
public enum Wish: Hashable, Sendable {
    /// To make a passkey; it may take the place of one of the same account.
    case create(site: String, account: String?, replaces: Bool)
    /// To sign in with one of these accounts.
    case signIn(site: String, accounts: [String])
    /// To hear that a passkey is here already.
    case alreadyHere(site: String)
    /// To choose this device among several.
    case choose
    /// To let a program do so once, or list passkeys for a while; at a site, where these accounts are known.
    case allow(Permissions, site: String?, accounts: [String])
    /// To remove a passkey for ever: the passcode is wanted.
    case delete(site: String, account: String?)
}

/// Where the owner's judgement of a request comes from.
public enum Consent: Hashable, Sendable {
    /// The owner is asked now.
    case ask(Wish)
    /// The owner was asked when the client got its token (``CredentialDevice/hold(_:)``).
    case held
}

/// Bytes that are signed, and what goes out beside the signature.
public struct AuthenticatorMessage: Hashable, Sendable {
    /// The authenticator data, as WebAuthn has it.
    public var authenticatorData: [UInt8]
    /// SHA-256 of the authenticator data and the hash of the client's.
    public var digest: [UInt8]
}

/// A key that was made, and what it signed.
public struct NewKey: Sendable {
    /// What the enclave calls it.
    public var key: Data
    /// Uncompressed, 65 bytes.
    public var publicKey: Data
    /// What was signed.
    public var message: AuthenticatorMessage
    /// r and s, 32 bytes each.
    public var signature: [UInt8]

    /// What the enclave made.
    public init(key: Data, publicKey: Data, message: AuthenticatorMessage, signature: [UInt8]) {
        (self.key, self.publicKey, self.message, self.signature) = (key, publicKey, message, signature)
    }
}

/// Where credentials are kept, and the owner who is asked.
///
/// Every call may wait for a person.
public protocol CredentialDevice: Sendable {
    /// All credentials, in no order. Nobody is asked.
    func credentials() throws(CTAPStatus) -> [Credential]
    /// Has the owner judged, and nothing signed.
    func ask(_ wish: Wish) throws(CTAPStatus)
    /// Whether the owner can be verified at all. Nobody is asked.
    func canVerify() throws(CTAPStatus) -> Bool
    /// Has the owner judged, and keeps the proof for one call with ``Consent/held``, for 30 seconds at most.
    func hold(_ wish: Wish) throws(CTAPStatus)
    /// Ends the proof that is kept, if there is one.
    func release()
    /// Makes a key and, once the owner was judged, has it sign.
    func makeKey(
        _ consent: Consent,
        _ message: @escaping @Sendable (_ publicKey: Data) throws(CTAPStatus) -> AuthenticatorMessage
    ) throws(CTAPStatus) -> NewKey
    /// Has each of the keys sign, once the owner was judged.
    ///
    /// `message` gets the credential's secret of 32 bytes if secrets are wanted and it has one.
    func sign(
        _ consent: Consent, _ credentials: [Credential], withSecrets: Bool,
        _ message: @escaping @Sendable (Credential, _ secret: [UInt8]?) throws(CTAPStatus) -> AuthenticatorMessage
    ) throws(CTAPStatus) -> [(message: AuthenticatorMessage, signature: [UInt8])]
    /// Keeps a credential, and its secret, which only the owner's proof opens.
    func keep(_ credential: Credential, secret: [UInt8]?) throws(CTAPStatus)
    /// Keeps a credential in place of the one with its id.
    func update(_ credential: Credential) throws(CTAPStatus)
    /// Removes a credential, and its secret.
    func remove(_ credential: Credential) throws(CTAPStatus)
}
