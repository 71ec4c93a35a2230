import Foundation
import Timing

/// Reads a run's lines from standard input; prints what was measured, and which budgets it keeps.
///
/// With arguments it prints the budgets as lines of `history.csv` instead, each of which begins with them. Ends with 1 where a budget is missed.
@main
struct BenchmarkReport {
    static func main() {
        var results = Results()
        while let line = readLine() { results.read(line) }
        let head = CommandLine.arguments.dropFirst()
        if head.isEmpty { printTables(results) } else { printHistory(results, head.joined(separator: ",")) }
        let isMissed = Budget.all.contains { budget in budget.rounds(results)?.keeps(budget.limit) == false }
        exit(isMissed ? 1 : 0)
    }

    private static func printTables(_ results: Results) {
        print("load average, as the rounds began: \(results.loads.joined(separator: "; "))\n")
        print(row("what", "operation", "items", "cores", "p50 µs", "p99 µs", "per second"))
        for timing in results.timings {
            let key = timing.key
            print(
                row(
                    key.subject, key.operation, key.items == 0 ? "" : "\(key.items)", key.placement,
                    decimal(timing.p50Microseconds), decimal(timing.p99Microseconds),
                    String(format: "%.0f", timing.perSecond)))
        }
        print("\n" + budgetRow("budget", "limit", "median", "rounds", ""))
        for budget in Budget.all {
            let rounds = budget.rounds(results)
            let verdict = rounds.flatMap { $0.keeps(budget.limit) }.map { $0 ? "met" : "MISSED" }
            print(
                budgetRow(
                    budget.title, budget.limit.map { "\($0) \(budget.unit)" } ?? "told",
                    rounds.map { "\(decimal($0.median)) \(budget.unit)" } ?? "not measured",
                    rounds.map { "\(decimal($0.lowest))–\(decimal($0.highest))" } ?? "", verdict ?? ""))
        }
    }

    private static func printHistory(_ results: Results, _ head: String) {
        for budget in Budget.all {
            guard let rounds = budget.rounds(results) else { continue }
            let figures = [rounds.median, rounds.lowest, rounds.highest].map { decimal($0) }
            let title = budget.title.replacing("\"", with: "'")
            print(
                ([head, "\"\(title)\"", budget.limit.map { "\($0)" } ?? "", budget.unit] + figures)
                    .joined(separator: ","))
        }
    }

    private static func row(_ columns: String...) -> String {
        zip(columns, [14, 16, -8, 7, -11, -11, -11]).map(pad).joined(separator: " ")
    }

    private static func budgetRow(_ columns: String...) -> String {
        zip(columns, [76, 9, -14, 15, 7]).map(pad).joined(separator: " ")
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
    /// In the order of the rounds.
    private(set) var timings: [Timing] = []
    private(set) var residentKibibytes: Int?
    /// Processor time of the daemons for an unlock with the passcode, one for each round, placement and number of items.
    private(set) var guessMilliseconds: [Double] = []
    /// Of each resident program of the bridges, one for each round and placement.
    private(set) var bridgeKibibytes: [String: [Double]] = [:]
    /// Of the window's program, one for each round and placement.
    private(set) var agentKibibytes: [Double] = []
    /// How many each of them held at once.
    private(set) var bridgeConnections: [Double] = []
    /// How many calls over D-Bus an operation of libsecret takes, by the service that it asks.
    private(set) var busCalls: [String: [String: Double]] = [:]
    /// The machine's load averages when the rounds began.
    private(set) var loads: [String] = []

    mutating func read(_ line: String) {
        if let timing = Timing(line: line) {
            timings.append(timing)
        } else if line.hasPrefix("memory\t") {
            residentKibibytes = Int(line.dropFirst("memory\t".count))
        } else if line.hasPrefix("guess\t") {
            guessMilliseconds += Double(line.dropFirst("guess\t".count)).map { [$0] } ?? []
        } else if line.hasPrefix("bridge memory\t") {
            let fields = line.split(separator: "\t")
            guard fields.count >= 3, let size = Double(fields[2]) else { return }
            bridgeKibibytes[String(fields[1]), default: []].append(size)
        } else if line.hasPrefix("agent memory\t") {
            agentKibibytes += Double(line.dropFirst("agent memory\t".count)).map { [$0] } ?? []
        } else if line.hasPrefix("bridge connections\t") {
            bridgeConnections += Double(line.dropFirst("bridge connections\t".count)).map { [$0] } ?? []
        } else if line.hasPrefix("dbus calls\t") {
            let fields = line.split(separator: "\t")
            guard fields.count == 4, let count = Double(fields[3]) else { return }
            busCalls[String(fields[1]), default: [:]][String(fields[2])] = count
        } else if line.hasPrefix("load\t") {
            loads.append(String(line.dropFirst("load\t".count)))
        }
    }

    /// One for each round.
    subscript(subject: String, operation: String, items: Int, placement: String) -> [Timing] {
        timings.filter { $0.key == .init(subject, operation, items: items, placement) }
    }
}

/// What the rounds of a run say of one budget.
struct Rounds {
    private let sorted: [Double]

    /// nil where there was no round.
    init?(_ values: [Double]) {
        guard !values.isEmpty else { return nil }
        sorted = values.sorted()
    }

    var median: Double { sorted[sorted.count / 2] }
    var lowest: Double { sorted[0] }
    var highest: Double { sorted[sorted.count - 1] }

    /// nil where there is no limit.
    func keeps(_ limit: Budget.Limit?) -> Bool? { limit.map { $0.allows(median) } }
}
