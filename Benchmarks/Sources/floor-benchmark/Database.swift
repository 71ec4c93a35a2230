import CSQLite
import Foundation

/// A table such as a keychain might have: three texts that are unique together, and two blobs.
final class Database {
    private var handle: OpaquePointer?
    private var select: OpaquePointer?
    private var add: OpaquePointer?
    private let blob = [UInt8](repeating: 0x5A, count: 150)

    /// Opens the database, or makes it with `rows` rows.
    init(path: String, rows: Int) throws {
        let isNew = !FileManager.default.fileExists(atPath: path)
        try check(sqlite3_open(path, &handle))
        try run("PRAGMA journal_mode = WAL")
        if isNew {
            try run(
                "CREATE TABLE item (id INTEGER PRIMARY KEY, a TEXT, b TEXT, c TEXT, x BLOB, y BLOB, UNIQUE (a, b, c))")
        }
        try check(sqlite3_prepare_v2(handle, "SELECT x, y FROM item WHERE a = ? AND b = ? AND c = ?", -1, &select, nil))
        try check(
            sqlite3_prepare_v2(handle, "INSERT INTO item (a, b, c, x, y) VALUES (?, ?, ?, ?, ?)", -1, &add, nil))
        if isNew {
            try run("BEGIN")
            for number in 0..<rows { try insert(number) }
            try run("COMMIT")
        }
        try run("PRAGMA synchronous = FULL")
    }

    deinit {
        sqlite3_finalize(select)
        sqlite3_finalize(add)
        sqlite3_close(handle)
    }

    func find(_ number: Int) throws {
        bindKey(number, to: select)
        guard sqlite3_step(select) == SQLITE_ROW, sqlite3_column_bytes(select, 0) == 150 else {
            throw FloorError("row \(number) is missing")
        }
        try check(sqlite3_reset(select))
    }

    func insert(_ number: Int) throws {
        bindKey(number, to: add)
        sqlite3_bind_blob(add, 4, blob, Int32(blob.count), transient)
        sqlite3_bind_blob(add, 5, blob, Int32(blob.count), transient)
        guard sqlite3_step(add) == SQLITE_DONE else { throw FloorError(String(cString: sqlite3_errmsg(handle))) }
        try check(sqlite3_reset(add))
    }

    func deleteRows(from number: Int) throws {
        try run("DELETE FROM item WHERE id > \(number)")
    }

    private func bindKey(_ number: Int, to statement: OpaquePointer?) {
        sqlite3_bind_text(statement, 1, "group", -1, transient)
        sqlite3_bind_text(statement, 2, "benchmark", -1, transient)
        sqlite3_bind_text(statement, 3, "account-\(number)", -1, transient)
    }

    private func run(_ sql: String) throws {
        try check(sqlite3_exec(handle, sql, nil, nil, nil))
    }

    private func check(_ code: Int32) throws {
        guard code == SQLITE_OK else { throw FloorError(String(cString: sqlite3_errstr(code))) }
    }

    /// SQLite's marker for "copy these bytes", a macro that Swift does not import.
    private let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}
