package import TouchstoneCore

/// Looks at the lines of a log, one after the other, and says where it is not as the enclave wrote it.
///
/// Whether a line is genuine is for the enclave to say; this looks at their order. A plain value, of the size of what it finds.
package struct LogCheck: Sendable {
    /// Where and how a log is not whole.
    package enum Finding: Hashable, Sendable {
        /// The line was changed, or is not this device's. `entry` is what it says of itself, if it can be read.
        case damaged(line: Int, entry: Int?)
        /// These entries are not there.
        case missing(ClosedRange<Int>)
        /// The entry stands after a later one.
        case outOfOrder(entry: Int, line: Int)
        /// The entry is there twice.
        case repeated(entry: Int, line: Int)
        /// The entry is genuine, and does not follow the one before it: two logs grew out of one, as after an old state was put back.
        case forked(entry: Int, line: Int)
    }

    package private(set) var findings: [Finding] = []
    /// Genuine entries so far.
    package private(set) var entries = 0
    package private(set) var lines = 0
    /// The first entry that is there, and the latest.
    package private(set) var first: Int?
    package private(set) var last: LogHead?
    private var missing: [ClosedRange<Int>] = []
    private var damagedSinceLast = 0
    private let from: Int

    /// - Parameter from: The number of the entry that should be the first: more than 1 where older ones are kept elsewhere.
    package init(from: Int = 1) {
        self.from = max(from, 1)
    }

    package mutating func add(_ line: String, isGenuine: Bool) {
        lines += 1
        let entry = LogEntry(line: line)
        guard isGenuine, let entry else {
            damagedSinceLast += 1
            return findings.append(.damaged(line: lines, entry: entry?.sequence))
        }
        entries += 1
        let number = entry.sequence
        let expected = last.map { $0.sequence + 1 } ?? from
        if number < expected {
            late(number)
        } else {
            if number > expected {
                skip(expected...(number - 1))
            } else if damagedSinceLast == 0,
                entry.previous != (last ?? (from == 1 ? .empty : nil))?.code ?? entry.previous
            {
                findings.append(.forked(entry: number, line: lines))
            }
            first = first ?? number
            last = entry.head
            damagedSinceLast = 0
        }
    }

    /// Adds lines of which the enclave says which are genuine.
    ///
    /// It is asked about as many at once as a message carries, and never about one that is too long to be an entry.
    package mutating func add(
        _ lines: some Sequence<String>, asking genuine: ([String]) throws -> [Bool]
    ) rethrows {
        for batch in LogBatches(lines) {
            let entries = batch.filter(Self.canBeEntry)
            var answers = try (entries.isEmpty ? [] : genuine(entries)).makeIterator()
            for line in batch { add(line, isGenuine: Self.canBeEntry(line) && answers.next() == true) }
        }
    }

    private static func canBeEntry(_ line: String) -> Bool { line.utf8.count <= LogEntry.maximumLineBytes }

    /// To be called after the last line.
    ///
    /// - Parameter heads: Where the log ended, as the enclave knows it, before the lines were read and after; nil where these lines are not
    ///   the newest.
    package mutating func finish(between heads: (before: LogHead, after: LogHead)?) {
        if let (before, after) = heads {
            let end = last?.sequence ?? from - 1
            if end < before.sequence {
                skip((end + 1)...before.sequence)
            } else if let last,
                last.sequence > after.sequence || [before, after].contains(where: { $0.sequence == end && $0 != last })
            {
                findings.append(.forked(entry: end, line: lines))
            }
        }
        findings += missing.map { .missing($0) }
        findings.sort { $0.place < $1.place }
    }

    /// Entries that are not where they belong; as many of them as lines there are damaged were told of already.
    private mutating func skip(_ range: ClosedRange<Int>) {
        defer { damagedSinceLast = 0 }
        guard range.count > damagedSinceLast else { return }
        missing.append(range)
    }

    private mutating func late(_ number: Int) {
        guard let index = missing.firstIndex(where: { $0.contains(number) }) else {
            return findings.append(.repeated(entry: number, line: lines))
        }
        let range = missing.remove(at: index)
        if number < range.upperBound { missing.insert((number + 1)...range.upperBound, at: index) }
        if number > range.lowerBound { missing.insert(range.lowerBound...(number - 1), at: index) }
        findings.append(.outOfOrder(entry: number, line: lines))
    }
}

extension LogCheck.Finding {
    /// Lines and entries are near enough to one another to be told in one order.
    fileprivate var place: Int {
        switch self {
        case .damaged(let line, let entry): entry ?? line
        case .missing(let range): range.lowerBound
        case .outOfOrder(let entry, _), .repeated(let entry, _), .forked(let entry, _): entry
        }
    }
}
