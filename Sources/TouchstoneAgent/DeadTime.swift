/// How long keys and buttons do nothing at a prompt in a window (DA-5).
///
/// A window comes up among other programs: what was typed for one of them, or for a prompt that is gone, must not approve.
public struct DeadTime {
    private var pause: TypingPause
    private let now: () -> ContinuousClock.Instant

    /// - Parameter now: The time.
    public init(now: @escaping () -> ContinuousClock.Instant = { .now }) {
        self.now = now
        pause = TypingPause(fresh: .milliseconds(500), now: now)
    }

    /// A prompt can be seen for the first time: half a second, or one second where it took the place of another.
    public mutating func began() { pause.begin() }

    /// A prompt went that its owner had not answered.
    public mutating func interrupted() { pause.interrupted() }

    /// What is left of it.
    public var left: Duration { pause.end.map { max(.zero, $0 - now()) } ?? .zero }
}
