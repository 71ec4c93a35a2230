import Foundation
import Testing

@testable import TouchstoneSignInServer

/// FD-54: a passkey is a key of its account, which a page's session vouches for.
@Suite(.timeLimit(.minutes(20)))
struct StoredPasskeysTests {
    private static func passkey(_ id: String, of account: String = "ana", at time: Date = now) -> StoredKey {
        var key = StoredKey.made(id, of: account, device: "of \(id)", at: time)
        key.credentialID = bytes("credential \(id)")
        return key
    }

    /// An account with a device's key and a page's session of it.
    private static func prepare(_ store: SQLStore) async throws -> StoredSession {
        try await store.addAccount("ana", keys: ["device"])
        try await store.addAccount("bob", keys: ["bob's"])
        var session = StoredSession.made("page", key: "device", of: "ana", refresh: "page")
        session.sessionKey = nil
        try await store.addSession(session)
        return session
    }

    @Test(arguments: Storage.allCases)
    func aRegisteredPasskeyIsFoundByItsCredential(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            let session = try await Self.prepare(store)
            let key = Self.passkey("p")
            try await store.registerPasskey(key, session: session.id)
            #expect(try await store.key(credentialID: bytes("credential p")) == key)
            #expect(try await store.key(id: key.id) == key)
            #expect(try await store.key(credentialID: bytes("another")) == nil)
            #expect(try await store.key(id: bytes("device"))?.credentialID == nil)
        }
    }

    @Test(arguments: Storage.allCases)
    func withoutALiveSessionNothingIsRegistered(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            let session = try await Self.prepare(store)
            for (key, vouching) in [
                (Self.passkey("p"), bytes("none", count: 16)), (Self.passkey("p", of: "bob"), session.id),
                (Self.passkey("p", at: session.expiresAt), session.id), (Self.passkey("p", of: "nobody"), session.id),
            ] {
                await #expect(throws: StoreError.notActive) {
                    try await store.registerPasskey(key, session: vouching)
                }
            }
            // Its device was revoked: the session went with it.
            #expect(try await store.revoke(keyID: bytes("device"), reason: .owner, at: now))
            await #expect(throws: StoreError.notActive) {
                try await store.registerPasskey(Self.passkey("p"), session: session.id)
            }
            #expect(try await store.key(credentialID: bytes("credential p")) == nil)
        }
    }

    @Test(arguments: Storage.allCases)
    func aCredentialIsRegisteredOnce(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            let session = try await Self.prepare(store)
            try await store.registerPasskey(Self.passkey("p"), session: session.id)
            #expect(try await store.revoke(keyID: bytes("p"), reason: .owner, at: now))
            var same = Self.passkey("q")
            same.credentialID = bytes("credential p")
            for key in [same, Self.passkey("p")] {
                await #expect(throws: StoreError.exists) { try await store.registerPasskey(key, session: session.id) }
            }
        }
    }

    @Test(arguments: Storage.allCases)
    func anAccountHasSoManyKeysAtMost(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            let session = try await Self.prepare(store)
            for number in 1..<StoredKey.mostActive {
                try await store.registerPasskey(Self.passkey("p\(number)"), session: session.id)
            }
            await #expect(throws: StoreError.full) {
                try await store.registerPasskey(Self.passkey("more"), session: session.id)
            }
        }
    }

    @Test(arguments: Storage.allCases)
    func aSessionComesWithACounterThatRisesOrIsZero(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            let vouching = try await Self.prepare(store)
            try await store.registerPasskey(Self.passkey("p"), session: vouching.id)
            for (number, counter) in [0, 0, 3, 4].enumerated() {
                let session = StoredSession.made("s\(number)", key: "p", of: "ana", refresh: "r\(number)")
                #expect(try await store.addPasskeySession(session, counter: UInt64(counter), at: now + 1))
                #expect(try await store.session(id: session.id) == session)
            }
            let key = try await store.key(id: bytes("p"))
            #expect(key?.counter == 4)
            #expect(key?.lastUsedAt == now + 1)
        }
    }

    @Test(arguments: Storage.allCases)
    func whatIsRefusedAddsNoSessionAndRaisesNoCounter(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            let vouching = try await Self.prepare(store)
            for id in ["p", "gone"] { try await store.registerPasskey(Self.passkey(id), session: vouching.id) }
            let first = StoredSession.made("first", key: "p", of: "ana", refresh: "first")
            #expect(try await store.addPasskeySession(first, counter: 5, at: now))
            #expect(try await store.revoke(keyID: bytes("gone"), reason: .owner, at: now))
            for (key, account, counter) in [
                ("p", "ana", 5), ("p", "ana", 4), ("p", "ana", 0), ("p", "bob", 6), ("gone", "ana", 6),
                ("device", "ana", 6), ("nobody's", "ana", 6),
            ] as [(String, String, UInt64)] {
                let session = StoredSession.made("s", key: key, of: account, refresh: "r")
                #expect(try await !store.addPasskeySession(session, counter: counter, at: now))
                #expect(try await store.session(id: session.id) == nil)
            }
            #expect(try await store.key(id: bytes("p"))?.counter == 5)
        }
    }
}
