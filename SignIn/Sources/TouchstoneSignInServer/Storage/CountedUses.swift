import Foundation
import Synchronization

/// Uses that are counted one after the other in one transaction: a use counts if none before it was too many (NP-41).
///
/// Otherwise one address could use up what all addresses share. PostgreSQL has all of it as one statement, because the
/// server's work for each statement is more than what the statement does (DEC-450).
struct CountedUses {
    /// The statement after them, which does something only if none of the uses is too many.
    struct Next {
        /// Of the text, which is made once for each number of uses.
        let name: String
        let values: [SQLValue]
        /// Made of that condition, and of the places of `values`.
        let text: (_ condition: String, _ places: [String]) -> String
    }

    private struct Shape: Hashable {
        /// Of each use, whether it counts for a key's account.
        var keyed: [Bool]
        var next: String?
        var isOne: Bool
    }

    private static let texts = Mutex<[Shape: [String]]>([:])

    /// Of each use: its bucket, and the key if it is the key's account's; its window; how many may be.
    private var buckets: [[SQLValue]] = []
    private var windows: [[SQLValue]] = []
    private var limits: [Int] = []
    private let next: Next?
    private let time: Date
    private let dialect: SQLDialect

    init(at time: Date, _ dialect: SQLDialect, then next: Next? = nil) {
        self.time = time
        self.dialect = dialect
        self.next = next
    }

    /// `keyID`: It counts for the account that has this key, or for the key's id: as they have other lengths, never both.
    mutating func add(_ use: StoredUse, ofAccountOf keyID: Data? = nil) {
        buckets.append([.bytes(use.bucket)] + (keyID.map { [.bytes($0)] } ?? []))
        let start = (time.timeIntervalSince1970 / use.window).rounded(.down) * use.window
        windows.append([
            .time(Date(timeIntervalSince1970: start)), .time(Date(timeIntervalSince1970: start + use.window)),
        ])
        limits.append(use.most)
    }

    /// What is to be sent; nothing if there is neither a use nor a next statement.
    var statements: [SQLStatement] {
        let texts = Self.texts.withLock { known in
            let shape = Shape(keyed: buckets.map { $0.count > 1 }, next: next?.name, isOne: dialect.changesInWith)
            if let texts = known[shape] { return texts }
            let texts = dialect.changesInWith ? oneText(shape) : manyTexts(shape)
            known[shape] = texts
            return texts
        }
        var values: [[SQLValue]] = []
        // Those of a statement, or of all.
        var named: [SQLValue] = []
        for (index, bucket) in buckets.enumerated() {
            named += bucket
            values.append(named + windows[index])
            if dialect.changesInWith { named += windows[index] }
            named.append(.integer(Int64(limits[index])))
        }
        if let next { values.append(named + next.values) }
        if dialect.changesInWith { values = next == nil ? [named] : [values[values.count - 1]] }
        return zip(texts, values).map { SQLStatement(text: $0, values: $1) }
    }

    /// The rows of each use, and of what is next, in what came for ``statements``.
    func answers(in rows: some Collection<[SQLRow]>) -> [[SQLRow]] {
        guard dialect.changesInWith, let row = rows.first?.first else { return Array(rows) }
        let uses = row.values.prefix(limits.count).map { $0 == .null ? [] : [SQLRow(values: [$0])] }
        guard next != nil else { return uses }
        let rest = SQLRow(values: Array(row.values.dropFirst(limits.count)))
        return uses + [rest.values[0] == .null ? [] : [rest]]
    }

    /// Which one was too many; nil: none.
    func limit(in answers: [[SQLRow]]) throws -> Int? {
        try limits.indices.first { index in try Self.number(in: answers[index]).map { $0 > limits[index] } ?? false }
    }

    /// How many there were, with this one; nil if it was not counted.
    static func number(in rows: [SQLRow]) throws -> Int? { try rows.first.map { Int(try $0.integer(0)) } }

    // The texts are constants but for the number of uses, which is few.

    private func manyTexts(_ shape: Shape) -> [String] {
        var places = Places(dialect.bytes)
        var texts: [String] = []
        var condition = "TRUE"
        for isKeyed in shape.keyed {
            let bucket = places.bucket(isKeyed)
            var windows = places
            texts.append(count(bucket, windows.next(), windows.next(), if: condition))
            // The row is locked by then: what it says is what the statement above said.
            condition += " AND (SELECT uses FROM counts WHERE bucket = \(bucket)) <= \(places.next())"
        }
        if let next { texts.append(next.text(condition, next.values.map { _ in places.next() })) }
        return texts
    }

    /// Each part waits for the one whose answer it names: the uses are counted, and their rows locked, in this order.
    private func oneText(_ shape: Shape) -> [String] {
        var places = Places(dialect.bytes)
        var parts: [String] = []
        var condition = "TRUE"
        for (index, isKeyed) in shape.keyed.enumerated() {
            let text = count(places.bucket(isKeyed), places.next(), places.next(), if: condition)
            parts.append("use\(index) AS (\(text))")
            condition = "(SELECT uses FROM use\(index)) <= \(places.next())"
        }
        var columns = shape.keyed.indices.map { "(SELECT uses FROM use\($0))" }
        if let next {
            parts.append("next AS (\(next.text(condition, next.values.map { _ in places.next() })))")
            columns.append("next.*")
        }
        guard !parts.isEmpty else { return [] }
        return [
            "WITH \(parts.joined(separator: ", ")) SELECT \(columns.joined(separator: ", ")) FROM (SELECT 1) AS one"
                + (next == nil ? "" : " LEFT JOIN next ON TRUE")
        ]
    }

    private func count(_ bucket: String, _ window: String, _ expiry: String, if condition: String) -> String {
        // A process whose clock is behind counts in the newer window.
        """
        INSERT INTO counts (bucket, window_start, uses, expires_at)
        SELECT \(bucket), \(window), 1, \(expiry) WHERE \(condition)
        ON CONFLICT (bucket) DO UPDATE SET
            uses = CASE WHEN counts.window_start >= excluded.window_start THEN counts.uses + 1 ELSE 1 END,
            window_start = CASE WHEN counts.window_start >= excluded.window_start
                THEN counts.window_start ELSE excluded.window_start END,
            expires_at = excluded.expires_at
        RETURNING uses
        """
    }

    /// `$1`, `$2` … in the order of the values.
    private struct Places {
        let bytes: String
        private var count = 0

        init(_ bytes: String) { self.bytes = bytes }

        mutating func next() -> String {
            count += 1
            return "$\(count)"
        }

        mutating func bucket(_ isKeyed: Bool) -> String {
            let bucket = next()
            guard isKeyed else { return bucket }
            let key = next()
            return """
                CAST(\(bucket) || COALESCE((SELECT user_handle FROM device_keys WHERE id = \(key)), \(key)) AS \(bytes))
                """
        }
    }
}
