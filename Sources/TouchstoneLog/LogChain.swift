package import Crypto
package import Foundation
package import TouchstoneCore

/// Something that happened and belongs in the log.
package struct LogFact: Hashable, Sendable {
    package var event: LogEvent
    package var author: LogEntry.Author
    package var app: AppIdentifier?
    /// Whom the app asks for, if it is a bridge (ND-1).
    package var client: AppIdentifier?
    /// The program that sent what was typed, as touchstoned says.
    package var by: AppIdentifier?
    /// A word of ours, as `result`.
    package var asked: String?
    package var factors: [LogFactor]
    /// `ok`, or why not.
    package var result: String
    package var count: Int?
    /// Whether an app can make it happen as often as it likes.
    ///
    /// Then equal ones within some seconds are counted, and told together: nobody can bury one entry under thousands, and what is used often
    /// costs little.
    package var isRepeatable: Bool

    package init(
        event: LogEvent, author: LogEntry.Author = .enclave, app: AppIdentifier? = nil, client: AppIdentifier? = nil,
        by: AppIdentifier? = nil,
        asked: String? = nil, factors: [LogFactor] = [], result: String = "ok", count: Int? = nil,
        isRepeatable: Bool = false
    ) {
        self.event = event
        self.author = author
        self.app = app
        self.client = client
        self.by = by
        self.asked = asked
        self.factors = factors
        self.result = result
        self.count = count
        self.isRepeatable = isRepeatable
    }
}

