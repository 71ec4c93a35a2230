/// How long something has failed, and how long to wait before the next try: longer each time, until it works.
struct Backoff {
    /// Seconds, after the first failure, the second, and so on; the last again and again.
    static let pauses = [0.1, 0.2, 0.4, 0.8]

    private var failures = 0
    /// When the first of these failures was; nil: it works.
    private(set) var since: Double?

    /// Notes a failure at this time.
    ///
    /// - Returns: Seconds to wait.
    mutating func fail(at now: Double) -> Double {
        since = since ?? now
        defer { failures += 1 }
        return Self.pauses[min(failures, Self.pauses.count - 1)]
    }

    /// It worked, or whatever failed is no reason to give it up.
    mutating func reset() { self = Backoff() }
}
