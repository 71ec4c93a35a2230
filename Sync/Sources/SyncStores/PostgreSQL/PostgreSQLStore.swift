package import Foundation
import Synchronization

/// A store in PostgreSQL, which may hold many circles (SY-30).
///
/// **The cursor misses nothing.** A sequence would give numbers in another order than transactions commit, so that a reader
/// could pass a number whose row comes later. Here each put takes its number from the circle's own row, in its transaction.
/// The row is locked until that commits, so the circle's numbers become visible in their order. Circles do not wait for
/// each other.
///
/// Waits hear of puts and new heads by LISTEN, on a second connection.
package final class PostgreSQLStore: SyncStore {
    /// In one transaction, and again without harm.
    ///
    /// The circle is the first column everywhere, so that the tables can be
    /// partitioned by it.
    static let schema = """
        SELECT pg_advisory_xact_lock(7306079); \
        CREATE TABLE IF NOT EXISTS touchstone_sync_circles ( \
        circle text PRIMARY KEY, last bigint NOT NULL DEFAULT 0, head bytea); \
        CREATE TABLE IF NOT EXISTS touchstone_sync_records ( \
        circle text NOT NULL REFERENCES touchstone_sync_circles, number bigint NOT NULL, name text NOT NULL, \
        bytes bytea NOT NULL, PRIMARY KEY (circle, name)); \
        CREATE UNIQUE INDEX IF NOT EXISTS touchstone_sync_numbers ON touchstone_sync_records (circle, number)
        """

    /// Of the characters a–z and 0–9, so it may stand in a statement.
    private let circle: String
    /// Of LISTEN, and short, because each notification names it.
    ///
    /// Circles that share one hear of each other in vain.
    private let channel: String
    private let calls: Line
    private let news: Line
    /// Who put something through this store.
    private let writers = Mutex<Set<String>>([])

    /// Connects to nothing yet.
    ///
    /// - Parameters:
    ///   - address: `postgresql://USER@HOST[:PORT]/DATABASE`. See ``StoreError/configuration(_:)``: a host on another
    ///     machine has TLS, with its name checked.
    ///   - password: Nil where the server asks for none, as on a socket of this machine.
    ///   - circle: 1…64 of the characters a–z and 0–9.
    /// - Throws: `configuration` for an address of another form, `invalid` for another circle.
    package init(address: String, password: StoreSecret?, circle: String) throws(StoreError) {
        try StoreLimits.check(circle: circle)
        let address = try PostgreSQLAddress(address)
        self.circle = circle
        channel = "touchstone_\(sha256(Data(circle.utf8)).prefix(6).hexadecimal)"
        calls = Line("io.touchstone.sync.postgresql", address, password)
        news = Line("io.touchstone.sync.postgresql.news", address, password)
    }

    package func prepare() async throws(StoreError) {
        try await calls.use { [circle] connection throws(StoreError) in
            // A user who may only use the tables finds them made.
            let found = try connection.run("SELECT to_regclass('touchstone_sync_numbers') IS NOT NULL")
            if found.first?.first != Data([1]) {
                try connection.runAll("BEGIN; \(Self.schema); COMMIT")
            }
            _ = try connection.run(
                "INSERT INTO touchstone_sync_circles (circle) VALUES ('\(circle)') ON CONFLICT DO NOTHING")
        }
    }

    package func put(_ name: RecordName, _ bytes: Data) async throws(StoreError) {
        guard try await put([StoredRecord(name, bytes)], deleting: []).isEmpty else { throw .taken(name) }
    }

    /// In one transaction, which counts as one for everybody who waits for news.
    package func put(
        _ records: [StoredRecord], deleting names: [RecordName]
    ) async throws(StoreError) -> [RecordName] {
        for record in records { try StoreLimits.check(record: record.bytes) }
        writers.withLock { $0.formUnion(records.map(\.name.writer)) }
        let values: [PostgreSQLConnection.Value] = [
            .texts(records.map(\.name.description)), .manyBytes(records.map(\.bytes)),
        ]
        let dropped = names.map(\.description)
        return try await calls.use { [circle, channel] connection throws(StoreError) in
            let made = try connection.run(
                """
                WITH given AS (SELECT * FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY AS given (name, bytes, place)),
                next AS (
                    UPDATE touchstone_sync_circles SET last = last + cardinality($1) WHERE circle = '\(circle)' RETURNING last),
                made AS (
                    INSERT INTO touchstone_sync_records
                    SELECT '\(circle)', last - cardinality($1) + place, name, bytes FROM given, next
                    ON CONFLICT (circle, name) DO NOTHING RETURNING number),
                gone AS (DELETE FROM touchstone_sync_records WHERE circle = '\(circle)' AND name = ANY ($3))
                SELECT count(*) FROM made WHERE pg_notify('\(channel)', '') IS NOT NULL
                """, values + [.texts(dropped)])
            if Self.number(made) == Int64(records.count) { return [] }
            let there = try connection.run(
                """
                SELECT name, there.bytes = given.bytes FROM unnest($1::text[], $2::bytea[]) AS given (name, bytes)
                    JOIN touchstone_sync_records there USING (name) WHERE there.circle = '\(circle)'
                """, values)
            guard there.count == records.count else { throw Self.missing }
            return there.filter { $0[1] != Data([1]) }.compactMap { RecordName(Self.text($0[0])) }
        }
    }

    private static func text(_ column: Data?) -> String { String(decoding: column ?? Data(), as: UTF8.self) }

    /// Of one row and column.
    private static func number(_ rows: [[Data?]]) -> Int64? { rows.first?.first.flatMap(number) }

    private static func number(_ column: Data?) -> Int64? {
        guard let column, column.count == 8 else { return nil }
        return column.reduce(0) { $0 << 8 | Int64($1) }
    }

    package func get(_ name: RecordName) async throws(StoreError) -> Data? {
        try await calls.use { [circle] connection throws(StoreError) in
            try connection.run(
                "SELECT bytes FROM touchstone_sync_records WHERE circle = '\(circle)' AND name = $1",
                [.text(name.description)]
            ).first?.first ?? nil
        }
    }

    package func list(since cursor: StoreCursor, limit: Int) async throws(StoreError) -> StorePage {
        try StoreLimits.check(page: limit)
        let since = cursor == .start ? 0 : Int64(cursor.text) ?? -1
        guard since >= 0 else { throw StoreCursor.foreign() }
        let own = writers.withLock { $0.sorted() }
        return try await calls.use { [circle] connection throws(StoreError) in
            // What this process put is not sent back to it.
            let rows = try connection.run(
                """
                SELECT name AS n, number AS i, CASE WHEN size <= \(StoreLimits.contents)
                    AND split_part(name, '-', 1) != ALL ('{\(own.joined(separator: ","))}') THEN bytes END AS b
                FROM (
                    SELECT name, number, bytes, sum(length(bytes)) OVER (ORDER BY number) AS size
                    FROM touchstone_sync_records WHERE circle = '\(circle)' AND number > $1 ORDER BY number LIMIT \(limit)
                ) AS page ORDER BY number
                """, [.integer(since)])
            var page = StorePage(names: [], cursor: cursor, hasMore: rows.count == limit)
            for row in rows {
                guard let name = RecordName(Self.text(row[0])), let number = Self.number(row[1]) else {
                    throw .damaged("PostgreSQL has a record with a name that is not of this program's making")
                }
                page.names.append(name)
                page.cursor = StoreCursor(text: "\(number)")
                page.contents[name] = row[2]
            }
            return page
        }
    }

    package func delete(_ name: RecordName) async throws(StoreError) {
        try await calls.use { [circle] connection throws(StoreError) in
            _ = try connection.run(
                "DELETE FROM touchstone_sync_records WHERE circle = '\(circle)' AND name = $1",
                [.text(name.description)])
        }
    }

    package func head() async throws(StoreError) -> Data? {
        try await calls.use { [circle] connection throws(StoreError) in
            try connection.run("SELECT head FROM touchstone_sync_circles WHERE circle = '\(circle)'")
                .first?.first ?? nil
        }
    }

    package func swapHead(_ expected: Data?, for new: Data) async throws(StoreError) -> Bool {
        try StoreLimits.check(head: new)
        return try await calls.use { [circle, channel] connection throws(StoreError) in
            try !connection.run(
                """
                WITH swapped AS (
                    UPDATE touchstone_sync_circles SET head = $2
                    WHERE circle = '\(circle)' AND (head IS NOT DISTINCT FROM $1 OR head = $2) RETURNING 1)
                SELECT pg_notify('\(channel)', '') IS NULL FROM swapped
                """, [.bytes(expected), .bytes(new)]
            ).isEmpty
        }
    }

    /// A call that comes before the first wait is heard by the first wait as well: what was put between is listed.
    ///
    /// What this process puts is no news to it.
    package func waitForNews(atMost limit: Duration) async throws(StoreError) {
        let calls = calls
        try await news.use(first: "LISTEN \(channel)") { connection, isNew throws(StoreError) in
            // What happened before LISTEN was heard by nobody.
            if isNew { return }
            _ = try connection.waitForNotification(notOf: { calls.process }, atMost: limit)
        }
    }

    private static let missing = StoreError.configuration(
        "PostgreSQL does not have this circle: run touchstone-sync create, or its tables were emptied")
}

