internal import CPostgreSQL
import Foundation
import Glibc

/// One connection through libpq, for one caller at a time; its calls block.
///
/// The package SignIn has a larger one, whose pool and pipelines belong to a server with thousands of clients (DEC-470).
@safe final class PostgreSQLConnection {
    /// Milliseconds that the server works on a statement, and gives the largest record over a slow line.
    private static let statementTimeout = 40_000
    /// Longer, so that the server gives up first.
    private static let answerLimit: Duration = .milliseconds(statementTimeout + 5000)

    private let handle: OpaquePointer
    /// What the server calls the statements that it has.
    private var names: [String: String] = [:]

    init(_ address: PostgreSQLAddress, password: StoreSecret?) throws(StoreError) {
        let keywords = unsafe address.settings.map { unsafe strdup($0.keyword) } + [strdup("password")]
        let values = unsafe address.settings.map { unsafe strdup($0.value) }
        defer { unsafe (keywords + values).forEach { unsafe free($0) } }
        func connect(_ password: UnsafePointer<CChar>?) -> OpaquePointer? {
            unsafe PQconnectdbParams(
                keywords.map { unsafe UnsafePointer($0) } + [nil],
                values.map { unsafe UnsafePointer($0) } + [password, nil], 0)
        }
        let connected = unsafe password.map { unsafe $0.withCString(connect) } ?? connect("")
        guard let handle = unsafe connected else { throw .unavailable("PostgreSQL: no memory") }
        unsafe self.handle = handle
        guard unsafe PQstatus(handle) == CONNECTION_OK else {
            let text = unsafe Self.text(handle)
            // libpq gives no code for it.
            if text.contains("authentication failed") || text.contains("no password supplied") {
                throw .refused("PostgreSQL refuses the store's user or password: \(text)")
            }
            throw .unavailable("PostgreSQL: no connection: \(text)")
        }
        _ = try run(
            """
            SELECT set_config('statement_timeout', '\(Self.statementTimeout)', false),
                set_config('default_transaction_isolation', 'read committed', false),
                set_config('client_min_messages', 'error', false),
                CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', false) END
            """)
    }

    deinit { unsafe PQfinish(handle) }

    /// A value of a statement, which goes over the line in PostgreSQL's binary form.
    enum Value {
        case bytes(Data?)
        case text(String)
        case integer(Int64)
        case texts([String])
        case manyBytes([Data])

        fileprivate var bytes: Data? {
            switch self {
            case .bytes(let bytes): bytes
            case .text(let text): Data(text.utf8)
            case .integer(let integer): Self.bigEndian(UInt64(bitPattern: integer), 8)
            case .texts(let texts): Self.array(texts.map { Data($0.utf8) }, of: 25)
            case .manyBytes(let values): Self.array(values, of: 17)
            }
        }

        /// One dimension, without NULL, whose first element has number 1.
        private static func array(_ elements: [Data], of type: Int) -> Data {
            var array = Data()
            for number in [1, 0, type, elements.count, 1] { array += bigEndian(UInt64(number), 4) }
            for element in elements { array += bigEndian(UInt64(element.count), 4) + element }
            return array
        }

