import Foundation
import Testing

@testable import SyncStores

/// What only PostgreSQL has: transactions that commit late, connections that break, and notifications.
@Suite struct PostgreSQLStoreTests {
    private let bench: PostgreSQLBench
    private let store: any SyncStore

    init() async throws {
        bench = try PostgreSQLBench()
        store = try await bench.member()
    }

    /// A put whose transaction stays open: the next put waits, and no reader passes its number.
    @Test func sy30_aTransactionThatCommitsLateIsNotMissed() async throws {
        let slow = try bench.connection()
        _ = try slow.run("BEGIN")
        _ = try slow.run("UPDATE touchstone_sync_circles SET last = last + 1 WHERE circle = 'family'")
        let late = try recordName("late", 1)
        _ = try slow.run(
            "INSERT INTO touchstone_sync_records SELECT circle, last, $1, $2 FROM touchstone_sync_circles WHERE circle = 'family'",
            [.text(late.description), .bytes(record(1))])
        let fast = try recordName("fast", 1)
        async let put: Void = bench.member().put(fast, record(2))
        let waiting =
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        // Until the other put waits for the row.
        for _ in 0..<600 {
            if try bench.servers.query(bench.address, waiting) == ["1"] { break }
            try await Task.sleep(for: .milliseconds(50))
        }
        #expect(try bench.servers.query(bench.address, waiting) == ["1"])
        // Another circle does not wait.
        try await bench.member(circle: "other").put(fast, record(3))
        var cursor = StoreCursor.start
        #expect(try await store.everything(since: &cursor).isEmpty)
        _ = try slow.run("COMMIT")
        try await put
        #expect(try await store.everything(since: &cursor) == [late, fast])
    }

    /// The twin: with a sequence the reader passes the number of whoever commits late.
    @Test func sy30_withASequenceItWouldBeMissed() throws {
        let (slow, fast) = (try bench.connection(), try bench.connection())
        _ = try fast.run("CREATE TABLE plain (number bigserial, name text)")
        _ = try slow.run("BEGIN")
        _ = try slow.run("INSERT INTO plain (name) VALUES ('late')")
        _ = try fast.run("INSERT INTO plain (name) VALUES ('fast')")
        let seen = try fast.run("SELECT name, number::text FROM plain WHERE number > 0 ORDER BY number")
        #expect(seen.map { $0[0] } == [Data("fast".utf8)])
        _ = try slow.run("COMMIT")
        let number = try #require(seen.first?[1].flatMap { Int64(String(decoding: $0, as: UTF8.self)) })
        #expect(try fast.run("SELECT name FROM plain WHERE number > $1 ORDER BY number", [.integer(number)]).isEmpty)
    }

    @Test func sy30_aReaderThatKeepsUpMissesNothing() async throws {
        let (writers, count) = (8, 25)
        try await withThrowingTaskGroup { group in
            for writer in 0..<writers {
                let store = try await bench.member()
                group.addTask {
                    for number in 0..<count { try await store.put(recordName("w\(writer)", number), record(number)) }
                }
            }
            group.addTask {
                var (cursor, names) = (StoreCursor.start, [RecordName]())
                let end = ContinuousClock.now + .seconds(600)
                while names.count < writers * count, ContinuousClock.now < end {
                    names += try await store.everything(since: &cursor, limit: 5)
                }
                #expect(names.count == writers * count)
                #expect(Set(names).count == writers * count)
            }
            try await group.waitForAll()
        }
    }

    @Test func sy30_aConnectionThatBreaksIsMadeAgain() async throws {
        try await store.put(recordName("ada", 1), record(1))
        _ = try bench.servers.query(
            bench.address,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'touchstone-sync' AND datname = current_database()"
        )
        await #expect(throws: StoreError.self) { try await store.put(recordName("ada", 2), record(2)) }
        try await store.put(recordName("ada", 2), record(2))
        #expect(try await store.everything().count == 2)
    }

    /// Connections end at any point of a put: each record is there once, whatever was answered.
    @Test func sy30_nothingIsLostOrTwiceThroughConnectionsThatBreak() async throws {
        let writer = try await bench.member()
        let count = 150
        let breaks = Task { [bench] in
            var broken = 0
            for _ in 0..<25 {
                let found = try bench.servers.query(
                    bench.address,
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'touchstone-sync' AND datname = current_database()"
                )
                broken += found.count
                try await Task.sleep(for: .milliseconds(10))
            }
            return broken
        }
        for number in 0..<count {
            let name = try recordName("ada", number)
            try await persistently { () async throws(StoreError) in try await writer.put(name, record(number)) }
        }
        #expect(try await breaks.value > 0)
        let names = try await persistently { () async throws(StoreError) in
            try await store.list(since: .start, limit: StoreLimits.page).names
        }
        #expect(names.map(\.number) == (0..<UInt64(count)).map { $0 })
    }

    @Test func sy33_aWaitEndsAtAPutAndAtANewHead() async throws {
        let other = try await bench.member()
        // The first wait begins to listen.
        try await store.waitForNews(atMost: .seconds(60))
        for change in 1...3 {
            let started = ContinuousClock.now
            async let wait: Void = store.waitForNews(atMost: .seconds(1200))
            if change == 2 {
                #expect(try await other.swapHead(nil, for: Data("a".utf8)))
            } else {
                try await other.put(recordName("ada", change), record(change))
            }
            try await wait
            // Far less on a machine with nothing else to do; a wait that heard nothing takes twenty minutes.
            #expect(ContinuousClock.now - started < .seconds(600))
        }
        // Nothing happened: it takes its time.
        let started = ContinuousClock.now
        try await store.waitForNews(atMost: .milliseconds(300))
        #expect(ContinuousClock.now - started >= .milliseconds(300))
    }

