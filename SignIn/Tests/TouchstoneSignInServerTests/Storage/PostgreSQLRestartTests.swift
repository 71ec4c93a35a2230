import Foundation
import Testing

@testable import TouchstoneSignInServer

/// A PostgreSQL of its own, which stops in the middle as if the power had failed.
@Suite(.timeLimit(.minutes(20)))
struct PostgreSQLRestartTests {
    private struct Tally {
        var registered: Set<Data> = []
        /// How often each challenge was given to somebody.
        var given: [Data: Int] = [:]
        var unavailable = 0
        var isOver = false
    }

    @Test func restartUnderLoadLosesNothingThatWasAnsweredAndGivesNoChallengeTwice() async throws {
        let server = try PostgreSQLServer()
        defer { server.stop() }
        let target = try server.makeDatabase()
        let stores = [
            try await SQLStore.postgreSQL(target, connections: 4, waitLimit: .seconds(30)),
            try await SQLStore.postgreSQL(target, connections: 4, waitLimit: .seconds(30)),
        ]
        try await stores[0].addAccount("ana", keys: ["counted"])
        let tally = Guarded(Tally())
        let counted = Guarded(UInt64(0))

        try await withThrowingTaskGroup { group in
            for worker in 0..<16 {
                group.addTask {
                    var number = 0
                    while !tally.withLock({ $0.isOver }) {
                        number += 1
                        do {
                            try await self.work(stores, "\(worker)", number, tally, counted)
                        } catch StoreError.unavailable {
                            tally.withLock { $0.unavailable += 1 }
                            try await Task.sleep(for: .milliseconds(5))
                        }
                    }
                }
            }
            group.addTask {
                defer { tally.withLock { $0.isOver = true } }
                for restarts in 1...3 {
                    // Some work is done before each, and after the last.
                    let before = tally.withLock { $0.registered.count }
                    while tally.withLock({ $0.registered.count }) < before + 25 {
                        try await Task.sleep(for: .milliseconds(5))
                    }
                    if restarts < 3 { try server.restart() }
                }
            }
            try await group.waitForAll()
        }

        let result = tally.withLock { $0 }
        // It did stop.
        #expect(result.unavailable > 0)
        #expect(result.registered.count >= 75)
        // One by one: each worker's newer keys replaced its older ones, which no list has all of.
        for id in result.registered { #expect(try await stores[0].key(id: id) != nil) }
        #expect(result.given.values.allSatisfy { $0 == 1 })
        #expect(try await stores[1].key(id: bytes("counted"))!.counter >= counted.withLock { $0 })
        for store in stores { try await store.close() }
    }

    private func work(
        _ stores: [SQLStore], _ worker: String, _ number: Int, _ tally: Guarded<Tally>, _ counted: Guarded<UInt64>
    ) async throws {
        let name = "\(worker) \(number)"
        let hash = bytes("challenge \(name)")
        try await stores[0].addChallenge(.made("challenge \(name)"))
        // Two processes have it, and each asks again when it got no answer.
        for store in stores + stores {
            do {
                if try await store.takeChallenge(hash: hash) != nil {
                    tally.withLock { $0.given[hash, default: 0] += 1 }
                }
            } catch StoreError.unavailable { tally.withLock { $0.unavailable += 1 } }
        }
        try await stores[0].register(.made("key \(name)", of: "ana", device: worker), of: "ana")
        tally.withLock { _ = $0.registered.insert(bytes("key \(name)")) }
        let next = UInt64.random(in: 1...1_000_000_000)
        if try await stores[1].raiseCounter(of: bytes("counted"), to: next, at: now) {
            counted.withLock { $0 = max($0, next) }
        }
    }
}
