import Foundation

/// The server's clock as its answers told it (NP-15): what is compared with it there is dated by it, whatever this machine believes.
struct ServerClock: Sendable {
    /// Seconds that the server's clock is ahead of this one; nil before its first answer.
    var difference: Int?

    static var local: Int { Int(Date().timeIntervalSince1970) }

    var now: Int { Self.local + (difference ?? 0) }

    mutating func heard(_ serverTime: Int) {
        // A time beyond any clock's would overflow a sum, and is none.
        guard (0...Self.latest).contains(serverTime) else { return }
        difference = serverTime - Self.local
    }

    /// The year 9999.
    private static let latest = 253_402_300_799
}
