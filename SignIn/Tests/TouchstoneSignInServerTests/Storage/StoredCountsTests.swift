import Foundation
import Testing

@testable import TouchstoneSignInServer

@Suite(.timeLimit(.minutes(20)))
struct StoredCountsTests {
    @Test(arguments: Storage.allCases)
    func usesAreCountedPerBucketAndWindow(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            let start = Date(timeIntervalSince1970: 1_800_000_000)
            for expected in 1...3 {
                #expect(try await store.count(bucket: bytes("a"), window: 60, at: start + 59) == expected)
            }
            #expect(try await store.count(bucket: bytes("b"), window: 60, at: start) == 1)
            #expect(try await store.count(bucket: bytes("a"), window: 60, at: start + 60) == 1)
            // Another process's clock is behind.
            #expect(try await store.count(bucket: bytes("a"), window: 60, at: start + 59) == 2)
        }
    }

    @Test(arguments: Storage.allCases)
    func proofIsUsedOnce(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            #expect(try await store.useOnce(hash: bytes("p"), until: now + 60))
            #expect(try await store.useOnce(hash: bytes("p"), until: now + 60) == false)
            #expect(try await store.useOnce(hash: bytes("q"), until: now + 60))
        }
    }

    @Test(arguments: Storage.allCases)
    func tokenKeyIsAddedOnlyAfterTheNewest(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            func key(_ id: String, _ expiresAt: Date) -> StoredTokenKey {
                StoredTokenKey(id: id, sealed: bytes(id), createdAt: now, retiresAt: now + 10, expiresAt: expiresAt)
            }
            let first = key("1", now + 20)
            let second = key("2", now + 40)
            #expect(try await store.addTokenKey(first, after: "0") == false)
            #expect(try await store.addTokenKey(first, after: nil))
            #expect(try await store.addTokenKey(second, after: nil) == false)
            #expect(try await store.addTokenKey(second, after: "1"))
            #expect(try await store.addTokenKey(key("3", now), after: "1") == false)
            #expect(try await store.addTokenKey(second, after: "2") == false)
            #expect(try await store.tokenKeys() == [second, first])
            try await store.removeTokenKeys(expiredAt: now + 20)
            #expect(try await store.tokenKeys() == [second])
        }
    }

    @Test(arguments: Storage.allCases)
    func onlyWhatExpiredLongAgoIsSwept(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["k"])
            try await store.addSession(.made("s", key: "k", of: "ana", refresh: "r1"))
            _ = try await store.rotateRefresh(hash: bytes("r1"), to: bytes("r2"), expiresAt: now + 3600, at: now)
            try await store.addChallenge(.made("c"))
            #expect(try await store.useOnce(hash: bytes("p"), until: now + 60))

            try await store.sweep(at: now + 60 + SQLStore.kept)
            #expect(try await store.useOnce(hash: bytes("p"), until: now + 60) == false)
            try await store.sweep(at: now + 61 + SQLStore.kept)
            #expect(try await store.useOnce(hash: bytes("p"), until: now + 60))
            #expect(try await store.takeChallenge(hash: bytes("c")) == nil)
            #expect(try await store.session(id: bytes("s", count: 16)) != nil)

            try await store.sweep(at: now + 3601 + SQLStore.kept)
            #expect(try await store.session(id: bytes("s", count: 16)) == nil)
            #expect(try await store.key(id: bytes("k"))?.state == .active)
            #expect(try await store.account(named: "ana") != nil)
        }
    }

    /// NP-13: what the owner confirmed can be shown later; what nobody confirmed goes.
    @Test(arguments: Storage.allCases)
    func sweepKeepsConfirmedTransactions(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["k"])
            for id in ["confirmed", "asked"] {
                try await store.addTransaction(
                    StoredTransaction(id: id, userHandle: bytes("ana", count: 16), text: "pay", expiresAt: now + 60))
            }
            #expect(try await store.confirmTransaction(id: "confirmed", keyID: bytes("k"), at: now))
            try await store.sweep(at: now + 61 + SQLStore.kept)
            #expect(try await store.transaction(id: "confirmed")?.confirmedBy == bytes("k"))
            #expect(try await store.transaction(id: "asked") == nil)
        }
    }

    @Test(arguments: Storage.allCases)
    func closedStorageAnswersNothing(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.ping()
            try await store.close()
            await #expect(throws: StoreError.self) { try await store.ping() }
            await #expect(throws: StoreError.self) { try await store.addChallenge(.made("c")) }
        }
    }
}
