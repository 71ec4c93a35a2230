import Foundation
import GRDB
import GRDBSQLite

/// A prepared statement of what every call of an app's does, with nothing between SQLite and its values.
///
/// GRDB's rows and arguments cost several times what SQLite does for one row (DEC-390).
///
/// > Concurrency: Used in the turn of its connection only, and never again before it has returned.
@safe final class StoreStatement {
    /// What is put into the place of a question mark.
    enum Value {
        case integer(Int64), text(String), blob(Data)

        /// nil stands for `NULL`.
        static func blob(_ data: Data?) -> Value? { data.map { .blob($0) } }
    }

    private let statement: OpaquePointer
    private let connection: OpaquePointer

    /// - Throws: `DatabaseError` if SQLite does not take the text.
    init(_ sql: String, in database: Database) throws {
        guard let connection = unsafe database.sqliteConnection else { throw DatabaseError(resultCode: .SQLITE_MISUSE) }
        var prepared: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard let statement = unsafe prepared else { throw unsafe Self.error(code, connection) }
        unsafe self.connection = connection
        unsafe self.statement = statement
    }

    deinit { unsafe sqlite3_finalize(statement) }

    // MARK: running

    /// Gives each row to `body` until it returns false; nothing of the values is kept afterwards.
    ///
    /// - Throws: `DatabaseError`, and what `body` throws.
    func forEachRow(_ values: [Value?], _ body: (StoreStatement) throws -> Bool) throws {
        defer {
            unsafe sqlite3_reset(statement)
            unsafe sqlite3_clear_bindings(statement)
        }
        for (index, value) in values.enumerated() { try bind(value, at: Int32(index + 1)) }
        while true {
            let code = unsafe sqlite3_step(statement)
            if code == SQLITE_DONE { return }
            guard code == SQLITE_ROW else { throw unsafe Self.error(code, connection) }
            guard try body(self) else { return }
        }
    }

    /// Changes something, within a transaction.
    ///
    /// - Throws: `DatabaseError`; `SQLITE_ABORT` if SQLite has given up the transaction, because this would be one of its own.
    func execute(_ values: [Value?] = []) throws {
        guard unsafe sqlite3_get_autocommit(connection) == 0 else { throw DatabaseError(resultCode: .SQLITE_ABORT) }
        try forEachRow(values) { _ in true }
    }

    /// What `body` makes of the first row; nil if there is no row.
    ///
    /// - Throws: `DatabaseError`, and what `body` throws.
    func first<R>(_ values: [Value?] = [], _ body: (StoreStatement) throws -> R) throws -> R? {
        var result: R?
        try forEachRow(values) { row in
            result = try body(row)
            return false
        }
        return result
    }

    private func bind(_ value: Value?, at place: Int32) throws {
        // SQLite copies what it is given.
        let copied = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        let code: Int32
        switch value {
        case nil: code = unsafe sqlite3_bind_null(statement, place)
        case .integer(let number): code = unsafe sqlite3_bind_int64(statement, place, number)
        case .text(let text): code = unsafe sqlite3_bind_text(statement, place, text, -1, copied)
        case .blob(let data):
            code = unsafe data.withUnsafeBytes { bytes in
                // Without an address it would be `NULL`.
                guard let address = bytes.baseAddress else { return unsafe sqlite3_bind_zeroblob(statement, place, 0) }
                return unsafe sqlite3_bind_blob64(statement, place, address, UInt64(bytes.count), copied)
            }
        }
        guard code == SQLITE_OK else { throw unsafe Self.error(code, connection) }
    }

    private static func error(_ code: Int32, _ connection: OpaquePointer) -> DatabaseError {
        DatabaseError(
            resultCode: ResultCode(rawValue: code),
            message: unsafe sqlite3_errmsg(connection).map { unsafe String(cString: $0) })
    }

    // MARK: the columns of a row

    func isNull(_ column: Int32) -> Bool { unsafe sqlite3_column_type(statement, column) == SQLITE_NULL }

    /// nil if it is of another type: the file may be another's work.
    func integer(_ column: Int32) -> Int64? {
        guard unsafe sqlite3_column_type(statement, column) == SQLITE_INTEGER else { return nil }
        return unsafe sqlite3_column_int64(statement, column)
    }

    /// nil if it is of another type.
    func text(_ column: Int32) -> String? {
        guard unsafe sqlite3_column_type(statement, column) == SQLITE_TEXT else { return nil }
        return unsafe sqlite3_column_text(statement, column).map { unsafe String(cString: $0) }
    }

    /// nil if it is of another type.
    func blob(_ column: Int32) -> Data? {
        guard unsafe sqlite3_column_type(statement, column) == SQLITE_BLOB else { return nil }
        let count = Int(unsafe sqlite3_column_bytes(statement, column))
        return unsafe sqlite3_column_blob(statement, column).map { unsafe Data(bytes: $0, count: count) } ?? Data()
    }
}

/// The statements of one connection that every call of an app's uses.
///
/// > Concurrency: Used in the turn of its connection only.
final class StoreStatements {
    /// Each is prepared when it is first used.
    enum Name {
        case isThere, row, rowWithoutSecret, rowOfIdentity
        case use, insertion, overwriting, guardedChange, pages
        case savepoint, rollback, release
    }

    private var prepared: [Name: StoreStatement] = [:]

    func statement(_ name: Name, in database: Database) throws -> StoreStatement {
        if let statement = prepared[name] { return statement }
        let statement = try StoreStatement(name.sql, in: database)
        prepared[name] = statement
        return statement
    }
}

extension StoreStatements.Name {
    fileprivate var sql: String {
        switch self {
        case .isThere: "SELECT 1 FROM item WHERE identity = ?"
        case .row: "SELECT \(ItemRow.columns) FROM item WHERE rowid = ?"
        case .rowWithoutSecret: "SELECT \(ItemRow.columnsWithoutSecret) FROM item WHERE rowid = ?"
        case .rowOfIdentity: "SELECT \(ItemRow.columns) FROM item WHERE identity = ?"
        case .use: KeychainStore.useQuery
        case .insertion: KeychainStore.insertion
        case .overwriting:
            """
            UPDATE item SET version = ?, metadata = ?, wrappedKey = ?, secret = ?
            WHERE rowid = ? AND identifier = ? AND guarded IS NULL
            """
        case .guardedChange: "SELECT 1 FROM guarded_change"
        case .pages: "PRAGMA page_count"
        case .savepoint: "SAVEPOINT write"
        case .rollback: "ROLLBACK TO write"
        case .release: "RELEASE write"
        }
    }
}
