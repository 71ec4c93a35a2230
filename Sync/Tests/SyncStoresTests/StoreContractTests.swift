import Foundation
import Testing

@testable import SyncStores

/// What holds of every store (SY-30).
@Suite struct StoreContractTests {
    @Test(arguments: Engine.allCases) func sy30_aNameIsPutOnceAndKeepsItsBytes(_ engine: Engine) async throws {
        let bench = try await engine.bench()
        let (one, other) = (try await bench.member(), try await bench.member())
        let name = try recordName("ada", 1)
        #expect(try await one.get(name) == nil)
        try await one.put(name, record(1))
        // A repeated call, as after a lost answer.
        try await one.put(name, record(1))
        try await other.put(name, record(1))
        await #expect(throws: StoreError.taken(name)) { try await other.put(name, record(2)) }
        #expect(try await other.get(name) == record(1))
    }

    @Test(arguments: Engine.allCases) func sy30_ofManyPutsUnderOneNameOneWins(_ engine: Engine) async throws {
        // Without links a directory has no such thing for two processes of one writer: DirectoryStore says so.
        if engine == .directoryWithoutLinks { return }
        let bench = try await engine.bench()
        let name = try recordName("ada", 1)
        let winners = try await withThrowingTaskGroup(of: Int?.self) { group in
            for caller in 0..<16 {
                let store = try await bench.member()
                group.addTask {
                    do {
                        try await store.put(name, record(caller))
                        return caller
                    } catch StoreError.taken {
                        return nil
                    }
                }
            }
            return try await group.reduce(into: [Int]()) { winners, winner in winners += winner.map { [$0] } ?? [] }
        }
        #expect(winners.count == 1)
        #expect(try await bench.member().get(name) == winners.first.map { record($0) })
    }

