import Foundation

/// Uses that are counted one after the other in one transaction: a use counts if none before it was too many (NP-41).
///
/// Otherwise one address could use up what all addresses share.
struct CountedUses {
    private(set) var statements: [SQLStatement] = []
    /// That none of the uses so far is too many.
    private var condition = "TRUE"
    /// What the condition and the next statement name.
    private var values: [SQLValue] = []
    private var limits: [Int] = []
    private let time: Date
    private let dialect: SQLDialect

    init(at time: Date, _ dialect: SQLDialect) {
        self.time = time
        self.dialect = dialect
    }

    /// `keyID`: It counts for the account that has this key, or for the key's id: as they have other lengths, never both.
    mutating func add(_ use: StoredUse, ofAccountOf keyID: Data? = nil) {
        var bucket = parameter(.bytes(use.bucket))
        if let keyID {
            let key = parameter(.bytes(keyID))
            bucket = """
                CAST(\(bucket) || COALESCE((SELECT user_handle FROM device_keys WHERE id = \(key)), \(key))
                AS \(dialect.bytes))
                """
        }
        let start = (time.timeIntervalSince1970 / use.window).rounded(.down) * use.window
        let window = parameter(.time(Date(timeIntervalSince1970: start)))
        let expiry = parameter(.time(Date(timeIntervalSince1970: start + use.window)))
        // A process whose clock is behind counts in the newer window.
        statements.append(
            SQLStatement(
                text: """
                    INSERT INTO counts (bucket, window_start, uses, expires_at)
                    SELECT \(bucket), \(window), 1, \(expiry) WHERE \(condition)
                    ON CONFLICT (bucket) DO UPDATE SET
                        uses = CASE WHEN counts.window_start >= excluded.window_start THEN counts.uses + 1 ELSE 1 END,
                        window_start = CASE WHEN counts.window_start >= excluded.window_start
                            THEN counts.window_start ELSE excluded.window_start END,
                        expires_at = excluded.expires_at
                    RETURNING uses
                    """, values: values))
        // The row is locked by then: what it says is what the statement above said.
        condition +=
            " AND (SELECT uses FROM counts WHERE bucket = \(bucket)) <= \(parameter(.integer(Int64(use.most))))"
        limits.append(use.most)
    }

    /// The statement that is next, and does something only if none of the uses is too many.
    ///
    /// `text`: Made of that condition, and of the places of `values`.
    func followed(by values: [SQLValue], _ text: (String, [String]) -> String) -> SQLStatement {
        let places = values.indices.map { "$\(self.values.count + $0 + 1)" }
        return SQLStatement(text: text(condition, places), values: self.values + values)
    }

    /// Which one was too many; nil: none.
    ///
    /// `answers`: those of ``statements``, and of what follows them.
    func limit(in answers: [[SQLRow]]) throws -> Int? {
        try limits.indices.first { index in try Self.number(in: answers[index]).map { $0 > limits[index] } ?? false }
    }

    /// How many there were, with this one; nil if it was not counted.
    static func number(in rows: [SQLRow]) throws -> Int? { try rows.first.map { Int(try $0.integer(0)) } }

    private mutating func parameter(_ value: SQLValue) -> String {
        values.append(value)
        return "$\(values.count)"
    }
}
