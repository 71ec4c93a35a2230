public import Foundation

/// The server's data, in SQLite for one machine or in PostgreSQL for many: every statement once, for both.
///
/// In PostgreSQL the isolation is READ COMMITTED: what happens once is one statement, and where several tables change the
/// row that decides is locked first, in the order account, key, session. Times are kept to the microsecond; U+0000 in a
/// text becomes U+FFFD.
public struct SQLStore: SignInStore {
    let database: any SQLDatabase

    var forUpdate: String { database.dialect.forUpdate }
    var forShare: String { database.dialect.forShare }

    func read<Answer>(
        _ sql: String, _ values: [SQLValue], _ map: (SQLRow) throws -> Answer
    ) async throws -> [Answer] {
        try await database.rows(.read, [SQLStatement(text: sql, values: values)])[0].map(map)
    }

    /// One statement; whether a row came back.
    func changes(_ sql: String, _ values: [SQLValue]) async throws -> Bool {
        try await !perform([SQLStatement(text: sql, values: values)])[0].isEmpty
    }

    /// Several statements, a transaction of their own.
    func perform(_ statements: [SQLStatement]) async throws -> [[SQLRow]] {
        try await database.rows(.statement, statements)
    }

    /// ``SignInStore``: `ping`, as it says there.
    public func ping() async throws {
        _ = try await read("SELECT version FROM touchstone_signin", []) { try $0.integer(0) }
    }

    /// ``SignInStore``: `close`, as it says there.
    public func close() async throws { try await database.close() }

    /// What expired may still be looked up for this long, so that a refusal's reason is the right one.
    static let kept: TimeInterval = 300

    /// ``SignInStore``: `sweep`, as it says there.
    public func sweep(at time: Date) async throws {
        let before = time.addingTimeInterval(-Self.kept)
        for table in [
            "password_sessions", "challenges", "replaced_refresh_tokens", "sessions", "transactions", "web_requests",
            "counts",
            "used_proofs",
        ] {
            // What was confirmed is the owner's word, and stays with the account.
            let kept = table == "transactions" ? " AND confirmed_by IS NULL" : ""
            _ = try await changes("DELETE FROM \(table) WHERE expires_at < $1\(kept)", [.time(before)])
        }
    }
}
