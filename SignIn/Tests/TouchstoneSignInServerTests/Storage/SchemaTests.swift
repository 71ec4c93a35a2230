import Foundation
import GRDB
import Testing

@testable import TouchstoneSignInServer

/// Fixtures are dumps of what the first version wrote; a released version's is never made again.
@Suite(.timeLimit(.minutes(20)))
struct SchemaTests {
    /// A database that statements were run in before a store sees it; how to open it, and how to look into it.
    private func withDatabase(
        _ storage: Storage, _ sql: String,
        _ body: (
            _ open: @Sendable @escaping () async throws -> SQLStore, _ look: (String) throws -> [SQLRow]
        ) async throws -> Void
    ) async throws {
        switch storage {
        case .sqlite:
            try await withFolder { folder in
                let path = folder + "/signin.sqlite"
                let queue = try DatabaseQueue(path: path)
                try await queue.writeWithoutTransaction { try $0.execute(sql: sql) }
                try await body(
                    { try SQLStore.sqlite(at: path) },
                    { sql in try queue.read { try SQLiteConnection(database: $0).rows(sql, []) } })
            }
        case .postgreSQL:
            let target = try PostgreSQLServer.shared.get().makeDatabase()
            let connection = try PostgreSQLConnection(target)
            try connection.simple(sql)
            try await body({ try await SQLStore.postgreSQL(target, connections: 2) }, { try connection.rows($0, []) })
        }
    }

    private func fixture(_ storage: Storage) throws -> String {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")
        return try String(
            contentsOf: folder.appending(path: "version-1.\(storage.rawValue.lowercased()).sql"), encoding: .utf8)
    }

    @Test(arguments: Storage.allCases)
    func firstVersionsDatabaseOpensAndNothingOfItIsLost(_ storage: Storage) async throws {
        try await withDatabase(storage, try fixture(storage)) { open, look async throws in
            #expect(try look("SELECT version FROM touchstone_signin").first?.integer(0) == 1)
            let store = try await open()
            #expect(try look("SELECT version FROM touchstone_signin").first?.integer(0) == SQLSchema.version)

            #expect(try await store.account(named: "ana") == .made("ana"))
            var key = StoredKey.made("k", of: "ana", device: "of k")
            key.counter = 7
            key.lastUsedAt = now + 10
            #expect(try await store.key(id: bytes("k")) == key)
            #expect(try await store.key(id: bytes("old"))?.state == .revoked(.owner, now + 20))
            #expect(
                try await store.session(id: bytes("s", count: 16)) == .made("s", key: "k", of: "ana", refresh: "r1"))
            #expect(try await store.takeChallenge(hash: bytes("c")) == .made("c", key: "k"))
            #expect(try await store.useOnce(hash: bytes("p"), until: now + 60) == false)
            #expect(try await store.count(bucket: bytes("b"), window: 60, at: now) == 2)
            #expect(try await store.tokenKeys().map(\.id) == ["1"])
            #expect(try await store.webRequest(id: "w")?.code == "42-17")
            #expect(try await store.confirmTransaction(id: "t", keyID: bytes("k"), at: now))

            // What the second version brought works on what the first one wrote.
            let outcome = try await store.rotateRefresh(
                hash: bytes("r1"), to: bytes("r2"), expiresAt: now + 3600, at: now)
            #expect(outcome == .rotated(.made("s", key: "k", of: "ana", refresh: "r2")))
            #expect(
                try await store.rotateRefresh(hash: bytes("r1"), to: bytes("x"), expiresAt: now, at: now) == .reused)
            try await store.close()
        }
    }

    @Test(arguments: Storage.allCases, [true, false])
    func manyProcessesThatStartAtOnceMigrateOnce(_ storage: Storage, _ isEmpty: Bool) async throws {
        try await withDatabase(storage, isEmpty ? "" : try fixture(storage)) { open, look async throws in
            try await withThrowingTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        let store = try await open()
                        try await store.ping()
                        try await store.close()
                    }
                }
                try await group.waitForAll()
            }
            #expect(try look("SELECT version FROM touchstone_signin").map { try $0.integer(0) } == [SQLSchema.version])
        }
    }

    @Test(arguments: Storage.allCases)
    func newerProgramsDatabaseIsRefusedAndLeftAsItIs(_ storage: Storage) async throws {
        let newer = SQLSchema.version + 1
        try await withDatabase(storage, try fixture(storage) + "UPDATE touchstone_signin SET version = \(newer);") {
            open, look async throws in
            let error = await #expect(throws: StoreError.self) { _ = try await open() }
            guard case .schema(let text) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(text.contains("schema \(newer)"))
            #expect(try look("SELECT version FROM touchstone_signin").first?.integer(0) == newer)
            #expect(throws: (any Error).self) { try look("SELECT hash FROM replaced_refresh_tokens") }
        }
    }

    /// A step that fails leaves the version before it, whole.
    @Test(arguments: Storage.allCases)
    func migrationThatFailsLeavesTheOldVersion(_ storage: Storage) async throws {
        // The last statement of the second step finds its index taken.
        let sql = try fixture(storage) + "CREATE INDEX expiry_of_replaced_refresh_tokens ON accounts (created_at);"
        try await withDatabase(storage, sql) { open, look async throws in
            await #expect(throws: StoreError.self) { _ = try await open() }
            #expect(try look("SELECT version FROM touchstone_signin").first?.integer(0) == 1)
            #expect(throws: (any Error).self) { try look("SELECT hash FROM replaced_refresh_tokens") }
            #expect(try look("SELECT name FROM accounts").first?.text(0) == "ana")
        }
    }

    @Test(arguments: Storage.allCases)
    func anotherProgramsTablesAreRefused(_ storage: Storage) async throws {
        try await withDatabase(storage, "CREATE TABLE accounts (balance BIGINT);") { open, look async throws in
            let error = await #expect(throws: StoreError.self) { _ = try await open() }
            guard case .schema = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(try look("SELECT balance FROM accounts").isEmpty)
            #expect(throws: (any Error).self) { try look("SELECT version FROM touchstone_signin") }
        }
    }
}
