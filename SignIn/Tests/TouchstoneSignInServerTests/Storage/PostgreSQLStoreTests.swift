import Foundation
import Testing

@testable import TouchstoneSignInServer

@Suite(.timeLimit(.minutes(20)))
struct PostgreSQLStoreTests {
    private func reason(_ error: StoreError?) -> String {
        guard case .unavailable(let text) = error else { return "not unavailable: \(String(describing: error))" }
        return text
    }

    @Test func wrongPasswordIsSaidAndNotShown() async throws {
        let server = try PostgreSQLServer.shared.get()
        let error = await #expect(throws: StoreError.self) {
            try await SQLStore.postgreSQL(server.target("postgres", passfile: "wrong-passfile"))
        }
        #expect(reason(error).contains("password authentication failed"))
        #expect(!reason(error).contains("wrong\n"))
    }

    @Test(arguments: [
        "postgresql://signin:hunter2@localhost/signin", "host=localhost password=hunter2",
        "host=localhost password='hunter2",
        "hunter2 is no address",
    ])
    func addressWithAPasswordOrNoneIsRefusedAndNotRepeated(_ target: String) async throws {
        let error = await #expect(throws: StoreError.self) { try await SQLStore.postgreSQL(target) }
        #expect(reason(error).contains("address of"))
        #expect(!reason(error).contains("hunter2"))
    }

    @Test func serverThatIsNotThereIsUnavailable() async throws {
        let error = await #expect(throws: StoreError.self) {
            try await SQLStore.postgreSQL("host=/nonexistent dbname=x")
        }
        #expect(reason(error).contains("no connection"))
    }

    @Test func databaseInAnotherEncodingIsRefused() async throws {
        let target = try PostgreSQLServer.shared.get().makeDatabase("ENCODING 'LATIN1' TEMPLATE template0")
        let error = await #expect(throws: StoreError.self) { try await SQLStore.postgreSQL(target) }
        #expect(error == .schema("the database is in LATIN1: make one with ENCODING 'UTF8'"))
    }

    @Test func callThatFindsNoFreeConnectionIsUnavailableAndTheNextOneIsServed() async throws {
        let target = try PostgreSQLServer.shared.get().makeDatabase()
        let store = try await SQLStore.postgreSQL(target, connections: 1, waitLimit: .milliseconds(50))
        let blocker = try PostgreSQLConnection(target)
        try blocker.simple("BEGIN; LOCK TABLE challenges")
        async let first: Void = store.addChallenge(.made("first"))
        // The first one has the connection as soon as PostgreSQL says that it waits for the lock.
        while try blocker.rows(
            "SELECT pid::int8 FROM pg_locks WHERE NOT granted AND relation = 'challenges'::regclass", []
        )
        .isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        let error = await #expect(throws: StoreError.self) { try await store.addChallenge(.made("second")) }
        #expect(reason(error).contains("no connection to PostgreSQL was free"))
        try blocker.simple("COMMIT")
        try await first
        #expect(try await store.takeChallenge(hash: bytes("first")) != nil)
        #expect(try await store.takeChallenge(hash: bytes("second")) == nil)
        try await store.close()
    }

    @Test func connectionThatTheServerEndedIsMadeAnew() async throws {
        let target = try PostgreSQLServer.shared.get().makeDatabase()
        let store = try await SQLStore.postgreSQL(target, connections: 2)
        let other = try PostgreSQLConnection(target)
        for round in 0..<3 {
            try await store.addChallenge(.made("c\(round)"))
            _ = try other.rows(
                """
                SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()
                """, [])
        }
        #expect(try await store.takeChallenge(hash: bytes("c2")) != nil)
        try await store.close()
    }

    @Test func answerThatDoesNotComeIsALostConnection() throws {
        let connection = try PostgreSQLConnection(try PostgreSQLServer.shared.get().target("postgres"))
        #expect(try connection.rows("SELECT 7::int8", []).first?.integer(0) == 7)
        connection.limit = .milliseconds(50)
        let error = #expect(throws: PostgreSQLError.self) { _ = try connection.rows("SELECT pg_sleep(60)", []) }
        let text = reason(error?.storeError)
        #expect(text.contains("no answer within"))
        #expect(!connection.isAlive)
    }

    /// What is sent together is done as a whole, or not at all; the connection is good afterwards.
    @Test func statementsThatAreSentTogetherAreOneTransaction() throws {
        let connection = try PostgreSQLConnection(try PostgreSQLServer.shared.get().makeDatabase())
        try connection.simple("CREATE TABLE numbers (number BIGINT PRIMARY KEY)")
        func insert(_ number: Int64) -> SQLStatement {
            SQLStatement(text: "INSERT INTO numbers VALUES ($1) RETURNING number", values: [.integer(number)])
        }
        let sum = SQLStatement(text: "SELECT SUM(number)::int8 FROM numbers", values: [])
        let answers = try connection.rows([insert(1), insert(2), sum])
        #expect(try answers.map { try $0[0].integer(0) } == [1, 2, 3])
        let error = #expect(throws: PostgreSQLError.self) {
            _ = try connection.rows([insert(3), insert(2), insert(4)])
        }
        #expect(error?.storeError == .exists)
        #expect(connection.isAlive)
        #expect(try connection.rows(sum.text, [])[0].integer(0) == 3)
        #expect(try connection.rows([]).isEmpty)
    }

    @Test func answersThatDoNotComeAreALostConnection() throws {
        let connection = try PostgreSQLConnection(try PostgreSQLServer.shared.get().target("postgres"))
        connection.limit = .milliseconds(50)
        let one = SQLStatement(text: "SELECT 1::int8", values: [])
        let error = #expect(throws: PostgreSQLError.self) {
            _ = try connection.rows([one, SQLStatement(text: "SELECT pg_sleep(60)", values: []), one])
        }
        let text = reason(error?.storeError)
        #expect(text.contains("no answer within"))
        #expect(!connection.isAlive)
    }

    /// What may have taken something is not done again: the answer is that nobody knows.
    @Test func statementWhoseAnswerWasLostIsNotRepeated() async throws {
        let target = try PostgreSQLServer.shared.get().makeDatabase()
        // No rollback takes a number of a sequence back.
        let other = try PostgreSQLConnection(target)
        try other.simple("CREATE SEQUENCE attempts")
        let attempt = SQLStatement(
            text: "SELECT nextval('attempts'), pg_terminate_backend(pg_backend_pid())", values: [])
        func attempts() throws -> Int64 {
            defer { try? other.simple("ALTER SEQUENCE attempts RESTART") }
            return try other.rows("SELECT nextval('attempts')", [])[0].integer(0) - 1
        }
        let database = try PostgreSQLDatabase(target, connections: 1, waitLimit: .seconds(1))
        for (work, expected) in [(SQLWork.read, 2), (.statement, 1)] as [(SQLWork, Int64)] {
            await #expect(throws: StoreError.self) { try await database.rows(work, [attempt]) }
            #expect(try attempts() == expected)
        }
        await #expect(throws: StoreError.self) {
            try await database.transaction { _ = try $0.rows(attempt.text, []) }
        }
        #expect(try attempts() == 1)
        try await database.close()
    }

    /// Each has what the other one waits for: PostgreSQL undoes one of them, and that one is done again.
    @Test func transactionThatADeadlockUndidIsDoneAgain() async throws {
        let target = try PostgreSQLServer.shared.get().makeDatabase()
        let database = try PostgreSQLDatabase(target, connections: 2, waitLimit: .seconds(1))
        try await database.migrate()
        let store = SQLStore(database: database)
        try await store.addAccount("ana", keys: ["1", "2"])
        let attempts = Guarded(0)
        let halfway = [DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)]
        try await withThrowingTaskGroup { group in
            for number in 0..<2 {
                group.addTask {
                    try await database.transaction { connection in
                        let attempt = attempts.withLock { count in
                            count += 1
                            return count
                        }
                        let order = number == 0 ? ["1", "2"] : ["2", "1"]
                        let raise = "UPDATE device_keys SET counter = $1 WHERE id = $2"
                        try connection.rows(raise, [.counter(1), .bytes(bytes(order[0]))])
                        if attempt <= 2 {
                            halfway[1 - number].signal()
                            _ = halfway[number].wait(timeout: .now() + 10)
                        }
                        try connection.rows(raise, [.counter(2), .bytes(bytes(order[1]))])
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(attempts.withLock { $0 } >= 3)
        try await database.close()
    }
}
