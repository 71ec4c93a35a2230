/// How long to wait after a failure: a second, then twice as long each time, and half a minute at most.
package struct Backoff: Sendable {
    package static let first = Duration.seconds(1)
    package static let longest = Duration.seconds(30)

    private var last: Duration?

    package init() {}

    /// The next wait.
    ///
    /// - Parameter chance: 0…1. Several devices that lost one store do not come back at the same moment.
    /// - Returns: How long to wait now.
    package mutating func next(chance: Double) -> Duration {
        let wait = min(last.map { $0 * 2 } ?? Self.first, Self.longest)
        last = wait
        return wait * (0.75 + 0.25 * min(max(chance, 0), 1))
    }

    /// It works again.
    package mutating func reset() { last = nil }
}
