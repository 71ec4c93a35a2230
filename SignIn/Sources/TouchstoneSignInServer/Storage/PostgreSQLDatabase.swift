import CPostgreSQL
import Foundation
import Glibc
import NIOPosix

extension SQLStore {
    /// A database of PostgreSQL, 14 or newer, encoded in UTF-8, that has nothing else in it.
    ///
    /// - Parameters:
    ///   - target: A URL or a list of settings as libpq reads them, `postgresql://signin@db.example.com/signin` or
    ///     `host=/run/postgresql dbname=signin`. Without a password: that is in the file that `passfile` or `PGPASSFILE`
    ///     names, or in `~/.pgpass`, and that others cannot read. Over TCP `sslmode` is `verify-full` if it or `PGSSLMODE`
    ///     says nothing else.
    ///   - connections: At most at once, 1 to 100, of this process.
    ///   - waitLimit: How long a call waits for one of them before it is `unavailable`.
    /// - Throws: ``StoreError``: `schema` if a newer program made the tables or the database is not in UTF-8, `unavailable`
    ///   if it does not answer.
    /// - Returns: A store whose connections are made when they are first wanted.
    public static func postgreSQL(
        _ target: String, connections: Int = 8, waitLimit: Duration = .seconds(2)
    ) async throws -> SQLStore {
        let database = try PostgreSQLDatabase(target, connections: connections, waitLimit: waitLimit)
        do {
            try await database.migrate()
        } catch {
            try? await database.close()
            throw error
        }
        return SQLStore(database: database)
    }
}

/// PostgreSQL through libpq.
///
/// What is sent together blocks no thread; a connection is made, and a transaction whose
/// statements depend on each other runs, on a thread of its own.
final class PostgreSQLDatabase: SQLDatabase {
    /// Of a transaction that waited in a circle with another one and was undone.
    static let mostAttempts = 4
    /// Of the advisory lock that one process at a time migrates under: "TSignIn" and the kind.
    private static let migrationLock: Int64 = 0x54_53_69_67_6E_49_6E_01

    let dialect = SQLDialect.postgreSQL
    private let target: String
    private let pool: PostgreSQLPool
    private let threads: NIOThreadPool
    private let poller: SocketPoller

    init(_ target: String, connections: Int, waitLimit: Duration) throws {
        precondition((1...100).contains(connections), "1 to 100 connections")
        try Self.check(target)
        self.target = target
        pool = PostgreSQLPool(places: connections, waitLimit: waitLimit)
        poller = try SocketPoller()
        threads = NIOThreadPool(numberOfThreads: connections)
        threads.start()
    }

    /// A password in it would be in an argument, a unit file, an error message.
    private static func check(_ target: String) throws {
        // libpq's own message repeats parts of what it could not read.
        guard let options = unsafe PQconninfoParse(target, nil) else {
            throw StoreError.unavailable(
                "this is no address of a PostgreSQL database: postgresql://user@host/name, or host=/run/postgresql dbname=name"
            )
        }
        defer { unsafe PQconninfoFree(options) }
        var option = unsafe options
        while let keyword = unsafe option.pointee.keyword {
            if unsafe String(cString: keyword) == "password", unsafe option.pointee.val != nil {
                throw StoreError.unavailable(
                    "the address of the database has a password in it: put that into a file that others cannot read, in the "
                        + "form host:port:database:user:password, and say passfile=…, or set PGPASSFILE")
            }
            unsafe option += 1
        }
    }

    func rows(_ work: SQLWork, _ statements: [SQLStatement]) async throws -> [[SQLRow]] {
        let place = try await pool.take()
        defer { pool.giveBack(place) }
        do {
            var attempt = 1
            while true {
                let connection = try await connection(of: place)
                do {
                    return try await connection.rows(statements, waitingBy: poller)
                } catch let error as PostgreSQLError where isRepeated(error, work, attempt) {
                    // Both would meet again if both came back at once. If nobody waits any more, they may.
                    try? await Task.sleep(for: .microseconds(Self.pause(after: attempt)))
                    attempt += 1
                }
            }
        } catch let error as PostgreSQLError {
            throw error.storeError
        }
    }

