internal import Crypto
internal import P11RPC

/// What one session does at the moment.
struct Session {
    /// A signature that was begun.
    struct Signing {
        /// The handle of the key.
        var key: UInt64
        /// Of the data so far; nil where the client signs a digest of its own.
        var hash: SHA256?
        /// Whether data came in parts, so that it also ends in parts.
        var isInParts = false
        /// Whether the client still has to log in for this one (PK-12).
        var wantsLogin = false
    }

    /// Whether it may change what the token holds.
    let isReadWrite: Bool
    /// The handles that a search has found, and not given yet; nil where no search was begun.
    var found: [UInt64]?
    /// The signature that was begun.
    var signing: Signing?
}

/// What is signed where the client made the digest (PK-14).
enum Digest {
    /// Bytes of a digest that P-256 signs.
    static let length = 32
    /// The longest digest that is taken, of SHA-512.
    static let longest = 64

    /// 32 bytes of whatever digest it is.
    ///
    /// Of a longer one the leftmost bits, as ECDSA says. A shorter one is the number that it is.
    ///
    /// - Throws: `ReturnValue.dataLengthRange`.
    static func forSigning(_ data: [UInt8]) throws(ReturnValue) -> [UInt8] {
        guard (1...longest).contains(data.count) else { throw .dataLengthRange }
        return Array(repeating: 0, count: max(0, length - data.count)) + data.prefix(length)
    }
}
