import Foundation
import Metrics
import Synchronization

/// Counters and timers in memory, and their text for Prometheus (exposition format 0.0.4).
///
/// The labels are ours and few: routes, statuses, reasons, operations of the store.
final class MetricsRegistry: MetricsFactory, Sendable {
    private struct Key: Hashable {
        let label: String
        let dimensions: String
    }

    private let counters = Mutex<[Key: Count]>([:])
    private let timers = Mutex<[Key: Histogram]>([:])

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        let key = Key(label: label, dimensions: Self.text(dimensions))
        return counters.withLock { counters in
            if let counter = counters[key] { return counter }
            let counter = Count()
            counters[key] = counter
            return counter
        }
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        let key = Key(label: label, dimensions: Self.text(dimensions))
        return timers.withLock { timers in
            if let timer = timers[key] { return timer }
            let timer = Histogram()
            timers[key] = timer
            return timer
        }
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        NOOPMetricsHandler.instance
    }

    // Kept for the life of the process.
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}

    var text: String {
        let counters = counters.withLock { $0 }
        let timers = timers.withLock { $0 }
        var lines: [String] = []
        for (label, group) in Dictionary(grouping: counters, by: \.key.label).sorted(by: { $0.key < $1.key }) {
            lines.append("# TYPE \(label) counter")
            lines += group.map { "\(label){\($0.key.dimensions)} \($0.value.value)" }.sorted()
        }
        for (label, group) in Dictionary(grouping: timers, by: \.key.label).sorted(by: { $0.key < $1.key }) {
            lines.append("# TYPE \(label) histogram")
            for (key, timer) in group.sorted(by: { $0.key.dimensions < $1.key.dimensions }) {
                lines += timer.lines(label: label, dimensions: key.dimensions)
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func text(_ dimensions: [(String, String)]) -> String {
        dimensions.map { "\($0.0)=\"\($0.1)\"" }.joined(separator: ",")
    }
}

private final class Count: CounterHandler {
    private let count = Atomic<Int64>(0)
    var value: Int64 { count.load(ordering: .relaxed) }
    func increment(by amount: Int64) { count.wrappingAdd(amount, ordering: .relaxed) }
    func reset() { count.store(0, ordering: .relaxed) }
}

private final class Histogram: TimerHandler {
    private struct State {
        var buckets = [Int64](repeating: 0, count: bounds.count)
        var count: Int64 = 0
        var nanoseconds: Int64 = 0
    }

    /// Seconds.
    private static let bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
    private let state = Mutex(State())

    func recordNanoseconds(_ duration: Int64) {
        state.withLock { state in
            for (index, bound) in Self.bounds.enumerated() where Double(duration) <= bound * 1e9 {
                state.buckets[index] += 1
            }
            state.count += 1
            state.nanoseconds += duration
        }
    }

    func lines(label: String, dimensions: String) -> [String] {
        let state = state.withLock { $0 }
        return zip(Self.bounds, state.buckets).map { "\(label)_bucket{\(dimensions),le=\"\($0)\"} \($1)" } + [
            "\(label)_bucket{\(dimensions),le=\"+Inf\"} \(state.count)",
            "\(label)_sum{\(dimensions)} \(Double(state.nanoseconds) / 1e9)",
            "\(label)_count{\(dimensions)} \(state.count)",
        ]
    }
}
