import CPostgreSQL
import Foundation
import Glibc

/// Why PostgreSQL did not do what was asked.
///
/// Its own words are in it, no value of ours.
enum PostgreSQLError: Error {
    /// The statement was refused, and nothing of its transaction stays.
    case refused(state: String, String)
    /// The connection is gone: what was sent may or may not have happened.
    case lost(String)
    /// There never was a connection.
    case notConnected(String)

    var storeError: StoreError {
        switch self {
        case .refused("23505", _): .exists
        case .refused("23503", _): .notActive
        case .refused(let state, let text) where state.hasPrefix("42"): .schema("PostgreSQL: \(text) (\(state))")
        case .refused(let state, let text): .unavailable("PostgreSQL: \(text) (\(state))")
        case .lost(let text): .unavailable("PostgreSQL: the connection was lost: \(text)")
        case .notConnected(let text): .unavailable("PostgreSQL: no connection: \(text)")
        }
    }

    /// Two transactions waited for each other, and this one was undone: it may be done again.
    var isDeadlock: Bool {
        guard case .refused(let state, _) = self else { return false }
        return state == "40P01" || state == "40001"
    }
}

/// A connection through libpq, for one caller at a time.
///
/// Calls of ``SQLConnection`` block.
///
/// Safe: the handle is freed with it, and nobody else has it.
@safe final class PostgreSQLConnection: SQLConnection {
    /// Seconds for TCP and authentication.
    static let connectTimeout = 5
    /// Milliseconds that the server works on a statement, and that it waits for a lock.
    static let statementTimeout = 5000
    static let lockTimeout = 3000
    /// How long to wait for an answer: longer than the server works, so that the server gives up first.
    static let answerLimit: Duration = .milliseconds(statementTimeout + 2000)
    /// A migration may rewrite a table.
    static let migrationLimit: Duration = .seconds(900)

    private let handle: OpaquePointer
    /// The names of what is prepared here.
    ///
    /// As many as `SQLStore` has statements: their texts are constants.
    private var prepared: [String: String] = [:]
    var limit = answerLimit

