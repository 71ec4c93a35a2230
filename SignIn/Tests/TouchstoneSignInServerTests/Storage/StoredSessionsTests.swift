import Foundation
import Testing

@testable import TouchstoneSignInServer

@Suite(.timeLimit(.minutes(20)))
struct StoredSessionsTests {
    @Test(arguments: Storage.allCases)
    func sessionIsFoundByItsIDAndItsToken(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["k"])
            var session = StoredSession.made("s", key: "k", of: "ana", refresh: "r")
            session.sessionKey = nil
            try await store.addSession(session)
            #expect(try await store.session(id: session.id) == session)
            #expect(try await store.session(refreshHash: bytes("r")) == session)
            #expect(try await store.session(id: bytes("x", count: 16)) == nil)
            #expect(try await store.session(refreshHash: bytes("x")) == nil)
            try await store.endSession(id: session.id)
            #expect(try await store.session(id: session.id) == nil)
        }
    }

    @Test(arguments: Storage.allCases)
    func sessionOfAKeyThatIsNotActiveIsRefused(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["k", "gone"])
            try await store.addAccount("bob")
            #expect(try await store.revoke(keyID: bytes("gone"), reason: .owner, at: now))
            for (key, account) in [("gone", "ana"), ("nobodys", "ana"), ("k", "bob")] {
                await #expect(throws: StoreError.notActive) {
                    try await store.addSession(.made("s", key: key, of: account, refresh: "r"))
                }
            }
            try await store.addSession(.made("s", key: "k", of: "ana", refresh: "r"))
            await #expect(throws: StoreError.exists) {
                try await store.addSession(.made("s", key: "k", of: "ana", refresh: "r2"))
            }
        }
    }

    // NP-23
    @Test(arguments: Storage.allCases)
    func sessionAndCounterAreRaisedTogether(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["k"])
            for counter in [1, 5, UInt64.max] {
                let session = StoredSession.made("s\(counter)", key: "k", of: "ana", refresh: "r\(counter)")
                #expect(try await store.addSession(session, raisingCounterTo: counter, at: now + 1))
                #expect(try await store.session(id: session.id) == session)
                let key = try await store.key(id: bytes("k"))
                #expect(key?.counter == counter)
                #expect(key?.lastUsedAt == now + 1)
            }
        }
    }

    /// NP-23: neither of them, whatever the reason is.
    @Test(arguments: Storage.allCases)
    func counterThatDoesNotRiseAddsNoSessionAndASessionThatIsRefusedRaisesNoCounter(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["k", "gone"])
            try await store.addAccount("bob")
            let first = StoredSession.made("first", key: "k", of: "ana", refresh: "first")
            #expect(try await store.addSession(first, raisingCounterTo: 5, at: now))
            #expect(try await store.revoke(keyID: bytes("gone"), reason: .owner, at: now))
            for (key, account, counter) in [
                ("k", "ana", 5), ("k", "ana", 4), ("k", "ana", 0), ("gone", "ana", 6), ("k", "bob", 6),
                ("nobodys", "ana", 6),
            ] as [(String, String, UInt64)] {
                let session = StoredSession.made("s", key: key, of: account, refresh: "r")
                #expect(try await store.addSession(session, raisingCounterTo: counter, at: now + 9) == false)
                #expect(try await store.session(id: session.id) == nil)
            }
            await #expect(throws: StoreError.exists) {
                _ = try await store.addSession(first, raisingCounterTo: 6, at: now + 9)
            }
            let key = try await store.key(id: bytes("k"))
            #expect(key?.counter == 5)
            #expect(key?.lastUsedAt == now)
            #expect(try await store.key(id: bytes("gone"))?.counter == 0)
        }
    }

    @Test(arguments: Storage.allCases)
    func refreshTokenWorksOnce(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["k"])
            var session = StoredSession.made("s", key: "k", of: "ana", refresh: "r1")
            try await store.addSession(session)
            session.refreshHash = bytes("r2")
            session.expiresAt = now + 7200
            let outcome = try await store.rotateRefresh(
                hash: bytes("r1"), to: bytes("r2"), expiresAt: now + 7200, at: now + 10)
            #expect(outcome == .rotated(session))
            #expect(try await store.session(id: session.id) == session)
        }
    }

    /// A token that was copied ends the session, however often it was replaced since.
    @Test(arguments: Storage.allCases)
    func refreshTokenThatComesTwiceEndsItsSession(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["k"])
            try await store.addSession(.made("s", key: "k", of: "ana", refresh: "r1"))
            try await store.addSession(.made("other", key: "k", of: "ana", refresh: "other"))
            for number in 1...3 {
                let outcome = try await store.rotateRefresh(
                    hash: bytes("r\(number)"), to: bytes("r\(number + 1)"), expiresAt: now + 3600, at: now)
                guard case .rotated = outcome else {
                    Issue.record("\(outcome)")
                    return
                }
            }
            #expect(
                try await store.rotateRefresh(hash: bytes("r1"), to: bytes("x"), expiresAt: now + 9, at: now) == .reused
            )
            #expect(try await store.session(id: bytes("s", count: 16)) == nil)
            #expect(
                try await store.rotateRefresh(hash: bytes("r4"), to: bytes("x"), expiresAt: now + 9, at: now)
                    == .unknown)
            #expect(try await store.session(id: bytes("other", count: 16)) != nil)
        }
    }

    @Test(arguments: Storage.allCases)
    func refreshTokenThatExpiredOrIsNobodysIsUnknown(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["k"])
            try await store.addSession(.made("s", key: "k", of: "ana", refresh: "r"))
            #expect(
                try await store.rotateRefresh(hash: bytes("r"), to: bytes("x"), expiresAt: now + 9999, at: now + 3600)
                    == .unknown)
            #expect(
                try await store.rotateRefresh(hash: bytes("y"), to: bytes("x"), expiresAt: now + 9, at: now) == .unknown
            )
        }
    }
}
