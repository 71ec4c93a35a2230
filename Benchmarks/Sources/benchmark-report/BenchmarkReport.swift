import Foundation
import Timing

/// Reads a run's lines from standard input; prints what was measured, and which budgets it keeps.
@main
struct BenchmarkReport {
    static func main() {
        var results = Results()
        while let line = readLine() { results.read(line) }

        print(row("what", "operation", "items", "cores", "p50 µs", "p99 µs", "per second"))
        for timing in results.timings {
            let key = timing.key
            print(
                row(
                    key.subject, key.operation, key.items == 0 ? "" : "\(key.items)", key.placement,
                    decimal(timing.p50Microseconds), decimal(timing.p99Microseconds),
                    String(format: "%.0f", timing.perSecond)))
        }
        print("\n" + budgetRow("budget", "limit", "measured", ""))
        for budget in Budget.all {
            let value = budget.value(results)
            print(
                budgetRow(
                    budget.title, "\(budget.limit) \(budget.unit)",
                    value.map { "\(decimal($0)) \(budget.unit)" } ?? "not measured",
                    value.map { budget.limit.allows($0) ? "met" : "MISSED" } ?? ""))
        }
    }

    private static func row(_ columns: String...) -> String {
        zip(columns, [14, 16, -8, 7, -11, -11, -11]).map(pad).joined(separator: " ")
    }

    private static func budgetRow(_ columns: String...) -> String {
        zip(columns, [74, 11, -14, 7]).map(pad).joined(separator: " ")
    }

    /// Fills up to `width` characters; a negative width puts the text at the right.
    private static func pad(_ text: String, _ width: Int) -> String {
        let space = String(repeating: " ", count: max(0, abs(width) - text.count))
        return width < 0 ? space + text : text + space
    }

    private static func decimal(_ value: Double) -> String {
        String(format: value < 100 ? "%.2f" : "%.0f", value)
    }
}

/// Everything that one run measured.
struct Results {
    private(set) var timings: [Timing] = []
    private(set) var residentKibibytes: Int?

    mutating func read(_ line: String) {
        if let timing = Timing(line: line) {
            timings.append(timing)
        } else if line.hasPrefix("memory\t") {
            residentKibibytes = Int(line.dropFirst("memory\t".count))
        }
    }

    subscript(subject: String, operation: String, items: Int, placement: String) -> Timing? {
        timings.first { $0.key == .init(subject, operation, items: items, placement) }
    }
}
