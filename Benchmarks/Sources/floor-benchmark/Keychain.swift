import CSQLite
import Foundation

/// The database of a keychain whose device is shut down.
final class Keychain {
    private var handle: OpaquePointer?

    init(path: String) throws {
        try check(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil))
    }

    deinit { sqlite3_close(handle) }

    /// Stores copies of the rows that are there until there are `count`.
    ///
    /// A copy has an identifier, an identity and an account of its own, as random as those that the keychain makes, so that every index
    /// grows as it would; it opens to nobody, and no query of the benchmark finds it. Adding as many through the API is a matter of hours
    /// on a disk that syncs.
    func multiply(to count: Int) throws {
        let columns = try names().filter { $0 != "rowid" }
        let values = columns.map { column in
            switch column {
            case "identifier", "acct": "randomblob(16)"
            case "identity": "randomblob(32)"
            default: "\"\(column)\""
            }
        }
        let quoted = columns.map { "\"\($0)\"" }.joined(separator: ", ")
        try run("PRAGMA cache_size = -1000000; PRAGMA synchronous = OFF; BEGIN")
        while case let missing = count - (try rows()), missing > 0 {
            try run(
                "INSERT INTO item (\(quoted)) SELECT \(values.joined(separator: ", ")) FROM item LIMIT \(min(missing, 100_000))")
        }
        try run("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
    }

    private func rows() throws -> Int { Int(try texts("SELECT count(*) FROM item", column: 0).first ?? "") ?? 0 }

    private func names() throws -> [String] { try texts("PRAGMA table_info(item)", column: 1) }

    private func texts(_ sql: String, column: Int32) throws -> [String] {
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v2(handle, sql, -1, &statement, nil))
        defer { sqlite3_finalize(statement) }
        var texts: [String] = []
        while sqlite3_step(statement) == SQLITE_ROW {
            texts.append(sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "")
        }
        return texts
    }

    private func run(_ sql: String) throws {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else {
            throw FloorError(String(cString: sqlite3_errmsg(handle)))
        }
    }

    private func check(_ code: Int32) throws {
        guard code == SQLITE_OK else { throw FloorError(String(cString: sqlite3_errstr(code))) }
    }
}
