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

    private let circle: String
    /// Of LISTEN: an identifier has at most 63 bytes.
    private let channel: String
    private let calls: Line
    private let news: Line

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
        channel = "touchstone_\(sha256(Data(circle.utf8)).prefix(16).hexadecimal)"
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
                "INSERT INTO touchstone_sync_circles (circle) VALUES ($1) ON CONFLICT DO NOTHING", [.text(circle)])
        }
    }

    package func put(_ name: RecordName, _ bytes: Data) async throws(StoreError) {
        try StoreLimits.check(record: bytes)
        try await calls.use { [circle, channel] connection throws(StoreError) in
            let put = try connection.run(
                """
                WITH next AS (UPDATE touchstone_sync_circles SET last = last + 1 WHERE circle = $1 RETURNING last),
                made AS (
                    INSERT INTO touchstone_sync_records SELECT $1::text, last, $2::text, $3::bytea FROM next
                    ON CONFLICT (circle, name) DO NOTHING RETURNING number)
                SELECT pg_notify($4, '') IS NULL FROM made
                """, [.text(circle), .text(name.description), .bytes(bytes), .text(channel)])
            if !put.isEmpty { return }
            let there = try connection.run(
                "SELECT bytes = $3 FROM touchstone_sync_records WHERE circle = $1 AND name = $2",
                [.text(circle), .text(name.description), .bytes(bytes)])
            guard let same = there.first?.first else { throw Self.missing }
            guard same == Data([1]) else { throw .taken(name) }
        }
    }

    package func get(_ name: RecordName) async throws(StoreError) -> Data? {
        try await calls.use { [circle] connection throws(StoreError) in
            try connection.run(
                "SELECT bytes FROM touchstone_sync_records WHERE circle = $1 AND name = $2",
                [.text(circle), .text(name.description)]
            ).first?.first ?? nil
        }
    }

    package func list(since cursor: StoreCursor, limit: Int) async throws(StoreError) -> StorePage {
        try StoreLimits.check(page: limit)
        let since = cursor == .start ? 0 : Int64(cursor.text) ?? -1
        guard since >= 0 else { throw StoreCursor.foreign() }
        return try await calls.use { [circle] connection throws(StoreError) in
            let rows = try connection.run(
                """
                SELECT name, convert_to(number::text, 'UTF8') FROM touchstone_sync_records WHERE circle = $1 AND number > $2
                ORDER BY number LIMIT $3
                """, [.text(circle), .integer(since), .integer(Int64(limit))])
            var page = StorePage(names: [], cursor: cursor, hasMore: rows.count == limit)
            for row in rows {
                guard let name = RecordName(String(decoding: row[0] ?? Data(), as: UTF8.self)) else {
                    throw .damaged("PostgreSQL has a record with a name that is not of this program's making")
                }
                page.names.append(name)
                page.cursor = StoreCursor(text: String(decoding: row[1] ?? Data(), as: UTF8.self))
            }
            return page
        }
    }

    package func delete(_ name: RecordName) async throws(StoreError) {
        try await calls.use { [circle] connection throws(StoreError) in
            _ = try connection.run(
                "DELETE FROM touchstone_sync_records WHERE circle = $1 AND name = $2",
                [.text(circle), .text(name.description)])
        }
    }

    package func head() async throws(StoreError) -> Data? {
        try await calls.use { [circle] connection throws(StoreError) in
            try connection.run("SELECT head FROM touchstone_sync_circles WHERE circle = $1", [.text(circle)])
                .first?.first ?? nil
        }
    }

    package func swapHead(_ expected: Data?, for new: Data) async throws(StoreError) -> Bool {
        try StoreLimits.check(head: new)
        return try await calls.use { [circle, channel] connection throws(StoreError) in
            try !connection.run(
                """
                WITH swapped AS (
                    UPDATE touchstone_sync_circles SET head = $3
                    WHERE circle = $1 AND (head IS NOT DISTINCT FROM $2 OR head = $3) RETURNING 1)
                SELECT pg_notify($4, '') IS NULL FROM swapped
                """, [.text(circle), .bytes(expected), .bytes(new), .text(channel)]
            ).isEmpty
        }
    }

    /// A call that comes before the first wait is heard by the first wait as well: what was put between is listed.
    package func waitForNews(atMost limit: Duration) async throws(StoreError) {
        try await news.use(first: "LISTEN \(channel)") { connection, isNew throws(StoreError) in
            // What happened before LISTEN was heard by nobody.
            if isNew { return }
            _ = try connection.waitForNotification(atMost: limit)
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
    private let address: PostgreSQLAddress
    private let password: StoreSecret?

    init(_ label: String, _ address: PostgreSQLAddress, _ password: StoreSecret?) {
        (queue, self.address, self.password) = (BlockingQueue(label), address, password)
    }

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