    @Test(arguments: Engine.allCases) func sy30_onlyPaddedSizesAreKept(_ engine: Engine) async throws {
        let bench = try await engine.bench()
        let store = try await bench.member()
        for count in [0, 1, 255, 257, 1000, StoreLimits.record + StoreLimits.padding] {
            await #expect(throws: StoreError.self, "\(count) bytes") {
                try await store.put(recordName("ada", 1), Data(count: count))
            }
        }
        #expect(try await store.everything().isEmpty)
        for (number, count) in [256, 4096, StoreLimits.record].enumerated() {
            try await store.put(recordName("ada", number), Data(repeating: 7, count: count))
            #expect(try await store.get(recordName("ada", number)) == Data(repeating: 7, count: count))
        }
    }

    /// A device makes no larger record than stores take: this package cannot see the device's limit, but its line (DEC-587).
    @Test func sy30_storesTakeTheLargestRecordOfADevice() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/TouchstoneCircle/SealedRecord.swift")
        let source = try String(contentsOf: file, encoding: .utf8)
        let line = try #require(source.firstMatch(of: /package static let maximumBytes = (\d+) << 20/))
        #expect(Int(line.1).map { $0 << 20 } == StoreLimits.record)
    }

    @Test(arguments: Engine.allCases) func sy30_listsNameEverythingInPages(_ engine: Engine) async throws {
        let bench = try await engine.bench()
        let store = try await bench.member()
        var all: Set<RecordName> = []
        for number in 0..<40 {
            for writer in ["ada", "ben", "cy"] {
                let name = try recordName(writer, number)
                try await store.put(name, record(number))
                all.insert(name)
            }
        }
        var cursor = StoreCursor.start
        let listed = try await store.everything(since: &cursor, limit: 7)
        #expect(Set(listed) == all)
        for writer in ["ada", "ben", "cy"] {
            let numbers = listed.filter { $0.writer == writer }.map(\.number)
            #expect(Set(numbers).sorted() == Array(0..<40))
        }
        // What comes later comes with the cursor, which may have been on a disk.
        cursor = try JSONDecoder().decode(StoreCursor.self, from: JSONEncoder().encode(cursor))
        #expect(cursor.text.utf8.count <= StoreLimits.cursor)
        let late = try recordName("ben", 40)
        try await store.put(late, record(40))
        #expect(try await store.everything(since: &cursor, limit: 7).contains(late))
        #expect(try await store.everything() == all.union([late]))
    }

    @Test(arguments: Engine.allCases) func sy30_badPagesAndForeignCursorsAreRefused(_ engine: Engine) async throws {
        let bench = try await engine.bench()
        let store = try await bench.member()
        for limit in [0, -1, StoreLimits.page + 1] {
            await #expect(throws: StoreError.self) { try await store.list(since: .start, limit: limit) }
        }
        for text in ["x", "-1", "ada 5", "ada-1-x", "\0", String(repeating: "9", count: 40), "a-b-c-d"] {
            await #expect(throws: StoreError.self, "\(text)") {
                try await store.list(since: StoreCursor(text: text), limit: 10)
            }
        }
        #expect(try await store.list(since: .start, limit: 1).names.isEmpty)
    }

    @Test(arguments: Engine.allCases) func sy30_manyArePutAtOnceAndOthersDeleted(_ engine: Engine) async throws {
        let bench = try await engine.bench()
        let store = try await bench.member()
        let all = try (1...40).map { StoredRecord(try recordName($0 % 2 == 0 ? "ada" : "ben", $0), record($0)) }
        let old = try recordName("ada", 0)
        try await store.put(old, record(0))
        // One name is taken, and one has its bytes already: all others are put.
        try await store.put(all[0].name, record(99))
        try await store.put(all[1].name, all[1].bytes)
        #expect(try await store.put(all, deleting: [old]) == [all[0].name])
        #expect(try await store.put(all, deleting: [old]) == [all[0].name])
        #expect(try await store.put([], deleting: []).isEmpty)
        #expect(try await store.everything() == Set(all.map(\.name)))
        #expect(try await store.get(all[0].name) == record(99))
        for one in all.dropFirst() { #expect(try await store.get(one.name) == one.bytes) }
        // What comes along with a page is what a get gives.
        let reader = try await bench.member()
        let page = try await reader.list(since: .start, limit: 100)
        for (name, bytes) in page.contents { #expect(try await reader.get(name) == bytes) }
        #expect(page.contents.count == (engine == .postgreSQL ? 40 : 0))
    }

    @Test(arguments: Engine.allCases) func sy30_whatIsDeletedIsGone(_ engine: Engine) async throws {
        let bench = try await engine.bench()
        let store = try await bench.member()
        let (gone, stays) = (try recordName("ada", 1), try recordName("ada", 2))
        try await store.put(gone, record(1))
        try await store.put(stays, record(2))
        for _ in 0..<2 { try await store.delete(gone) }
        #expect(try await store.get(gone) == nil)
        #expect(try await store.everything() == [stays])
        #expect(try await bench.member().get(stays) == record(2))
    }

    @Test(arguments: Engine.allCases) func sy30_circlesAreApart(_ engine: Engine) async throws {
        let bench = try await engine.bench()
        let (one, other) = (try await bench.member(circle: "one"), try await bench.member(circle: "other"))
        try await one.put(recordName("ada", 1), record(1))
        #expect(try await one.swapHead(nil, for: Data("one".utf8)))
        #expect(try await other.get(recordName("ada", 1)) == nil)
        #expect(try await other.everything().isEmpty)
        #expect(try await other.head() == nil)
        try await other.put(recordName("ada", 1), record(2))
        #expect(try await one.get(recordName("ada", 1)) == record(1))
        #expect(throws: StoreError.self) { try bench.store(circle: "../other") }
        #expect(throws: StoreError.self) { try bench.store(circle: "") }
    }

    @Test(arguments: Engine.allCases) func sy30_aHeadChangesOnlyFromWhatItWas(_ engine: Engine) async throws {
        let bench = try await engine.bench()
        let (one, other) = (try await bench.member(), try await bench.member())
        #expect(try await one.head() == nil)
        #expect(try await one.swapHead(Data("no".utf8), for: Data("a".utf8)) == false)
        #expect(try await one.swapHead(nil, for: Data("a".utf8)))
        // Again, as after a lost answer.
        #expect(try await one.swapHead(nil, for: Data("a".utf8)))
        #expect(try await other.swapHead(nil, for: Data("b".utf8)) == false)
        #expect(try await other.head() == Data("a".utf8))
        #expect(try await other.swapHead(Data("a".utf8), for: Data("b".utf8)))
        #expect(try await one.swapHead(Data("a".utf8), for: Data("c".utf8)) == false)
        #expect(try await one.head() == Data("b".utf8))
        for count in [0, StoreLimits.head + 1] {
            await #expect(throws: StoreError.self) {
                try await one.swapHead(Data("b".utf8), for: Data(repeating: 1, count: count))
            }
        }
        #expect(try await one.swapHead(Data("b".utf8), for: Data(repeating: 1, count: StoreLimits.head)))
        #expect(try await other.head() == Data(repeating: 1, count: StoreLimits.head))
    }

    /// Each change that was said to have happened counts, and no other.
    @Test(arguments: Engine.allCases) func sy30_noChangeOfTheHeadIsLostAmongMany(_ engine: Engine) async throws {
        if engine == .directoryWithoutLinks { return }
        let bench = try await engine.bench()
        let changes = 5
        try await withThrowingTaskGroup { group in
            for member in 0..<4 {
                let store = try await bench.member()
                group.addTask {
                    var done = 0
                    for _ in 0..<2000 where done < changes {
                        let head = try await store.head()
                        let line = Data("\(member) \(done)\n".utf8)
                        if try await store.swapHead(head, for: (head ?? Data()) + line) { done += 1 }
                    }
                    #expect(done == changes)
                }
            }
            try await group.waitForAll()
        }
        let lines = String(decoding: try #require(await bench.member().head()), as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 4 * changes)
        #expect(Set(lines).count == 4 * changes)
    }

    /// Three members put and list through faults: lost calls and answers, repeated ones, old lists, in another order.
    @Test(arguments: Engine.allCases, [1, 2] as [UInt64])
    func sy30_everythingArrivesThroughFaults(_ engine: Engine, _ seed: UInt64) async throws {
        let bench = try await engine.bench()
        let writers = ["ada", "ben", "cy"]
        let count = 2 * StoreLimits.putsUnderWay
        try await withThrowingTaskGroup { group in
            for (index, writer) in writers.enumerated() {
                let store = FaultyStore(try await bench.member(), seed: seed &* 100 + UInt64(index))
                group.addTask {
                    // As many at the same time as the port allows, so that they come in another order.
                    for first in stride(from: 0, to: count, by: StoreLimits.putsUnderWay) {
                        try await withThrowingTaskGroup { puts in
                            for number in first..<first + StoreLimits.putsUnderWay {
                                puts.addTask {
                                    let name = try recordName(writer, number)
                                    try await persistently { () async throws(StoreError) in
                                        try await store.put(name, record(number))
                                    }
                                }
                            }
                            try await puts.waitForAll()
                        }
                    }
                }
            }
            for reader in 0..<2 {
                let store = FaultyStore(try await bench.member(), seed: seed &* 100 + 50 + UInt64(reader))
                group.addTask {
                    let records = try await store.follow(until: writers.count * count, limit: 40)
                    #expect(records.count == writers.count * count, "reader \(reader)")
                    #expect(records.allSatisfy { $1 == record(Int($0.number)) })
                    #expect(store.faults > 0)
                }
            }
            try await group.waitForAll()
        }
    }
}