    /// `target`: See ``SQLStore/postgreSQL(_:connections:)``; checked.
    init(_ target: String) throws {
        // What comes later wins, and the caller's own settings are in `dbname`.
        var settings = [
            ("connect_timeout", "\(Self.connectTimeout)"), ("application_name", "touchstone-signin"),
            ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "\(Self.statementTimeout)"), ("target_session_attrs", "read-write"),
        ]
        // A socket of this machine has no TLS, and no need of it.
        if ProcessInfo.processInfo.environment["PGSSLMODE"] == nil { settings.append(("sslmode", "verify-full")) }
        settings += [("dbname", target), ("client_encoding", "UTF8")]
        let keywords = unsafe settings.map { unsafe strdup($0.0) }
        let values = unsafe settings.map { unsafe strdup($0.1) }
        defer { unsafe (keywords + values).forEach { unsafe free($0) } }
        let connected = unsafe PQconnectdbParams(
            keywords.map { unsafe UnsafePointer($0) } + [nil], values.map { unsafe UnsafePointer($0) } + [nil], 1)
        guard let handle = unsafe connected else { throw PostgreSQLError.notConnected("no memory") }
        unsafe self.handle = handle
        guard unsafe PQstatus(handle) == CONNECTION_OK, unsafe PQsetnonblocking(handle, 1) == 0 else {
            throw unsafe PostgreSQLError.notConnected(Self.text(handle))
        }
        do {
            try simple(
                """
                SET statement_timeout = \(Self.statementTimeout); SET lock_timeout = \(Self.lockTimeout);
                SET idle_in_transaction_session_timeout = \(2 * Self.statementTimeout);
                SET default_transaction_isolation = 'read committed'; SET client_min_messages = error;
                SELECT set_config('synchronous_commit', 'on', false)
                WHERE current_setting('synchronous_commit') = 'off'
                """)
        } catch PostgreSQLError.lost(let text) {
            throw PostgreSQLError.notConnected(text)
        }
    }

    deinit { unsafe PQfinish(handle) }

    /// Whether the server hung up while nobody asked it anything: a statement that is sent then is neither done nor refused.
    var isAlive: Bool {
        guard unsafe PQstatus(handle) == CONNECTION_OK, !isLost else { return false }
        var descriptor = unsafe pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&descriptor, 1, 0) > 0 else { return true }
        // A notice of the server is not an end.
        guard unsafe PQconsumeInput(handle) == 1, unsafe PQstatus(handle) == CONNECTION_OK else { return false }
        descriptor.revents = 0
        return unsafe poll(&descriptor, 1, 0) == 0
    }

    private var isLost = false

    /// Several statements at once, without values and answers.
    func simple(_ sql: String) throws {
        try send { unsafe PQsendQuery(handle, sql) }
        var answers = PostgreSQLAnswers([.end])
        try finish(&answers)
        _ = try answers.rows.get()
    }

    func rows(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow] {
        try rows([SQLStatement(text: sql, values: values)])[0]
    }

    func rows(_ statements: [SQLStatement]) throws -> [[SQLRow]] {
        var answers = try send(statements)
        try finish(&answers)
        return try take(answers)
    }

    /// As the one above, but blocks no thread.
    func rows(_ statements: [SQLStatement], waitingBy poller: SocketPoller) async throws -> [[SQLRow]] {
        var answers = try send(statements)
        let deadline = ContinuousClock.now + limit
        while let events = try advance(&answers) {
            guard await poller.wait(for: events, of: unsafe PQsocket(handle), until: deadline) else { throw late() }
            try read()
        }
        return try take(answers)
    }

    /// In libpq's pipeline: one message there, one back, and without a transaction one of their own.
    ///
    /// What is not prepared yet is prepared with it.
    private func send(_ statements: [SQLStatement]) throws -> PostgreSQLAnswers {
        try send { unsafe PQenterPipelineMode(handle) }
        var parts: [PostgreSQLAnswers.Part] = []
        var preparing: [String: String] = [:]
        for statement in statements {
            let parameters = PostgreSQLParameters(statement.values)
            let key = parameters.key(of: statement.text)
            let name: String
            if let known = prepared[key] ?? preparing[key] {
                name = known
            } else {
                name = "s\(prepared.count + preparing.count)"
                try send {
                    unsafe PQsendPrepare(handle, name, statement.text, Int32(parameters.types.count), parameters.types)
                }
                preparing[key] = name
                parts.append(.preparation(key: key, name: name))
            }
            try unsafe parameters.withPointers { pointers, lengths, formats in
                try send {
                    unsafe PQsendQueryPrepared(handle, name, Int32(pointers.count), pointers, lengths, formats, 1)
                }
            }
            parts.append(.rows)
        }
        try send { unsafe PQpipelineSync(handle) }
        return PostgreSQLAnswers(parts + [.end])
    }

    /// What came for a pipeline that is over.
    private func take(_ answers: PostgreSQLAnswers) throws -> [[SQLRow]] {
        try send { unsafe PQexitPipelineMode(handle) }
        for (key, name) in answers.prepared { prepared[key] = name }
        return try answers.rows.get()
    }

    private func send(_ call: () -> Int32) throws {
        guard call() == 1 else { throw unsafe lost(Self.text(handle)) }
    }

    private func lost(_ text: String) -> PostgreSQLError {
        isLost = true
        return .lost(text)
    }

    private func late() -> PostgreSQLError { lost("no answer within \(limit)") }

    /// Waits for everything that belongs to what was sent, and blocks.
    private func finish(_ answers: inout PostgreSQLAnswers) throws {
        let deadline = ContinuousClock.now + limit
        while let events = try advance(&answers) {
            let left = ContinuousClock.now.duration(to: deadline) / .milliseconds(1)
            let wanted = events.contains(.writable) ? POLLIN | POLLOUT : POLLIN
            var descriptor = unsafe pollfd(fd: PQsocket(handle), events: Int16(wanted), revents: 0)
            let ready = unsafe left > 0 ? poll(&descriptor, 1, Int32(left) + 1) : 0
            if ready < 0, errno == EINTR { continue }
            guard ready > 0 else { throw late() }
            try read()
        }
    }

    /// Sends what the socket takes and looks at what came.
    ///
    /// - Returns: What to wait for; nil if nothing is missing.
    /// - Throws: `lost`; what the server refused is in `answers`.
    private func advance(_ answers: inout PostgreSQLAnswers) throws -> SocketPoller.Events? {
        let flushed = unsafe PQflush(handle)
        guard flushed >= 0 else { throw unsafe lost(Self.text(handle)) }
        while !answers.isComplete, unsafe PQstatus(handle) == CONNECTION_OK {
            guard unsafe PQisBusy(handle) == 0 else { return flushed == 0 ? .readable : [.readable, .writable] }
            let result = unsafe PQgetResult(handle)
            defer { unsafe PQclear(result) }
            answers.add(unsafe result.map { unsafe Self.answer(of: $0) } ?? .nothing)
        }
        guard unsafe PQstatus(handle) == CONNECTION_OK else { throw unsafe lost(Self.text(handle)) }
        return nil
    }

    private func read() throws {
        guard unsafe PQconsumeInput(handle) == 1 else { throw unsafe lost(Self.text(handle)) }
    }

    private static func answer(of result: OpaquePointer) -> PostgreSQLAnswers.Answer {
        switch unsafe PQresultStatus(result) {
        case PGRES_TUPLES_OK: .rows(unsafe PostgreSQLParameters.rows(of: result))
        case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: .rows([])
        case PGRES_PIPELINE_SYNC: .sync
        // What follows a refusal was not looked at.
        case PGRES_PIPELINE_ABORTED: .skipped
        default: .refusal(.refused(state: unsafe field(result, "C") ?? "", unsafe field(result, "M") ?? ""))
        }
    }

    /// `PG_DIAG_…`: the primary message and the code.
    ///
    /// The detail would name values.
    private static func field(_ result: OpaquePointer, _ code: Unicode.Scalar) -> String? {
        unsafe PQresultErrorField(result, Int32(code.value)).map { unsafe String(cString: $0) }
    }

    private static func text(_ handle: OpaquePointer) -> String {
        unsafe String(cString: PQerrorMessage(handle)).split(separator: "\n").joined(separator: "; ")
    }
}
