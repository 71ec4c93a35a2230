/// What is typed while a prompt gives way to another was meant for the one that is gone: for a second nothing counts.
///
/// An agent whose prompts come up among other programs also lets nothing count while a prompt is new (DA-5).
package struct TypingPause {
    private let now: () -> ContinuousClock.Instant
    private let fresh: Duration
    private var interruptedAt: ContinuousClock.Instant?
    package private(set) var end: ContinuousClock.Instant?

    /// - Parameters:
    ///   - fresh: How long nothing counts at a prompt that replaced none.
    ///   - now: The time.
    package init(fresh: Duration = .zero, now: @escaping () -> ContinuousClock.Instant) {
        self.fresh = fresh
        self.now = now
    }

    /// A prompt went before what its owner was typing was entered.
    package mutating func interrupted() { interruptedAt = now() }

    /// Another prompt came up.
    package mutating func begin() {
        defer { interruptedAt = nil }
        let now = now()
        if let end, end > now { return self.end = now + Self.length }
        let replaces = interruptedAt.map { now - $0 <= Self.length } ?? false
        end = replaces ? now + Self.length : fresh > .zero ? now + fresh : nil
    }

    /// Whether nothing counts now.
    package mutating func isOn() -> Bool {
        if let end, end <= now() { self.end = nil }
        return end != nil
    }

    private static let length = Duration.seconds(1)
}
