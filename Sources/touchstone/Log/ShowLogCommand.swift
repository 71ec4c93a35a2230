import ArgumentParser
import Foundation
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneLog

/// `touchstone log show`, which is also `touchstone log`.
struct ShowLogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show the log (what 'touchstone log' does).",
        discussion: "Times are shown in local time, and with --json in UTC, as they are written.")

    @Flag(help: "As JSON: one object a line, as the device keeps it.") var json = false
    @Option(
        help: ArgumentHelp(
            "Only entries since a time (2026-11-21, 2026-11-21T16:00, or 90s, 30m, 12h, 7d ago).", valueName: "time"))
    var since: String?
    @Flag(name: .shortAndLong, help: "Show each new entry as it comes.") var follow = false
    @Option(name: [.customShort("n"), .long], help: "Only this many of the newest entries.") var number: Int?
    @Flag(help: "Only what an app was refused or did not get, and why.") var refused = false
    @OptionGroup var device: DeviceOption

    func validate() throws {
        if let number, number < 0 { throw ValidationError("-n takes a number of 0 or more") }
        if let since, LogTime.parse(since, now: Date()) == nil {
            throw ValidationError(
                "--since takes a date (2026-11-21), a time (2026-11-21T16:00) or how long ago (90s, 30m, 12h, 7d)")
        }
    }

    func run() throws {
        let paths = try device.paths
        try DeviceDirectory.check(paths)
        let connection = try DeviceClient(paths)
        let since = since.flatMap { LogTime.parse($0, now: Date()) }
        var table = LogTable(names: AppNames(paths))
        var waiting: [(entry: LogEntry, line: String)] = []
        // The newest refused calls may be older than the newest entries.
        let newest = refused && !follow ? nil : number
        // Columns are as wide as what comes first; what follows later keeps to them.
        func show() {
            if refused, !follow, let number { waiting = Array(waiting.suffix(number)) }
            let shown = json ? waiting.map { $0.line } : table.lines(waiting.map { $0.entry })
            for line in shown { StandardOutput.say(line) }
            waiting = []
        }
        do {
            // So that what is only counted is written.
            _ = try connection.call(DeviceInterface.GetLogHead.self)
            try connection.stream(DeviceInterface.ReadLog.self, .init(newest: newest, follow: follow)) { reply in
                for line in reply.lines {
                    guard let entry = LogEntry(line: line) else {
                        StandardError.say("a line of the log cannot be read; run 'touchstone log verify'")
                        continue
                    }
                    if let since, let time = LogTime.date(entry), time < since { continue }
                    if refused, !entry.isRefusal { continue }
                    waiting.append((entry, line))
                }
                // Without columns and without cutting, entries are shown as they come.
                if follow || (json && !refused) { show() }
                return true
            }
        } catch {
            throw Failure.of(error, paths)
        }
        show()
    }
}

/// Entries as rows, in columns that stay as wide as they were at first.
struct LogTable {
    private var widths: [Int]?
    private let hasColour: Bool
    private let names: AppNames

    init(names: AppNames, hasColour: Bool = Terminal.hasColour) {
        self.names = names
        self.hasColour = hasColour
    }

    private static let head = ["TIME", "APP", "WHAT", "PROVEN BY", "RESULT"]

    mutating func lines(_ entries: [LogEntry]) -> [String] {
        guard !entries.isEmpty else { return [] }
        let rows = entries.map(cells)
        var lines: [String] = []
        let widths =
            self.widths
            ?? Self.head.indices.map { column in
                ([Self.head] + rows).map { PlainText.columns($0[column]) }.max() ?? 0
            }
        if self.widths == nil { lines.append(Self.row(Self.head, widths)) }
        self.widths = widths
        return lines + zip(entries, rows).map { entry, cells in coloured(Self.row(cells, widths), entry) }
    }

    private func cells(_ entry: LogEntry) -> [String] {
        var what = LogWords.event(entry)
        if let client = entry.client { what += ", for \(names.shown(client))" }
        if let by = entry.by { what += ", from \(names.shown(by))" }
        if let count = entry.count { what += " (\(count) more)" }
        return [
            LogTime.local(entry), entry.app.map(names.shown) ?? "-", what, entry.factors.map(LogWords.factors) ?? "-",
            LogWords.result(entry.result),
        ].map(PlainText.line)
    }

    private static func row(_ cells: [String], _ widths: [Int]) -> String {
        cells.enumerated().map { column, cell in
            column == cells.count - 1
                ? cell : cell + String(repeating: " ", count: max(0, widths[column] - PlainText.columns(cell)) + 2)
        }.joined()
    }

    /// Red for what was refused, faint for what touchstoned only saw.
    private func coloured(_ row: String, _ entry: LogEntry) -> String {
        guard hasColour else { return row }
        if entry.result != "ok" { return "\u{1B}[31m\(row)\u{1B}[0m" }
        return entry.author == .touchstoned ? "\u{1B}[2m\(row)\u{1B}[0m" : row
    }
}

/// Times in the log and on the command line.
enum LogTime {
    static func date(_ entry: LogEntry) -> Date? {
        try? Date(
            entry.time,
            strategy: .iso8601.year().month().day().time(includingFractionalSeconds: true).timeZone(separator: .omitted)
        )
    }

    static func local(_ entry: LogEntry, timeZone: TimeZone = .current) -> String {
        guard let date = date(entry) else { return entry.time }
        return text(date, "yyyy-MM-dd HH:mm:ss", timeZone)
    }

    /// A date, a time of day with it, or how long ago.
    static func parse(_ text: String, now: Date, timeZone: TimeZone = .current) -> Date? {
        if let unit = text.last, let seconds = ["s": 1.0, "m": 60, "h": 3600, "d": 86400][unit],
            let count = Double(text.dropLast()), count.isFinite, count >= 0
        {
            return now.addingTimeInterval(-count * seconds)
        }
        for format in ["yyyy-MM-dd", "yyyy-MM-dd'T'HH:mm", "yyyy-MM-dd'T'HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ssXXXXX"] {
            let formatter = formatter(format, timeZone)
            if let date = formatter.date(from: text) { return date }
        }
        return nil
    }

    private static func text(_ date: Date, _ format: String, _ timeZone: TimeZone) -> String {
        formatter(format, timeZone).string(from: date)
    }

    private static func formatter(_ format: String, _ timeZone: TimeZone) -> DateFormatter {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = timeZone
        formatter.dateFormat = format
        formatter.isLenient = false
        return formatter
    }
}
