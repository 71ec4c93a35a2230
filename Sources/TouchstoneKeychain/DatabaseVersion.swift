import Foundation
import GRDBSQLite
import Synchronization

/// Tells whether the database is as it was, whoever may have written to it: this process or another.
///
/// It has a connection of its own, because SQLite counts for each connection what others commit. A look reads no page of the file, so that
/// it waits for no disk.
final class DatabaseVersion: Sendable {
    private let statement: Mutex<VersionStatement>

    /// nil if SQLite cannot open the file.
    init?(file: URL) {
        guard let statement = VersionStatement(file: file) else { return nil }
        self.statement = Mutex(statement)
    }

    /// A number that grows with each commit, and with what SQLite takes for one; nil if nobody can tell now.
    ///
    /// If it is the same at two moments, nothing was committed between them.
    var current: Int64? { statement.withLock { $0.value } }
}

/// The prepared statement, with its connection.
@safe private final class VersionStatement {
    private let connection: OpaquePointer
    private let statement: OpaquePointer

    init?(file: URL) {
        var opened: OpaquePointer?
        var prepared: OpaquePointer?
        // To write as well: whichever connection is closed last moves the log into the database.
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX
        guard unsafe sqlite3_open_v2(file.path, &opened, flags, nil) == SQLITE_OK, let connection = unsafe opened,
            unsafe sqlite3_prepare_v2(connection, "PRAGMA data_version", -1, &prepared, nil) == SQLITE_OK,
            let statement = unsafe prepared
        else {
            unsafe sqlite3_close_v2(opened)
            return nil
        }
        unsafe self.connection = connection
        unsafe self.statement = statement
    }

    var value: Int64? {
        defer { unsafe sqlite3_reset(statement) }
        guard unsafe sqlite3_step(statement) == SQLITE_ROW else { return nil }
        return unsafe sqlite3_column_int64(statement, 0)
    }

    deinit {
        unsafe sqlite3_finalize(statement)
        unsafe sqlite3_close_v2(connection)
    }
}
