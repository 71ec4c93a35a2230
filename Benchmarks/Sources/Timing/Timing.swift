/// How long one operation took, many times over: one line of a run's results.
package struct Timing: Hashable, Sendable {
    /// What is measured, as its line names it.
    package struct Key: Hashable, Sendable {
        /// `touchstone`, `floor`, `gnome-keyring` or `ssh-agent`.
        package var subject: String
        package var operation: String
        package var items: Int
        /// `pinned` to one core, or `free`.
        package var placement: String

        package init(_ subject: String, _ operation: String, items: Int, _ placement: String) {
            self.subject = subject
            self.operation = operation
            self.items = items
            self.placement = placement
        }
    }

    package var key: Key
    package var samples: Int
    package var p50Microseconds: Double
    package var p99Microseconds: Double
    package var perSecond: Double

    /// Sums up `durations`: one for each operation, in any order, not empty.
    package init(_ key: Key, durations: [Duration]) {
        let sorted = durations.map { $0 / .microseconds(1) }.sorted()
        self.key = key
        self.samples = sorted.count
        self.p50Microseconds = sorted[sorted.count / 2]
        self.p99Microseconds = sorted[min(sorted.count - 1, sorted.count * 99 / 100)]
        self.perSecond = Double(sorted.count) / (sorted.reduce(0, +) / 1_000_000)
    }
}

extension Timing {
    /// The fields, separated by tabs.
    package var line: String {
        [
            key.subject, key.operation, "\(key.items)", key.placement, "\(samples)", "\(p50Microseconds)",
            "\(p99Microseconds)", "\(perSecond)",
        ].joined(separator: "\t")
    }

    package init?(line: some StringProtocol) {
        let fields = line.split(separator: "\t")
        guard fields.count == 8, let items = Int(fields[2]), let samples = Int(fields[4]),
            let p50 = Double(fields[5]), let p99 = Double(fields[6]), let perSecond = Double(fields[7])
        else { return nil }
        self.key = Key(String(fields[0]), String(fields[1]), items: items, String(fields[3]))
        self.samples = samples
        self.p50Microseconds = p50
        self.p99Microseconds = p99
        self.perSecond = perSecond
    }
}

/// Times each of `count` calls, after a tenth as many that do not count.
package func measure(
    _ key: Timing.Key, count: Int, _ operation: (_ index: Int) throws -> Void
) rethrows -> Timing {
    for index in 0..<(count / 10) { try operation(index) }
    return Timing(
        key,
        durations: try (0..<count).map { index in
            let start = ContinuousClock.now
            try operation(count / 10 + index)
            return ContinuousClock.now - start
        })
}
