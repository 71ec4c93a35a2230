import Foundation
import Testing

@testable import TouchstoneSignInServer

/// A pipeline that blocks no thread: what may come between it and its answers.
@Suite(.timeLimit(.minutes(20)))
struct PostgreSQLPipelineTests {
    private static func statement(_ text: String, _ values: [SQLValue] = []) -> SQLStatement {
        SQLStatement(text: text, values: values)
    }

    private static func insert(_ number: Int64) -> SQLStatement {
        statement("INSERT INTO numbers VALUES ($1) RETURNING number", [.integer(number)])
    }

    private let sum = PostgreSQLPipelineTests.statement("SELECT COALESCE(SUM(number), 0)::int8 FROM numbers")

    /// A database with a table of numbers, and one connection to it.
    private func withDatabase(_ body: (PostgreSQLDatabase, _ other: PostgreSQLConnection) async throws -> Void)
        async throws
    {
        let target = try PostgreSQLServer.shared.get().makeDatabase()
        let other = try PostgreSQLConnection(target)
        try other.simple("CREATE TABLE numbers (number BIGINT PRIMARY KEY)")
        let database = try PostgreSQLDatabase(target, connections: 1, waitLimit: .seconds(30))
        try await body(database, other)
        try await database.close()
    }

    @Test func answersComeInTheOrderOfTheStatements() async throws {
        try await withDatabase { database, _ async throws in
            for first in [1, 4] as [Int64] {
                let answers = try await database.rows(.statement, [Self.insert(first), Self.insert(first + 1), sum])
                #expect(try answers.prefix(2).map { try $0[0].integer(0) } == [first, first + 1])
            }
            #expect(try await database.rows(.read, [sum])[0][0].integer(0) == 12)
            #expect(try await database.rows(.read, []).isEmpty)
        }
    }

    @Test func refusalUndoesAllAndWhatCameAfterItMayBeAskedAgain() async throws {
        try await withDatabase { database, _ async throws in
            _ = try await database.rows(.statement, [Self.insert(1)])
            // The statement after the refused one was never prepared, because the server skipped it.
            let new = Self.statement("SELECT number + 1 FROM numbers")
            await #expect(throws: StoreError.exists) {
                try await database.rows(.statement, [Self.insert(2), Self.insert(1), new])
            }
            #expect(try await database.rows(.read, [new, sum]).map { try $0[0].integer(0) } == [2, 1])
            // What no server can prepare is refused, and the connection is good afterwards.
            await #expect(throws: StoreError.self) { try await database.rows(.read, [Self.statement("SELEKT")]) }
            #expect(try await database.rows(.read, [sum])[0][0].integer(0) == 1)
        }
    }

    @Test func connectionThatIsLostInTheMiddleOfAPipelineLosesAllOfItAndIsMadeAnew() async throws {
        try await withDatabase { database, other async throws in
            _ = try await database.rows(.read, [sum])
            let end = Self.statement("SELECT pg_terminate_backend(pg_backend_pid())")
            let error = await #expect(throws: StoreError.self) {
                try await database.rows(.statement, [Self.insert(1), end, Self.insert(2)])
            }
            guard case .unavailable(let text) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(text.contains("the connection was lost"))
            #expect(try other.rows(sum.text, [])[0].integer(0) == 0)
            #expect(try await database.rows(.statement, [Self.insert(3), sum])[1][0].integer(0) == 3)
        }
    }

    @Test func answerAfterItsDeadlineIsALostConnection() async throws {
        let connection = try PostgreSQLConnection(try PostgreSQLServer.shared.get().target("postgres"))
        let poller = try SocketPoller()
        let one = Self.statement("SELECT 1::int8")
        #expect(try await connection.rows([one], waitingBy: poller)[0][0].integer(0) == 1)
        connection.limit = .milliseconds(50)
        let error = await #expect(throws: PostgreSQLError.self) {
            try await connection.rows([one, Self.statement("SELECT pg_sleep(60)"), one], waitingBy: poller)
        }
        guard case .lost(let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.contains("no answer within"))
        // The answers that are still to come would be taken for those of the next pipeline.
        #expect(!connection.isAlive)
        try await poller.close()
    }

    /// A client that leaves does not stop what it began, and does not leave half of an answer to the next one.
    @Test func pipelineOfACallerThatIsCancelledIsDoneAndTheConnectionIsGood() async throws {
        try await withDatabase { database, other async throws in
            _ = try await database.rows(.read, [sum])
            try other.simple("BEGIN; LOCK TABLE numbers")
            let caller = Task { try await database.rows(.statement, [Self.insert(1), Self.insert(2), sum]) }
            while try other.rows(
                "SELECT pid::int8 FROM pg_locks WHERE NOT granted AND relation = 'numbers'::regclass", []
            ).isEmpty { try await Task.sleep(for: .milliseconds(1)) }
            caller.cancel()
            try other.simple("COMMIT")
            #expect(try await caller.value[2][0].integer(0) == 3)
            #expect(try await database.rows(.read, [sum])[0][0].integer(0) == 3)
        }
    }

    /// More than a socket takes at once, both ways.
    @Test func statementAndAnswerThatAreLongerThanASocketsBufferComeThrough() async throws {
        try await withDatabase { database, _ async throws in
            let long = Data(repeating: 7, count: 8 << 20)
            let echo = Self.statement("SELECT $1", [.bytes(long)])
            let answers = try await database.rows(.read, [echo, echo])
            #expect(try answers.map { try $0[0].bytes(0) } == [long, long])
        }
    }

    @Test func closeWaitsForThePipelineThatIsThereAndRefusesTheNext() async throws {
        try await withDatabase { database, other async throws in
            _ = try await database.rows(.read, [sum])
            try other.simple("BEGIN; LOCK TABLE numbers")
            async let answers = database.rows(.statement, [Self.insert(1), sum])
            while try other.rows(
                "SELECT pid::int8 FROM pg_locks WHERE NOT granted AND relation = 'numbers'::regclass", []
            ).isEmpty { try await Task.sleep(for: .milliseconds(1)) }
            async let closing: Void = database.close()
            // The one connection is taken, so that this waits until the storage says that it is closed.
            await #expect(throws: StoreError.unavailable("the storage is closed")) {
                try await database.rows(.read, [sum])
            }
            try other.simple("COMMIT")
            #expect(try await answers[1][0].integer(0) == 1)
            try await closing
        }
    }

    @Test func socketIsWaitedForUntilItsDeadlineAndAClosedPollerRefuses() async throws {
        let poller = try SocketPoller()
        var ends: [Int32] = [0, 0]
        let made = unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
        #expect(made == 0)
        let (near, far) = (ends[0], ends[1])
        #expect(await poller.wait(for: .readable, of: near, until: .now + .milliseconds(20)) == false)
        #expect(await poller.wait(for: .writable, of: near, until: .now + .seconds(60)))
        // One deadline passes, and the later one still waits.
        async let later = poller.wait(for: .readable, of: near, until: .now + .seconds(60))
        #expect(await poller.wait(for: .readable, of: far, until: .now + .milliseconds(20)) == false)
        close(far)
        #expect(await later)
        try await poller.close()
        #expect(await poller.wait(for: .writable, of: near, until: .now + .seconds(60)) == false)
        close(near)
    }
}