    func transaction<Answer: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Answer
    ) async throws -> Answer {
        let place = try await pool.take()
        defer { pool.giveBack(place) }
        do {
            return try await onThread { try self.attempt(place, body) }
        } catch let error as PostgreSQLError {
            throw error.storeError
        }
    }

    func close() async throws {
        await pool.close()
        try? await poller.close()
        try? await threads.shutdownGracefully()
    }

    func migrate() async throws {
        let place = try await pool.take()
        defer { pool.giveBack(place) }
        do {
            try await onThread { try self.migrate(place) }
        } catch let error as PostgreSQLError {
            throw error.storeError
        }
    }

    private func migrate(_ place: PostgreSQLPlace) throws {
        let connection = try place.connected(to: target)
        connection.limit = PostgreSQLConnection.migrationLimit
        defer { connection.limit = PostgreSQLConnection.answerLimit }
        try transaction(connection) { connection in
            try connection.rows("SET LOCAL statement_timeout = 0", [])
            try connection.rows("SET LOCAL lock_timeout = '60s'", [])
            let encoding = try connection.rows("SELECT current_setting('server_encoding')", []).first?.text(0)
            guard encoding == "UTF8" else {
                throw StoreError.schema("the database is in \(encoding ?? "?"): make one with ENCODING 'UTF8'")
            }
            try connection.rows("SELECT pg_advisory_xact_lock($1)", [.integer(Self.migrationLock)])
            let isEmpty = try connection.rows(
                "SELECT 1::int8 WHERE to_regclass('touchstone_signin') IS NULL", [])
            try SQLSchema.migrate(connection, dialect, isEmpty: !isEmpty.isEmpty)
        }
    }

    private func connection(of place: PostgreSQLPlace) async throws -> PostgreSQLConnection {
        if let connection = place.connection, connection.isAlive { return connection }
        let target = target
        try await onThread { _ = try place.connected(to: target) }
        return place.connection!
    }

    private func attempt<Answer>(
        _ place: PostgreSQLPlace, _ body: (any SQLConnection) throws -> Answer
    ) throws -> Answer {
        var attempt = 1
        while true {
            let connection = try place.connected(to: target)
            do {
                return try transaction(connection, body)
            } catch let error as PostgreSQLError where isRepeated(error, .statement, attempt) {
                usleep(useconds_t(Self.pause(after: attempt)))
                attempt += 1
            }
        }
    }

    /// A statement is repeated only if it certainly changed nothing.
    ///
    /// One whose answer was lost may have taken a challenge: then that is gone.
    private func isRepeated(_ error: PostgreSQLError, _ work: SQLWork, _ attempt: Int) -> Bool {
        switch error {
        case .refused: error.isDeadlock && attempt < Self.mostAttempts
        case .lost: work == .read && attempt == 1
        case .notConnected: false
        }
    }

    /// Microseconds.
    private static func pause(after attempt: Int) -> Int { .random(in: 1000...10_000) * attempt }

    private func transaction<Answer>(
        _ connection: PostgreSQLConnection, _ body: (any SQLConnection) throws -> Answer
    ) throws -> Answer {
        try connection.simple("BEGIN")
        let answer: Answer
        do {
            answer = try body(connection)
        } catch {
            // If this does not come through, the connection is lost, and the server undoes it.
            if connection.isAlive { try? connection.simple("ROLLBACK") }
            throw error
        }
        try connection.simple("COMMIT")
        return answer
    }

    private func onThread<Answer: Sendable>(_ body: @escaping @Sendable () throws -> Answer) async throws -> Answer {
        // Not `runIfActive`, which a caller's cancellation reaches.
        try await withCheckedThrowingContinuation { continuation in
            threads.submit { state in
                guard state == .active else {
                    return continuation.resume(throwing: StoreError.unavailable("the storage is closed"))
                }
                continuation.resume(with: Result { try body() })
            }
        }
    }
}