    /// The twin of the test before: this member's own puts and heads end no wait of its own.
    @Test func sy33_ownPutsAreNoNews() async throws {
        try await store.waitForNews(atMost: .seconds(60))
        try await store.put(recordName("ada", 1), record(1))
        #expect(try await store.swapHead(nil, for: Data("a".utf8)))
        let started = ContinuousClock.now
        try await store.waitForNews(atMost: .milliseconds(300))
        #expect(ContinuousClock.now - started >= .milliseconds(300))
    }

    @Test func sy33_aPageBringsSmallRecordsOfOthersAlong() async throws {
        let other = try await bench.member()
        let (small, large, late) = (try recordName("ada", 1), try recordName("ada", 2), try recordName("ada", 3))
        try await other.put(small, record(1))
        try await other.put(large, Data(repeating: 7, count: StoreLimits.contents))
        try await other.put(late, record(3))
        try await store.put(recordName("ben", 1), record(4))
        let page = try await store.list(since: .start, limit: 10)
        #expect(page.names.count == 4)
        #expect(page.contents == [small: record(1)])
        #expect(try await other.list(since: .start, limit: 10).contents.isEmpty)
    }

    @Test func sy30_aUserWhoMayNotMakeTablesUsesThem() async throws {
        _ = try bench.servers.query(
            bench.address,
            """
            CREATE ROLE "\(role)" LOGIN PASSWORD 'theirs'; GRANT SELECT, INSERT, UPDATE ON touchstone_sync_circles TO "\(role)"; \
            GRANT SELECT, INSERT, DELETE ON touchstone_sync_records TO "\(role)"; REVOKE CREATE ON SCHEMA public FROM public
            """.replacing("\n", with: " "))
        let address = bench.address.replacing("postgresql://signin@", with: "postgresql://\(role)@")
        let theirs = try PostgreSQLStore(address: address, password: StoreSecret("theirs".utf8), circle: "family")
        try await theirs.prepare()
        try await theirs.put(recordName("ben", 1), record(1))
        #expect(try await store.get(recordName("ben", 1)) == record(1))
        let wrong = try PostgreSQLStore(address: address, password: StoreSecret("wrong".utf8), circle: "family")
        do {
            try await wrong.put(recordName("ben", 2), record(1))
            Issue.record("a wrong password is right")
        } catch {
            guard case StoreError.refused(let text) = error else { throw error }
            #expect(!text.contains("wrong"))
        }
        _ = try bench.servers.query(bench.address, "DROP OWNED BY \"\(role)\"; DROP ROLE \"\(role)\"")
    }

    private let role = "user-\(UUID())"

    @Test func sy31_addressesHaveNoCredentialsAndRequireTLS() throws {
        for text in [
            "postgresql://ada:secret@db.example/keychains", "postgresql://ada@db.example/k?password=secret",
            "postgresql://ada@db.example/k?passfile=/x", "postgresql://ada@db.example/k?sslmode=disable",
            "postgresql://ada@db.example/k?sslmode=require", "postgresql://ada@db.example/k?service=x",
            "postgresql://ada@db.example/k?options=-c", "postgresql://ada@a,b/k", "postgresql:///k", "nonsense", "",
            "postgresql://ada@db.example/k?sslkey=/x", "host=db.example user=ada", "dbname=k user=ada",
            "postgresql://ada@db.example/k?hostaddr=10.0.0.1", String(repeating: "x", count: 5000),
        ] {
            let error = #expect(throws: StoreError.self, "\(text)") { try PostgreSQLAddress(text) }
            #expect(error?.description.contains("secret") == false)
        }
        func mode(_ text: String) throws -> String? {
            try PostgreSQLAddress(text).settings.first { $0.keyword == "sslmode" }?.value
        }
        for host in [
            "db.example", "10.0.0.1", "192.168.1.1", "127.0.0.1.example", "localhost.example", "128.0.0.1", "1270.0.1",
        ] {
            #expect(try mode("postgresql://ada@\(host)/k") == "verify-full", "\(host)")
        }
        #expect(try mode("postgresql://ada@127.0.0.1/k") == "prefer")
        #expect(try mode("postgresql://ada@localhost:5433/k") == "prefer")
        #expect(try mode("host=/run/postgresql user=ada dbname=k") == "disable")
        #expect(try mode("postgresql://ada@/k?host=/run/postgresql") == "disable")
        // Nothing of the environment or of a file counts.
        let keywords = try PostgreSQLAddress("postgresql://ada@db.example/k").settings.map(\.keyword)
        #expect(
            Set(keywords).isSuperset(of: [
                "sslmode", "sslrootcert", "passfile", "service", "options", "port", "gssencmode",
            ]))
    }

    /// With a server of its own, because it stops.
    @Test func sy30_whatWasAcknowledgedIsThereAfterALossOfPower() async throws {
        let bench = try PostgreSQLBench(Servers())
        let store = try await bench.member()
        for number in 0..<20 { try await store.put(recordName("ada", number), record(number)) }
        #expect(try await store.swapHead(nil, for: Data("head".utf8)))
        try bench.servers.restart()
        let names = try await persistently { () async throws(StoreError) in try await store.everything() }
        #expect(names.count == 20)
        #expect(try await persistently(store.head) == Data("head".utf8))
    }
}
