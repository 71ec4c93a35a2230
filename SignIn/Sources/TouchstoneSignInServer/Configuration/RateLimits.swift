public import Foundation

/// How often something may be asked for (NP-41), counted in the store for all processes together.
public struct RateLimits: Sendable {
    /// So many in so many seconds.
    public struct Limit: Sendable {
        /// At most, within one window.
        public var count: Int
        /// Seconds.
        public var window: TimeInterval

        /// With these values.
        public init(_ count: Int, per window: TimeInterval) {
            self.count = count
            self.window = window
        }
    }

    /// Anything at all, from one address.
    public var address = Limit(300, per: 60)
    /// Password attempts from one address.
    public var addressPasswords = Limit(20, per: 60)
    /// Password attempts for one name, from one address.
    public var accountPasswords = Limit(20, per: 300)
    /// Challenges for one key, to one address.
    public var key = Limit(20, per: 60)
    /// Challenges for all keys of one account, to one address.
    public var account = Limit(60, per: 60)
    /// How many times each of these three for all addresses together.
    ///
    /// Somebody who guesses at a name locks themselves out long before its owner, and many who do so together are
    /// slowed all the same.
    public var everywhere = 20
    /// Web requests, and answers to them, from one address.
    public var addressWebRequests = Limit(60, per: 60)
    /// Wrong codes and denials of one web request.
    public var webRequest = Limit(5, per: 600)

    /// The defaults.
    public init() {}
}
