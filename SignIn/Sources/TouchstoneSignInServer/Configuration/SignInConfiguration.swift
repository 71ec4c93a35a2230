public import Crypto
public import Foundation
import Glibc

/// The configuration of a sign-in server; everything else is in its store.
public struct SignInConfiguration: Sendable {
    /// The server's name as clients have it in their configuration (NP-14): host name, with `:port` if it is not 443.
    public var audience: String
    /// Origins of the page, as a browser writes them: `https://example.org`.
    ///
    /// Also the addresses that a DPoP proof may name.
    public var origins: [String]
    /// Identifiers of the apps that may register and sign in.
    public var applications: Set<String>
    /// 32 bytes that seal the keys of the access tokens; the same for every process on one store.
    public var secret: SymmetricKey
    /// How long things last.
    public var lifetimes = Lifetimes()
    /// How often something may be asked for.
    public var limits = RateLimits()
    /// Addresses of proxies whose `X-Forwarded-For` is believed.
    ///
    /// Empty: the connection's address is the client's.
    public var trustedProxies: Set<String> = []
    /// The time; a test moves it.
    public var clock: @Sendable () -> Date = { Date() }
    /// So many random bytes.
    public var random: @Sendable (Int) -> Data = systemRandom

    /// With these values.
    public init(audience: String, origins: [String], applications: Set<String>, secret: SymmetricKey) {
        self.audience = audience
        self.origins = origins
        self.applications = applications
        self.secret = secret
    }

    /// The system's generator, at most 256 bytes at once.
    public static let systemRandom: @Sendable (Int) -> Data = { count in
        // One call of the system, where Swift's generator makes one for each eight bytes.
        var bytes = Data(count: count)
        let result = unsafe bytes.withUnsafeMutableBytes { unsafe getentropy($0.baseAddress!, $0.count) }
        precondition(result == 0, "the system has no random bytes")
        return bytes
    }

    var now: Date { clock() }

    /// Cookies and the page's links are for https alone.
    var isSecure: Bool { origins.allSatisfy { $0.hasPrefix("https://") } }
}

/// How long things last, in seconds.
public struct Lifetimes: Sendable {
    /// Of a session by password, which may register a device.
    public var passwordSession: TimeInterval = 300
    /// NP-11.
    public var registrationChallenge: TimeInterval = 300
    /// NP-11.
    public var challenge: TimeInterval = 60
    /// NP-40.
    public var accessToken: TimeInterval = 300
    /// From the finger on; refreshing does not lengthen it.
    public var session: TimeInterval = 12 * 3600
    /// Of a text that waits to be confirmed.
    public var transaction: TimeInterval = 120
    /// Of a page's request and its code.
    public var webRequest: TimeInterval = 120
    /// Of a page's session.
    public var webSession: TimeInterval = 12 * 3600
    /// How far a DPoP proof's `iat` may be from the server's clock, either way.
    public var proofSkew: TimeInterval = 300
    /// A key that was not used for so long is revoked (NP-30).
    public var unusedKey: TimeInterval = 180 * 86400
    /// For so long a key signs access tokens.
    public var tokenKey: TimeInterval = 86400
    /// So long before it signs, a key is in the JWKS.
    public var tokenKeyOverlap: TimeInterval = 3600

    /// The defaults.
    public init() {}
}
