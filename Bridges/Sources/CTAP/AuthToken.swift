internal import Crypto

/// What a token is good for, as CTAP 2.1 numbers it (FD-55).
public struct Permissions: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: Int

    /// Any bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// To make one passkey for one site.
    public static let makeCredential = Permissions(rawValue: 0x01)
    /// To sign in to one site once.
    public static let getAssertion = Permissions(rawValue: 0x02)
    /// To list passkeys, and to change or remove them.
    public static let credentialManagement = Permissions(rawValue: 0x04)

    /// What needs a site.
    static let ofOneSite: Permissions = [.makeCredential, .getAssertion]
    /// For what this authenticator has not: fingers enrolled by programs, large blobs, settings, and tokens that last.
    static let unauthorized: Permissions = [
        Permissions(rawValue: 0x08), Permissions(rawValue: 0x10), Permissions(rawValue: 0x20),
        Permissions(rawValue: 0x40),
    ]
}

/// What proves that a client has a token: a code over its request.
struct TokenProof: Hashable, Sendable {
    var code: [UInt8]
    var version: PINProtocol
}

/// What a client got after its owner was verified: a secret, by which it proves that its next requests are meant (FD-55, FD-56).
struct AuthToken {
    private enum Limits {
        /// Seconds until it has to be used for the first time: CTAP's for USB.
        static let unused = 30.0
        /// Seconds in which the owner counts as present and verified for one request.
        static let verified = 30.0
        /// Longest life in seconds.
        static let life = 600.0
    }

    let secret = SymmetricKey(size: .bits256)
    let version: PINProtocol
    /// Of whom the request came; it is good for nobody else.
    let channel: UInt32
    let permissions: Permissions
    /// The only site it is good for; nil for any.
    let site: String?
    let issued: Double
    private var isUsed = false

    init(_ request: TokenRequest, channel: UInt32, issued: Double) {
        version = request.version
        permissions = request.permissions
        site = request.site
        self.channel = channel
        self.issued = issued
    }

    func isOver(_ now: Double) -> Bool { now - issued >= (isUsed ? Limits.life : Limits.unused) }

    /// Whether the proof of the owner's is still good for one passkey.
    func isVerified(_ now: Double) -> Bool { now - issued < Limits.verified }

    /// What goes to the client, encrypted with what was agreed on.
    func sealed(_ keys: PINProtocol.Keys) throws(CTAPStatus) -> [UInt8] {
        try version.encrypt(unsafe secret.withUnsafeBytes { unsafe Array($0) }, keys)
    }

    /// Checks a request that wants it to be good for something.
    ///
    /// - Throws: `CTAPStatus.pinAuthInvalid`, whatever does not fit.
    mutating func check(
        _ proof: TokenProof, of message: [UInt8], channel: UInt32, permission: Permissions
    ) throws(CTAPStatus) {
        guard proof.version == version, channel == self.channel, permissions.contains(permission) else {
            throw .pinAuthInvalid
        }
        try version.check(proof.code, of: message, secret)
        isUsed = true
    }
}