/// A connection that is made when it is needed, and again after it was lost.
private final class Line: Sendable {
    private final class Place: @unchecked Sendable {
        // Unchecked: only the queue touches it.
        var connection: PostgreSQLConnection?
    }

    private let queue: BlockingQueue
    private let place = Place()
    private let server = Atomic<Int32>(0)
    private let address: PostgreSQLAddress
    private let password: StoreSecret?

    init(_ label: String, _ address: PostgreSQLAddress, _ password: StoreSecret?) {
        (queue, self.address, self.password) = (BlockingQueue(label), address, password)
    }

    /// The server's process of the newest connection; 0 before the first one.
    var process: Int32 { server.load(ordering: .relaxed) }

    func use<Answer: Sendable>(
        _ body: @escaping @Sendable (PostgreSQLConnection) throws(StoreError) -> Answer
    ) async throws(StoreError) -> Answer {
        try await use(first: nil) { connection, _ throws(StoreError) in try body(connection) }
    }

    /// As the one above, and says whether the connection is new; `first` is what a new one is told.
    func use<Answer: Sendable>(
        first: String?, _ body: @escaping @Sendable (PostgreSQLConnection, Bool) throws(StoreError) -> Answer
    ) async throws(StoreError) -> Answer {
        try await queue.run { [self] () throws(StoreError) in
            let isNew = place.connection == nil
            let connection: PostgreSQLConnection
            if let made = place.connection {
                connection = made
            } else {
                connection = try PostgreSQLConnection(address, password: password)
                server.store(connection.process, ordering: .relaxed)
            }
            do throws(StoreError) {
                if isNew, let first { _ = try connection.run(first) }
                let answer = try body(connection, isNew)
                place.connection = connection
                return answer
            } catch {
                // It may be lost: the next call makes another one.
                if case .unavailable = error { place.connection = nil }
                throw error
            }
        }
    }
}
