import Foundation
import Testing

@testable import SyncStores

/// The figures of docs/sync-stores.md, which come from here.
@Suite struct StoreCostTests {
    /// As a record of a password has: its writer's and its label's names are as long as they may be.
    private let writer = String(repeating: "a", count: 64)

    @Test func sy33_aPollCostsRequestsForWritersAndNotForRecords() async throws {
        let bench = try await ObjectStoreBench()
        let store = try await bench.member()
        func cost(_ work: () async throws -> Void) async throws -> [String: Int] {
            let before = try await bench.servers.counts(bench.bucket)
            try await work()
            return try await bench.servers.counts(bench.bucket).merging(before) { $0 - $1 }.filter { $0.value > 0 }
        }
        // Of two members: their chain, the newest head of each, and the other one's records.
        let (ada, ben) = (String(repeating: "a", count: 52), String(repeating: "b", count: 52))
        for number in 1...3 { try await store.put(recordName("chain", number, "link"), record(number, steps: 2)) }
        for writer in ["h\(ada)", "h\(ben)"] { try await store.put(recordName(writer, 9, "head"), record(9, steps: 2)) }
        for number in 1...3 { try await store.put(recordName("r\(ben)", number, "record"), record(number, steps: 4)) }
        var cursor = StoreCursor.start
        var polls: [[String: Int]] = []
        for count in [20, 100] {
            for number in (polls.isEmpty ? 1 : 21)...count {
                try await store.put(recordName(writer, number, "record"), record(number, steps: 4))
            }
            _ = try await store.everything(since: &cursor, limit: 500)
            polls.append(try await cost { _ = try await store.everything(since: &cursor, limit: 500) })
        }
        // Five writers, and one request that finds them.
        #expect(polls.map { $0["GET list"] } == [6, 6])
        #expect(polls.allSatisfy { $0.count == 2 })
        #expect(polls[0]["bytes"] == polls[1]["bytes"])
        let change = try await cost { try await store.put(recordName(writer, 101, "record"), record(7, steps: 4)) }
        #expect(change == ["PUT": 1, "bytes": 1024])
        let read = try await cost { _ = try await store.get(recordName(writer, 101, "record")) }
        #expect(read == ["GET": 1, "bytes": 1024])
        print("object store: an idle poll of two members has \(polls[1]["bytes"] ?? 0) bytes of answers")
    }

    @Test func sy33_aRowOfPostgreSQLCostsLittleMoreThanItsRecord() async throws {
        let bench = try PostgreSQLBench()
        let store = try await bench.member()
        func number(_ statement: String) throws -> Int {
            try #require(try bench.servers.query(bench.address, statement).first.flatMap { Int($0) })
        }
        let count = 500
        try await store.put(recordName(writer, 1, "record"), record(1, steps: 4))
        let log = try bench.servers.query(bench.address, "CHECKPOINT; SELECT pg_current_wal_lsn()").last ?? ""
        for number in 2...count { try await store.put(recordName(writer, number, "record"), record(number, steps: 4)) }
        let written = try number("SELECT (pg_current_wal_lsn() - '\(log)')::bigint")
        let kept = try number("SELECT pg_total_relation_size('touchstone_sync_records')")
        let indexes = try number("SELECT pg_indexes_size('touchstone_sync_records')")
        print(
            "PostgreSQL: \(kept / count) bytes for a record of 1024, \(indexes / count) of them indexes; WAL \(written / count)"
        )
        // The log is the whole server's, and other tests write to it at the same time.
        #expect(kept / count < 2048)
    }
}
