import Foundation
import GRDB
import Glibc
import Synchronization

extension SQLStore {
    /// A file that only this user reads, made if it is not there.
    ///
    /// Several processes of one machine may share it.
    ///
    /// - Throws: ``StoreError``: `schema` if a newer program wrote it, `unavailable` with the reason if it does not open.
    public static func sqlite(at path: String) throws -> SQLStore { SQLStore(database: try SQLiteDatabase(path: path)) }
}

/// SQLite through GRDB: one writer and a few readers, durable when a write returns.
final class SQLiteDatabase: SQLDatabase {
    /// How long a write waits for another process's.
    static let busyTimeout: TimeInterval = 5
    /// The most calls that may wait for the writer or a reader; more are refused at once.
    static let mostWaiting = 2048
    static let readers = 4

    let dialect = SQLDialect.sqlite
    private let pool: DatabasePool
    private let waiting = Mutex(0)

    init(path: String) throws {
        try Self.makePrivate(path)
        var configuration = Configuration()
        configuration.busyMode = .timeout(Self.busyTimeout)
        configuration.maximumReaderCount = Self.readers
        configuration.foreignKeysEnabled = true
        configuration.label = "touchstone-signin"
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA trusted_schema = OFF")
        }
        do {
            pool = try Self.openWhenFree(path, configuration)
            let dialect = dialect
            try pool.writeWithoutTransaction { database in
                // Here, for the one writer: GRDB sets NORMAL when it opens a pool, after what the configuration says.
                try database.execute(sql: "PRAGMA synchronous = FULL")
                try database.inTransaction(.exclusive) {
                    let isEmpty = try Bool.fetchOne(
                        database,
                        sql: "SELECT NOT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'touchstone_signin')")!
                    if isEmpty, try Int.fetchOne(database, sql: "SELECT COUNT(*) FROM sqlite_master") != 0 {
                        throw StoreError.schema("\(path) is another program's database; nothing was changed")
                    }
                    try SQLSchema.migrate(SQLiteConnection(database: database), dialect, isEmpty: isEmpty)
                    return .commit
                }
            }
        } catch let error as DatabaseError {
            throw SQLiteConnection.storeError(error)
        }
    }

    /// Before SQLite makes it, by the umask: its other files get the mode of this one.
    ///
    /// A file that is there is not opened for it: closing any descriptor of a file ends this process's locks on it. Another
    /// process that came and went would then take itself for the last one and delete the log that this one still writes to.
    private static func makePrivate(_ path: String) throws {
        let made = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if made >= 0 {
            Glibc.close(made)
            return
        }
        guard errno == EEXIST else {
            throw StoreError.unavailable(unsafe "\(path) does not open: \(String(cString: strerror(errno)))")
        }
        // Of a link itself, not of what it points to.
        guard let found = try? FileManager.default.attributesOfItem(atPath: path),
            found[.type] as? FileAttributeType == .typeRegular
        else { throw StoreError.unavailable("\(path) is no file") }
        guard unsafe found[.posixPermissions] as? Int == 0o600 || chmod(path, 0o600) == 0 else {
            throw StoreError.unavailable(unsafe "\(path) cannot be made private: \(String(cString: strerror(errno)))")
        }
    }

    /// The first process to switch a file to WAL holds it alone for a moment, and SQLite's own waiting does not cover that step.
    private static func openWhenFree(_ path: String, _ configuration: Configuration) throws -> DatabasePool {
        let mostAttempts = 50
        var attempt = 1
        while true {
            do {
                return try DatabasePool(path: path, configuration: configuration)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY && attempt < mostAttempts {
                attempt += 1
                usleep(20_000)
            }
        }
    }

    func rows(_ work: SQLWork, _ statements: [SQLStatement]) async throws -> [[SQLRow]] {
        guard work == .read else { return try await transaction { try $0.rows(statements) } }
        return try await waiting { resume in
            pool.asyncRead { result in
                resume(Self.result { try SQLiteConnection(database: try result.get()).rows(statements) })
            }
        }
    }

    func transaction<Answer: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Answer
    ) async throws -> Answer {
        try await waiting { resume in
            pool.asyncWriteWithoutTransaction { database in
                let result = Self.result {
                    var answer: Answer?
                    try database.inTransaction(.immediate) {
                        answer = try body(SQLiteConnection(database: database))
                        return .commit
                    }
                    return answer!
                }
                resume(result)
            }
        }
    }

    /// Not GRDB's async calls: a caller that goes away would end a write in the middle, with an error of its own.
    private func waiting<Answer: Sendable>(
        _ start: (@escaping @Sendable (Result<Answer, any Error>) -> Void) -> Void
    ) async throws -> Answer {
        let isTaken = waiting.withLock { count in
            guard count < Self.mostWaiting else { return false }
            count += 1
            return true
        }
        guard isTaken else { throw StoreError.unavailable("more than \(Self.mostWaiting) calls wait for the database") }
        defer { waiting.withLock { $0 -= 1 } }
        return try await withCheckedThrowingContinuation { continuation in
            start { continuation.resume(with: $0) }
        }
    }

    func close() async throws {
        do { try pool.close() } catch let error as DatabaseError { throw SQLiteConnection.storeError(error) }
    }

    private static func result<Answer>(_ body: () throws -> Answer) -> Result<Answer, any Error> {
        do {
            return .success(try body())
        } catch let error as DatabaseError {
            return .failure(SQLiteConnection.storeError(error))
        } catch {
            return .failure(error)
        }
    }
}

/// One connection of GRDB, for the time of a call.
struct SQLiteConnection: SQLConnection {
    var database: Database

    func rows(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow] {
        // SQLite numbers `?1`; `$1` would be a name.
        let text = sql.utf8.map { $0 == UInt8(ascii: "$") ? UInt8(ascii: "?") : $0 }
        let statement = try database.cachedStatement(sql: String(decoding: text, as: UTF8.self))
        let arguments = StatementArguments(
            values.map { value -> (any DatabaseValueConvertible)? in
                switch value {
                case .null: nil
                case .integer(let integer): integer
                case .text(let text): SQLValue.storable(text)
                case .bytes(let bytes): bytes
                }
            })
        return try Row.fetchAll(statement, arguments: arguments).map { row in
            SQLRow(
                values: row.databaseValues.map { value in
                    switch value.storage {
                    case .null: .null
                    case .int64(let integer): .integer(integer)
                    case .string(let text): .text(text)
                    case .blob(let bytes): .bytes(bytes)
                    // No column of the schema has it; the caller sees that it is not what it asked for.
                    case .double: .null
                    }
                })
        }
    }

    func rows(_ statements: [SQLStatement]) throws -> [[SQLRow]] {
        try statements.map { try rows($0.text, $0.values) }
    }

    /// GRDB's own texts name values only with `publicStatementArguments`, which is off.
    static func storeError(_ error: DatabaseError) -> StoreError {
        switch error.extendedResultCode {
        case .SQLITE_CONSTRAINT_UNIQUE, .SQLITE_CONSTRAINT_PRIMARYKEY: .exists
        case .SQLITE_CONSTRAINT_FOREIGNKEY: .notActive
        case .SQLITE_NOTADB: .schema("the file is no SQLite database")
        default: .unavailable("SQLite: \(error.message ?? "error") (\(error.extendedResultCode.rawValue))")
        }
    }
}