/// The log's entries as the enclave makes them: each with a code of its own and that of the one before.
///
/// A plain value; the enclave's host gives it the time and sends the lines on. The format is in docs/audit-log.md.
package struct LogChain: Sendable {
    package enum Limits {
        /// Seconds in which equal repeatable facts become one entry.
        package static let window = 10.0
        /// Repeatable entries in one second; what is more is only counted, all together.
        package static let entriesPerSecond = 20
        /// Of them those that tell of a refused call, which costs an app less than any other: so that they never hide the others.
        package static let refusalsPerSecond = 10
        /// Characters of an application identifier.
        package static let appCharacters = 200
        /// The same of whom an app asks for: both are in one line.
        package static let clientCharacters = 100
        /// Facts that wait for the log to be resumed; more are not made an entry of.
        package static let waiting = 1024
    }

    private struct Repeat {
        var since: Double
        var count = 0
    }

    /// What was written since a second began.
    private struct Second {
        var began = 0.0
        var entries = 0
        var refusals = 0
        /// Facts that came when the second was full.
        var others = 0
    }

    private let key: SymmetricKey
    private let boot: String
    package private(set) var head: LogHead
    /// How the boot before left it, until the log is resumed.
    private let kept: KeptLog
    private var isResumed = false
    package private(set) var isClosed = false
    private var waiting: [(fact: LogFact, times: Int)] = []
    /// No more than begin within a window.
    private var repeats: [LogFact: Repeat] = [:]
    private var second = Second()

    /// - Parameters:
    ///   - key: What the codes are made with.
    ///   - boot: 8 bytes that are new with each boot.
    ///   - kept: How the boot before left the log; nil before the first.
    package init(key: SymmetricKey, boot: Data, kept: KeptLog?) {
        self.key = key
        self.boot = boot.hex
        self.kept = kept ?? KeptLog(head: .empty, isOpen: false)
        head = self.kept.head
    }

    /// What is to be kept with the state.
    package var toKeep: KeptLog { isResumed ? KeptLog(head: head, isOpen: !isClosed) : kept }

    /// Whether anything is counted that no entry tells of yet.
    package var isCounting: Bool { !repeats.isEmpty || second.others > 0 }

    /// Takes what happened, so many times if it is repeatable.
    package mutating func note(_ fact: LogFact, times: Int = 1) {
        guard !isClosed, waiting.count < Limits.waiting else { return }
        waiting.append((fact, times))
    }

    /// Goes on after the last of these lines that is ours, where it is not older than what was kept; else after what was kept.
    ///
    /// What follows that line was not whole when a power cut came, say: the next entry has its number.
    package mutating func resume(newestLines lines: some BidirectionalCollection<String>) {
        guard !isResumed else { return }
        isResumed = true
        var started = LogFact(event: .deviceStarted)
        let place = lines.lastIndex(where: isGenuine)
        let last = place.flatMap { LogEntry(line: lines[$0])?.head }
        switch last {
        case nil where lines.isEmpty && kept.head == .empty: break
        case let last? where last == kept.head && kept.isOpen: started.result = "after-crash"
        case let last? where last == kept.head && place == lines.indices.last: break
        case let last? where last.sequence > kept.head.sequence:
            head = last
            // Nothing is written after the end was kept: the state is an older one.
            started.result = kept.isOpen ? "after-crash" : "state-restored"
        default: started.result = "log-cut"
        }
        waiting.insert((started, 1), at: 0)
    }

    /// The lines of what was noted.
    package mutating func lines(now: Double, date: Date) -> [String] {
        guard isResumed, !waiting.isEmpty || isCounting else { return [] }
        var lines: [String] = []
        if now < second.began || now - second.began >= 1 {
            lines += endSecond(date)
            second.began = now
        }
        // Before what is new, so that a count stands before what came after it.
        lines += endRepeats(date) { now - $1.since >= Limits.window }
        for (fact, times) in waiting {
            guard fact.isRepeatable else {
                // Somebody touched a sensor for this app, or typed: what it does next is told at once again.
                if let app = fact.app { lines += endRepeats(date) { counted, _ in counted.app == app } }
                lines.append(line(fact, date))
                continue
            }
            if let counted = repeats[fact]?.count {
                repeats[fact]?.count = Self.sum(counted, fact.count ?? times)
                continue
            }
            let isRefusal = fact.event == .callRefused
            guard second.entries < Limits.entriesPerSecond,
                !isRefusal || second.refusals < Limits.refusalsPerSecond
            else {
                second.others = Self.sum(second.others, fact.count ?? times)
                continue
            }
            second.entries += 1
            if isRefusal { second.refusals += 1 }
            repeats[fact] = Repeat(since: now, count: times - 1)
            lines.append(line(fact, date))
        }
        waiting = []
        return lines
    }

    private static func sum(_ counted: Int, _ more: Int) -> Int {
        let (sum, isTooMany) = counted.addingReportingOverflow(more)
        return isTooMany ? .max : sum
    }

    /// As `lines`, and those of what is being counted, which is counted on.
    ///
    /// No more of them than there may be in a second: who asks again and again gets no more entries by it.
    package mutating func linesWithCounts(now: Double, date: Date) -> [String] {
        var lines = lines(now: now, date: date)
        guard isResumed else { return lines }
        for (fact, counted) in repeats.sorted(by: { $0.value.since < $1.value.since })
        where counted.count > 0 && second.entries < Limits.entriesPerSecond {
            second.entries += 1
            repeats[fact]?.count = 0
            lines.append(line(fact, counted, date))
        }
        return lines
    }

    /// The last line of this boot.
    package mutating func close(now: Double, date: Date) -> [String] {
        guard isResumed, !isClosed else { return [] }
        var last = lines(now: now, date: date)
        last += endRepeats(date) { _, _ in true }
        last += endSecond(date)
        last.append(line(LogFact(event: .deviceStopped), date))
        isClosed = true
        return last
    }

    /// Ends counting, oldest first; what was counted becomes an entry.
    private mutating func endRepeats(_ date: Date, where isOver: (LogFact, Repeat) -> Bool) -> [String] {
        var lines: [String] = []
        for (fact, counted) in repeats.filter(isOver).sorted(by: { $0.value.since < $1.value.since }) {
            repeats[fact] = nil
            if counted.count > 0 { lines.append(line(fact, counted, date)) }
        }
        return lines
    }

    /// What came when the second was full becomes one entry.
    private mutating func endSecond(_ date: Date) -> [String] {
        defer { second = Second() }
        guard second.others > 0 else { return [] }
        return [line(LogFact(event: .others, count: second.others), date)]
    }

    private mutating func line(_ fact: LogFact, _ counted: Repeat, _ date: Date) -> String {
        var told = fact
        told.count = counted.count
        return line(told, date)
    }

    // MARK: lines

    private static let beforeCode = ",\"code\":\""
    private static let afterCode = "\"}"
    private static let codeCharacters = 64

    private mutating func line(_ fact: LogFact, _ date: Date) -> String {
        var text = "{\"sequence\":\(head.sequence + 1),\"time\":\"\(Self.time(date))\",\"boot\":\"\(boot)\""
        text += ",\"author\":\"\(fact.author.rawValue)\",\"event\":\"\(fact.event.rawValue)\""
        if let app = fact.app { text += ",\"app\":\"\(Self.escaped(app))\"" }
        if let client = fact.client {
            text += ",\"client\":\"\(Self.escaped(client, at: Limits.clientCharacters))\""
        }
        if let by = fact.by { text += ",\"by\":\"\(Self.escaped(by))\"" }
        if let asked = fact.asked { text += ",\"asked\":\"\(asked)\"" }
        if !fact.factors.isEmpty {
            text += ",\"factors\":[\(fact.factors.map { "\"\($0.rawValue)\"" }.joined(separator: ","))]"
        }
        text += ",\"result\":\"\(fact.result)\""
        if let count = fact.count { text += ",\"count\":\(count)" }
        text += ",\"previous\":\"\(head.code)\""
        let code = code(of: text)
        head = LogHead(sequence: head.sequence + 1, code: code)
        return text + Self.beforeCode + code + Self.afterCode
    }

    private func code(of text: String) -> String {
        Data(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)).hex
    }

    /// Whether this enclave wrote the line, byte for byte.
    package func isGenuine(_ line: String) -> Bool {
        let bytes = Data(line.utf8)
        let tail = Self.beforeCode.utf8.count + Self.codeCharacters + Self.afterCode.utf8.count
        guard bytes.count > tail, bytes.count <= LogEntry.maximumLineBytes else { return false }
        let text = bytes.dropLast(tail)
        let rest = bytes.suffix(tail)
        guard rest.starts(with: Self.beforeCode.utf8),
            rest.suffix(Self.afterCode.utf8.count).elementsEqual(Self.afterCode.utf8),
            let code = Data(lowercaseHex: rest.dropFirst(Self.beforeCode.utf8.count).prefix(Self.codeCharacters))
        else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: text, using: key)
    }

    /// UTC with milliseconds: "2026-11-21T16:20:01.123Z".
    private static func time(_ date: Date) -> String {
        date.formatted(
            Date.ISO8601FormatStyle(includingFractionalSeconds: true, timeZone: .gmt))
    }

    /// Plain ASCII for inside a JSON string, cut where it is long: any other character is escaped.
    ///
    /// A line of ASCII has one spelling only, and none that a program shows as something else.
    private static func escaped(_ app: AppIdentifier, at maximum: Int = Limits.appCharacters) -> String {
        var escaped = ""
        for (index, scalar) in app.rawValue.unicodeScalars.enumerated() {
            if index == maximum { return escaped + "\\u2026" }
            switch scalar {
            case "\"", "\\": escaped += "\\\(scalar)"
            case " "..."~": escaped.unicodeScalars.append(scalar)
            default:
                for unit in String(scalar).utf16 {
                    escaped += "\\u" + Data([UInt8(unit >> 8), UInt8(unit & 0xFF)]).hex
                }
            }
        }
        return escaped
    }
}

/// Where the log ended when the state was kept last.
package struct KeptLog: Codable, Equatable, Sendable {
    package var head: LogHead
    /// The device was on: more may have been written since.
    package var isOpen: Bool

    package init(head: LogHead, isOpen: Bool) {
        self.head = head
        self.isOpen = isOpen
    }
}

extension Data {
    /// In lower-case hexadecimal digits.
    fileprivate var hex: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(2 * count)
        for byte in self {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// nil where it is not digits alone, or a letter is a capital: one code has one spelling.
    fileprivate init?(lowercaseHex text: some Collection<UInt8>) {
        func value(_ digit: UInt8) -> UInt8? {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
            default: nil
            }
        }
        let digits = text.compactMap(value)
        guard digits.count == text.count, digits.count.isMultiple(of: 2) else { return nil }
        self.init(stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
    }
}