        private static func bigEndian(_ number: UInt64, _ count: Int) -> Data {
            Data((0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) })
        }
    }

    /// One statement, which is a transaction of its own.
    ///
    /// The server keeps one that has values, so that its text goes over the line once.
    ///
    /// - Returns: Its rows, each with the bytes of its columns in PostgreSQL's binary form; nil for NULL.
    /// - Throws: `unavailable` if the connection is gone; then it may have happened.
    func run(_ statement: String, _ values: [Value] = []) throws(StoreError) -> [[Data?]] {
        let name = values.isEmpty ? nil : try prepared(statement)
        let bytes = values.map(\.bytes)
        // One buffer, each value with a zero behind it.
        let buffer = bytes.reduce(into: Data()) { $0 += ($1 ?? Data()) + [0] }
        var place = 0
        let places = bytes.map { bytes in
            defer { place += (bytes?.count ?? 0) + 1 }
            return bytes.map { _ in place }
        }
        let (lengths, formats) = (bytes.map { Int32($0?.count ?? 0) }, values.map { _ in Int32(1) })
        let sent = unsafe buffer.withUnsafeBytes { buffer in
            let start = unsafe buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            let places = unsafe places.map { place in
                unsafe place.flatMap { place in unsafe start.map { unsafe $0 + place } }
            }
            return if let name {
                unsafe PQsendQueryPrepared(handle, name, Int32(values.count), places, lengths, formats, 1)
            } else {
                unsafe PQsendQueryParams(handle, statement, 0, nil, nil, nil, nil, 1)
            }
        }
        guard sent == 1 else { throw unsafe .unavailable("PostgreSQL: the connection was lost: \(Self.text(handle))") }
        return try answer()
    }

    private func prepared(_ statement: String) throws(StoreError) -> String {
        if let name = names[statement] { return name }
        let name = "\(names.count)"
        guard unsafe PQsendPrepare(handle, name, statement, 0, nil) == 1 else {
            throw unsafe .unavailable("PostgreSQL: the connection was lost: \(Self.text(handle))")
        }
        _ = try answer()
        names[statement] = name
        return name
    }

    /// Several statements, without values.
    func runAll(_ statements: String) throws(StoreError) {
        guard unsafe PQsendQuery(handle, statements) == 1 else {
            throw unsafe .unavailable("PostgreSQL: the connection was lost: \(Self.text(handle))")
        }
        do {
            _ = try answer()
        } catch {
            // What is left of it.
            if unsafe PQtransactionStatus(handle) != PQTRANS_IDLE { _ = try? run("ROLLBACK") }
            throw error
        }
    }

    /// The server's process, which its notifications name.
    var process: Int32 { unsafe PQbackendPID(handle) }

    /// Waits for a notification of another process of the server than `own`; false: none came.
    func waitForNotification(notOf own: () -> Int32, atMost limit: Duration) throws(StoreError) -> Bool {
        let end = ContinuousClock.now + limit
        while true {
            guard unsafe PQconsumeInput(handle) == 1 else {
                throw unsafe .unavailable("PostgreSQL: the connection was lost: \(Self.text(handle))")
            }
            var isOne = false
            while let one = unsafe PQnotifies(handle) {
                if unsafe one.pointee.be_pid != own() { isOne = true }
                unsafe PQfreemem(one)
            }
            if isOne { return true }
            guard try wait(until: end) else { return false }
        }
    }

    private func answer() throws(StoreError) -> [[Data?]] {
        let end = ContinuousClock.now + Self.answerLimit
        var rows: [[Data?]] = []
        var refusal: StoreError?
        while true {
            while unsafe PQisBusy(handle) == 1 {
                guard try wait(until: end) else {
                    throw .unavailable("PostgreSQL: no answer within \(Self.answerLimit)")
                }
                guard unsafe PQconsumeInput(handle) == 1 else {
                    throw unsafe .unavailable("PostgreSQL: the connection was lost: \(Self.text(handle))")
                }
            }
            guard let result = unsafe PQgetResult(handle) else { break }
            defer { unsafe PQclear(result) }
            switch unsafe PQresultStatus(result) {
            case PGRES_TUPLES_OK: unsafe rows = Self.rows(result)
            case PGRES_COMMAND_OK: break
            default: unsafe refusal = Self.refusal(result)
            }
        }
        if let refusal { throw refusal }
        guard unsafe PQstatus(handle) == CONNECTION_OK else {
            throw unsafe .unavailable("PostgreSQL: the connection was lost: \(Self.text(handle))")
        }
        return rows
    }

    private func wait(until end: ContinuousClock.Instant) throws(StoreError) -> Bool {
        let left = ContinuousClock.now.duration(to: end) / .milliseconds(1)
        guard left > 0 else { return false }
        var descriptor = unsafe pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
        let ready = unsafe poll(&descriptor, 1, Int32(min(left, 1e9)) + 1)
        guard ready >= 0 || errno == EINTR else { throw .unavailable("PostgreSQL: the connection was lost") }
        return true
    }

    private static func rows(_ result: OpaquePointer) -> [[Data?]] {
        unsafe (0..<PQntuples(result)).map { row in
            unsafe (0..<PQnfields(result)).map { column in
                guard unsafe PQgetisnull(result, row, column) == 0, let start = unsafe PQgetvalue(result, row, column)
                else { return nil }
                return unsafe Data(bytes: start, count: Int(PQgetlength(result, row, column)))
            }
        }
    }

    /// The server's primary message and code; its detail would name values.
    private static func refusal(_ result: OpaquePointer) -> StoreError {
        func field(_ code: Unicode.Scalar) -> String {
            unsafe PQresultErrorField(result, Int32(code.value)).map { unsafe String(cString: $0) } ?? ""
        }
        let (state, text) = (field("C"), "PostgreSQL: \(field("M")) (\(field("C")))")
        return switch state {
        case "42501", "28000", "28P01": .refused(text)
        case let state where state.hasPrefix("42") || state.hasPrefix("3D"): .configuration(text)
        default: .unavailable(text)
        }
    }

    private static func text(_ handle: OpaquePointer) -> String {
        unsafe String(cString: PQerrorMessage(handle)).split(separator: "\n").first.map(String.init) ?? "no reason"
    }
}
