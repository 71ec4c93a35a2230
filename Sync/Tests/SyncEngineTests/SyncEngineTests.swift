import Foundation
import Testing

@testable import SyncEngine
@testable import SyncStores

/// What is moved when, over a real directory.
@Suite struct SyncEngineTests {
    private let bench: Bench
    private let ada = SmallDevice("a")
    private let bob = SmallDevice("b")

    init() throws { bench = try Bench() }

    @Test func sy32_objectsOfEachComeToTheOther() async throws {
        let (one, two) = (try await bench.member(ada), try await bench.member(bob))
        for counter in 1...40 { ada.write(.record, Int64(counter), UInt8(counter)) }
        ada.write(.head, 1)
        bob.write(.record, 1, 99)
        #expect(try await one.round().sent == 41)
        #expect(try await two.round() == .init(sent: 1, received: 41))
        #expect(try await one.round() == .init(received: 1))
        #expect(ada.taken == bob.taken)
        #expect(ada.taken.count == 42)
    }

    @Test func sy32_aLinkThatDoesNotFitStopsNoRecord() async throws {
        let (one, two) = (try await bench.member(ada), try await bench.member(bob))
        try await one.round()
        try await two.round()
        let exchange = ChainExchange(bob, two.store)
        #expect(try await exchange.problem() == nil)
        for link in [PaddedBytes.padded(Data("link of nobody".utf8)), Data(repeating: 255, count: 256)] {
            try await two.store.put(StoredName.link(1).record, link)
            ada.write(.record, ada.taken.isEmpty ? 1 : 2)
            try await one.round()
            let moved = try await two.round()
            #expect(moved.received == 1)
            #expect(moved.linksProblem != nil)
            #expect(try await exchange.problem() == moved.linksProblem)
            try await two.store.delete(StoredName.link(1).record)
            #expect(try await two.round().linksProblem == nil)
        }
        #expect(try await exchange.problem() == nil)
    }

    @Test func sy33_nothingNewIsNothingMoved() async throws {
        let (one, two) = (try await bench.member(ada), try await bench.member(bob))
        for counter in 1...5 { ada.write(.record, Int64(counter)) }
        try await one.round()
        try await two.round()
        two.store.names.withLock { $0 = [] }
        #expect(try await two.round() == .init())
        #expect(two.store.names.withLock { $0 } == ["list"])
    }

    @Test func sy33_aProcessThatBeginsAgainFetchesNothingTwice() async throws {
        let (one, two) = (try await bench.member(ada), try await bench.member(bob))
        for counter in 1...5 { ada.write(.record, Int64(counter)) }
        try await one.round()
        try await two.round()
        try two.restart()
        #expect(try await two.round() == .init())
        #expect(bob.state.withLock { $0.given } == [5])
    }

    /// The store fails at every call that there is, once, and the process ends there.
    @Test func sy32_whereverItEndsTheNextProcessGoesOn() async throws {
        for failing in 0..<40 {
            let bench = try Bench()
            let (ada, bob) = (SmallDevice("a"), SmallDevice("b"))
            let (one, two) = (try await bench.member(ada), try await bench.member(bob))
            for counter in 1...6 { ada.write(.record, Int64(counter), UInt8(counter)) }
            ada.write(.head, 1)
            ada.drop(.record, 2)
            for member in [one, two] {
                member.store.calls.withLock { $0 = failing }
                _ = try? await member.round()
                try member.restart()
                member.store.calls.withLock { $0 = nil }
                try await member.round()
            }
            var there = ada.taken
            there[ObjectName(kind: .record, member: ada.member, counter: 2)] = nil
            #expect(bob.taken.filter { $0.key.counter != 2 || $0.key.kind == .head } == there, "call \(failing)")
        }
    }

    @Test func sy32_wheneverTheDeviceGoesTheNextRoundGoesOn() async throws {
        for failing in 0..<20 {
            let bench = try Bench()
            let (ada, bob) = (SmallDevice("a"), SmallDevice("b"))
            let (one, two) = (try await bench.member(ada), try await bench.member(bob))
            for counter in 1...6 { ada.write(.record, Int64(counter), UInt8(counter)) }
            for member in [one, two] {
                member.device.state.withLock { $0.answers = failing }
                _ = try? await member.round()
                member.device.state.withLock { $0.answers = nil }
                try await member.round()
            }
            #expect(ada.taken == bob.taken, "call \(failing)")
        }
    }

