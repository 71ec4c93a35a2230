import Foundation
import Testing

@testable import TouchstoneSignInServer

@Suite(.timeLimit(.minutes(2)))
struct StoredRequestsTests {
    // NP-11
    @Test(arguments: Storage.allCases)
    func challengeIsTakenOnce(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            var bound = StoredChallenge.made("bound", key: "k")
            bound.binding = Data()
            try await store.addChallenge(bound)
            try await store.addChallenge(.made("expired", expiresAt: now - 1))
            #expect(try await store.takeChallenge(hash: bytes("bound")) == bound)
            #expect(try await store.takeChallenge(hash: bytes("bound")) == nil)
            #expect(try await store.takeChallenge(hash: bytes("expired")) == .made("expired", expiresAt: now - 1))
            #expect(try await store.takeChallenge(hash: bytes("expired")) == nil)
            #expect(try await store.takeChallenge(hash: bytes("other")) == nil)
        }
    }

    @Test(arguments: Storage.allCases)
    func challengeThatIsThereIsNotAddedAgain(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addChallenge(.made("c"))
            await #expect(throws: StoreError.exists) { try await store.addChallenge(.made("c", key: "k")) }
            #expect(try await store.takeChallenge(hash: bytes("c")) == .made("c"))
        }
    }

    @Test(arguments: Storage.allCases)
    func transactionIsConfirmedOnceByAKeyOfItsAccount(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["k", "k2"])
            var transaction = StoredTransaction(
                id: "t", userHandle: bytes("ana", count: 16), text: "Pay 10 €", expiresAt: now + 60)
            try await store.addTransaction(transaction)
            #expect(try await store.transaction(id: "t") == transaction)
            #expect(try await store.confirmTransaction(id: "t", keyID: bytes("k"), at: now + 59))
            #expect(try await store.confirmTransaction(id: "t", keyID: bytes("k2"), at: now + 59) == false)
            transaction.confirmedBy = bytes("k")
            #expect(try await store.transaction(id: "t") == transaction)
        }
    }

    @Test(arguments: Storage.allCases)
    func transactionIsNotConfirmedByAForeignOrRevokedKeyNorTooLate(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["k", "gone"])
            try await store.addAccount("bob", keys: ["bobs"])
            #expect(try await store.revoke(keyID: bytes("gone"), reason: .owner, at: now))
            try await store.addTransaction(
                StoredTransaction(id: "t", userHandle: bytes("ana", count: 16), text: "pay", expiresAt: now + 60))
            for key in ["gone", "bobs", "nobodys"] {
                #expect(try await store.confirmTransaction(id: "t", keyID: bytes(key), at: now) == false)
            }
            #expect(try await store.confirmTransaction(id: "t", keyID: bytes("k"), at: now + 60) == false)
            #expect(try await store.confirmTransaction(id: "u", keyID: bytes("k"), at: now) == false)
            #expect(try await store.transaction(id: "t")?.confirmedBy == nil)
            await #expect(throws: StoreError.notActive) {
                try await store.addTransaction(
                    StoredTransaction(id: "v", userHandle: bytes("nobody", count: 16), text: "pay", expiresAt: now + 60)
                )
            }
        }
    }

    @Test(arguments: Storage.allCases)
    func pagesRequestIsSettledOnceAndCollectedOnce(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            var request = StoredWebRequest(
                id: "w", code: "42-17", browserHash: bytes("browser"), expiresAt: now + 60, state: .pending)
            try await store.addAccount("ana", keys: ["k", "other"])
            let session = StoredSession.made("s", key: "k", of: "ana", refresh: "r")
            let others = StoredSession.made("o", key: "other", of: "ana", refresh: "o")
            try await store.addWebRequest(request)
            #expect(try await store.webRequest(id: "w") == request)
            #expect(try await store.webRequest(browserHash: bytes("browser")) == request)
            #expect(try await store.collectWebRequest(id: "w", session: session, at: now) == false)
            #expect(try await store.session(id: session.id) == nil)
            #expect(try await store.settleWebRequest(id: "w", as: .approved, keyID: bytes("k"), at: now + 1))
            #expect(try await store.settleWebRequest(id: "w", as: .denied, keyID: nil, at: now + 1) == false)
            request.state = .approved
            request.keyID = bytes("k")
            #expect(try await store.webRequest(id: "w") == request)
            #expect(try await store.collectWebRequest(id: "w", session: others, at: now + 2) == false)
            #expect(try await store.session(id: others.id) == nil)
            #expect(try await store.collectWebRequest(id: "w", session: session, at: now + 2))
            #expect(try await store.session(id: session.id) == session)
            let again = StoredSession.made("s2", key: "k", of: "ana", refresh: "r2")
            #expect(try await store.collectWebRequest(id: "w", session: again, at: now + 2) == false)
            #expect(try await store.session(id: again.id) == nil)
            #expect(try await store.webRequest(id: "w")?.state == .collected)
        }
    }

    /// Both or neither: a request that is collected without its session would be lost to its browser.
    @Test(arguments: Storage.allCases)
    func pagesRequestOfARevokedKeyIsNotCollected(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["k"])
            try await store.addWebRequest(
                StoredWebRequest(id: "w", code: "1", browserHash: bytes("b"), expiresAt: now + 60, state: .pending))
            #expect(try await store.settleWebRequest(id: "w", as: .approved, keyID: bytes("k"), at: now))
            #expect(try await store.revoke(keyID: bytes("k"), reason: .owner, at: now))
            let session = StoredSession.made("s", key: "k", of: "ana", refresh: "r")
            await #expect(throws: StoreError.notActive) {
                try await store.collectWebRequest(id: "w", session: session, at: now)
            }
            #expect(try await store.webRequest(id: "w")?.state == .approved)
            #expect(try await store.session(id: session.id) == nil)
        }
    }

    @Test(arguments: Storage.allCases)
    func pagesRequestThatExpiredOrWasDeniedIsNotCollected(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["k"])
            let session = StoredSession.made("s", key: "k", of: "ana", refresh: "r")
            for id in ["late", "denied"] {
                try await store.addWebRequest(
                    StoredWebRequest(id: id, code: "1", browserHash: bytes(id), expiresAt: now + 60, state: .pending))
            }
            #expect(
                try await store.settleWebRequest(id: "late", as: .approved, keyID: bytes("k"), at: now + 60) == false)
            #expect(try await store.settleWebRequest(id: "denied", as: .denied, keyID: nil, at: now))
            #expect(try await store.settleWebRequest(id: "other", as: .denied, keyID: nil, at: now) == false)
            for id in ["late", "denied", "other"] {
                #expect(try await store.collectWebRequest(id: id, session: session, at: now) == false)
            }
            #expect(try await store.webRequest(id: "other") == nil)
            #expect(try await store.webRequest(browserHash: bytes("other")) == nil)
        }
    }
}
