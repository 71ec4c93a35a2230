import Foundation
import GRDB
import Synchronization
import Testing
import TouchstoneCore

@testable import TouchstoneKeychain

/// What a store does often in one boot costs as little, and holds as little, at the end as at the beginning.
@Suite(.timeLimit(.minutes(10))) struct LongBootTests {
    /// How deep the observer is called, the first time and the last.
    private final class Depths: Sendable {
        let depths = Mutex((first: 0, last: 0, count: 0))

        func measure() {
            let depth = Thread.callStackReturnAddresses.count
            depths.withLock { depths in
                if depths.count == 0 { depths.first = depth }
                depths.last = depth
                depths.count += 1
            }
        }
    }

    @Test("The observer is called as directly after many writes as after the first")
    func depthOfTheObserver() throws {
        let store = try KeychainStore()
        let depths = Depths()
        store.observe { depths.measure() }
        for _ in 0..<40 { try store.write { _ in } }
        try store.eraseItems()
        let measured = depths.depths.withLock { $0 }
        #expect(measured.count == 41)
        // One frame more or less is how the erasure calls it.
        #expect(abs(measured.last - measured.first) <= 1)
    }

    @Test("200,000 writes in one boot: the last thousand take as long as the first")
    func manyWrites() throws {
        let store = try KeychainStore()
        let counted = Told()
        store.observe { counted.add() }
        func thousand() throws -> Double {
            let start = Self.processorSeconds()
            for _ in 0..<1000 { try store.write { _ in } }
            return Self.processorSeconds() - start
        }
        // The quickest of ten, in this thread's processor time, because the machine does other things too.
        func quickest() throws -> Double { try (0..<10).map { _ in try thousand() }.min() ?? 0 }
        let first = try quickest()
        for _ in 0..<180 { _ = try thousand() }
        let last = try quickest()
        #expect(counted.count == 200_000)
        #expect(last < first * 3, "\(first) s at first, \(last) s at the end")
    }

    private static func processorSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private final class Told: Sendable {
        private let number = Atomic(0)
        func add() { number.add(1, ordering: .relaxed) }
        var count: Int { number.load(ordering: .relaxed) }
    }

    /// The statements that each connection holds, as SQLite lists them.
    private func statements(_ store: KeychainStore) throws -> [Int] {
        try [store.writer, store.reader, store.scanner].map { connection in
            try connection.inTurn { try Int.fetchOne($0.database, sql: "SELECT count(*) FROM sqlite_stmt") ?? 0 }
        }
    }

    @Test("4,000 searches by different attributes leave no more statements than are kept")
    func manyQueries() throws {
        let store = try KeychainStore()
        let columns: [AttributeKey] = [
            .account, .alias, .authenticationType, .creator, .hasCustomIcon, .description, .generic, .comment,
            .isInvisible,
            .label, .isNegative, .service,
        ]
        let group = Data("group".utf8)
        for number in 0..<4000 {
            let tags = columns.enumerated().filter { number >> $0.offset & 1 == 1 }
                .map { ($0.element, Data("tag".utf8)) }
            let filter = RowFilter(
                itemClass: .genericPassword, identifier: nil, accessGroupTags: [group], accessibility: nil,
                tags: Dictionary(uniqueKeysWithValues: tags))
            try store.scan(filter) { _ in true }
            #expect(try store.rowIDs(filter).isEmpty)
            try store.write { try $0.scan(filter) { _ in true } }
        }
        let held = try statements(store)
        #expect(held.allSatisfy { (64..<100).contains($0) }, "\(held)")
    }
}