    @Test func sy32_whatWaitsIsGivenAgainAlsoByTheNextProcess() async throws {
        let (one, two) = (try await bench.member(ada), try await bench.member(bob))
        ada.write(.record, 1)
        ada.write(.record, 2)
        let name = ObjectName(kind: .record, member: ada.member, counter: 1)
        bob.state.withLock { $0.verdicts[name] = .waiting }
        try await one.round()
        try await two.round()
        #expect(bob.taken.count == 1)
        try two.restart()
        #expect(try await two.round().received == 0)
        bob.state.withLock { $0.verdicts[name] = nil }
        #expect(try await two.round(retries: true).received == 1)
        #expect(bob.taken.count == 2)
        #expect(try two.progress.waiting.isEmpty)
    }

    @Test func sy32_whatIsForgedIsCountedAndNotGivenAgain() async throws {
        let (one, two) = (try await bench.member(ada), try await bench.member(bob))
        ada.write(.record, 1)
        ada.write(.record, 2)
        bob.state.withLock {
            $0.verdicts[ObjectName(kind: .record, member: ada.member, counter: 1)] = .forged
            $0.verdicts[ObjectName(kind: .record, member: ada.member, counter: 2)] = .notMember
        }
        try await one.round()
        #expect(try await two.round().refused == 2)
        #expect(try await two.round(retries: true) == .init())
    }

    /// DEC-587: one record that is too large for the store, between others.
    @Test func sy32_whatAStoreNeverTakesStopsNothingElse() async throws {
        let (one, two) = (try await bench.member(ada), try await bench.member(bob))
        one.store.longest.withLock { $0 = 512 }
        ada.write(.record, 1)
        ada.write(.record, 2, size: 768)
        ada.write(.record, 3)
        ada.drop(.record, 1)
        ada.write(.head, 1)
        let moved = try await one.round()
        #expect(moved.sent == 3 && moved.left.count == 1)
        #expect(moved.left.first?.hasSuffix("-record: 768 bytes") == true)
        #expect(try await two.round().received == 2)
        // It is left out once, and what comes later goes.
        ada.write(.record, 4)
        #expect(try await one.round() == .init(sent: 1))
        // The next process tries again, and again until the store takes it.
        for isTaken in [false, true] {
            if isTaken { one.store.longest.withLock { $0 = nil } }
            try one.restart()
            #expect(try await one.round().left.count == (isTaken ? 0 : 1))
        }
        let progress = try one.progress
        try one.restart()
        #expect(try await one.round() == .init())
        #expect(try one.progress == progress)
        try await two.round()
        #expect(bob.taken.filter { $0.key.counter > 1 } == ada.taken.filter { $0.key.counter > 1 })
    }

    @Test func sy30_aFailureIsNoReasonToLeaveSomethingOut() async throws {
        let one = try await bench.member(ada)
        for counter in 1...3 { ada.write(.record, Int64(counter), size: counter == 2 ? 768 : 256) }
        one.store.longest.withLock { $0 = 512 }
        // Each put by itself, of which one fails.
        one.store.calls.withLock { $0 = 4 }
        await #expect(throws: StoreError.self) { try await one.round() }
        let moved = try await one.round()
        #expect(moved.sent == 2 && moved.left.count == 1)
    }

    @Test func sy22_aHeadComesAfterAllThatItCovers() async throws {
        let one = try await bench.member(ada)
        for counter in 1...2 { ada.write(.record, Int64(counter)) }
        ada.write(.head, 1)
        try await one.round()
        let puts = one.store.names.withLock { $0.filter { $0.hasPrefix("put") } }
        #expect(puts.count == 4)
        #expect(puts.last?.hasSuffix("-head") == true)
    }

    @Test func sy30_aStoreThatLostEverythingGetsItAgain() async throws {
        let one = try await bench.member(ada)
        for counter in 1...5 { ada.write(.record, Int64(counter)) }
        try await one.round()
        try FileManager.default.removeItem(atPath: "\(bench.path)/family")
        try one.restart()
        try await one.store.prepare()
        #expect(try await one.round().sent == 5)
        let two = try await bench.member(bob)
        #expect(try await two.round().received == 5)
    }

    /// Its files are of yesterday, and the store has what it wrote since.
    @Test func sy32_aDeviceThatWasRestoredIsShownWhatItWrote() async throws {
        let one = try await bench.member(ada)
        ada.write(.record, 1, 1)
        ada.write(.record, 2, 2)
        try await one.round()
        let restored = SmallDevice("a")
        restored.write(.record, 1, 1)
        restored.write(.record, 2, 77)
        let again = try await bench.member(restored)
        try await again.round()
        #expect(
            restored.taken[ObjectName(kind: .record, member: ada.member, counter: 2)] == Data(repeating: 2, count: 256))
    }
}
