/// Which refusals get a line on the terminal: each once a minute, and no more different ones than a person can read.
struct RefusalLog {
    static let interval = Duration.seconds(60)
    /// Different lines in that time.
    static let maximumLines = 20

    private var said: [String: ContinuousClock.Instant] = [:]

    mutating func isNew(_ line: String, at now: ContinuousClock.Instant) -> Bool {
        said = said.filter { $0.value + Self.interval > now }
        guard said[line] == nil, said.count < Self.maximumLines else { return false }
        said[line] = now
        return true
    }
}
