/// Bears a thing three times within two minutes; after the third it wants to be left alone for five.
package struct Patience: Sendable {
    package enum Limits {
        package static let times = 3
        /// In seconds, as the next.
        package static let window = 120.0
        package static let pause = 300.0
    }

    /// When it happened, the newest at the end.
    private var recent: [Double] = []
    private var endOfPause = -Double.infinity

    package init() {}

    /// Counts one more.
    package mutating func note(now: Double) {
        recent.removeAll { now - $0 >= Limits.window }
        recent.append(now)
        guard recent.count >= Limits.times else { return }
        recent = []
        endOfPause = now + Limits.pause
    }

    package func isExhausted(now: Double) -> Bool { now < endOfPause }

    /// When it has been forgotten, whatever happened.
    package var forgottenAt: Double { max(endOfPause, (recent.last ?? -.infinity) + Limits.window) }
}
