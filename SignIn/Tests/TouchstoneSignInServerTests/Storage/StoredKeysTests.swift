import Foundation
import Testing

@testable import TouchstoneSignInServer

@Suite(.timeLimit(.minutes(20)))
struct StoredKeysTests {
    @Test(arguments: Storage.allCases)
    func registeredKeyIsFound(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana")
            let key = StoredKey.made("k", of: "ana", device: "phone")
            try await store.register(key, of: "ana")
            #expect(try await store.key(id: bytes("k")) == key)
            #expect(try await store.keys(userHandle: bytes("ana", count: 16)) == [key])
            #expect(try await store.key(id: bytes("other")) == nil)
            #expect(try await store.keys(userHandle: bytes("bob", count: 16)).isEmpty)
        }
    }

    /// A client reads so much, and no more: revoked keys stay, and are not all told.
    @Test(arguments: Storage.allCases)
    func listHasEveryActiveKeyAndTheLastRevokedOnes(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["first", "last"])
            for number in 0..<(StoredKey.mostRevoked + 5) {
                let id = "k\(number)"
                try await store.register(.made(id, of: "ana", device: id, at: now + 1), of: "ana")
                #expect(try await store.revoke(keyID: bytes(id), reason: .owner, at: now + Double(number)))
            }
            #expect(try await store.revoke(keyID: bytes("first"), reason: .owner, at: now + 100))
            let listed = Set(try await store.keys(userHandle: bytes("ana", count: 16)).map(\.id))
            let told = (6..<(StoredKey.mostRevoked + 5)).map { "k\($0)" } + ["first", "last"]
            #expect(listed == Set(told.map { bytes($0) }))
            guard case .revoked = try await store.key(id: bytes("k0"))?.state else {
                Issue.record("a key that is not told is not revoked any more")
                return
            }
        }
    }

    @Test(arguments: Storage.allCases)
    func accountHasSoManyActiveKeysAtMost(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            let keys = (0..<StoredKey.mostActive).map { "k\($0)" }
            try await store.addAccount("ana", keys: keys)
            let more = StoredKey.made("more", of: "ana", device: "more")
            await #expect(throws: StoreError.full) { try await store.register(more, of: "ana") }
            #expect(try await store.key(id: more.id) == nil)
            // A key that replaces another does not count as one more, and a revoked key makes room.
            try await store.register(.made("again", of: "ana", device: "of k0"), of: "ana")
            #expect(try await store.revoke(keyID: bytes("k1"), reason: .owner, at: now))
            try await store.register(more, of: "ana")
        }
    }

    /// NP-20: the password session that vouches is looked at in the same transaction.
    @Test(arguments: Storage.allCases)
    func keyWithoutALivePasswordSessionIsNotRegistered(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana")
            try await store.addAccount("bob")
            let late = StoredKey.made("late", of: "ana", device: "phone", at: now + 300)
            await #expect(throws: StoreError.notActive) { try await store.register(late, of: "ana") }
            let foreign = StoredKey.made("foreign", of: "ana", device: "phone")
            await #expect(throws: StoreError.notActive) { try await store.register(foreign, of: "bob") }
            let nobodys = StoredKey.made("nobodys", of: "nobody", device: "phone")
            await #expect(throws: StoreError.notActive) { try await store.register(nobodys, of: "nobody") }
            #expect(try await store.keys(userHandle: bytes("ana", count: 16)).isEmpty)
        }
    }

    // NP-22
    @Test(arguments: Storage.allCases)
    func devicesNewKeyReplacesItsOldOne(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["other"])
            try await store.register(.made("old", of: "ana", device: "phone"), of: "ana")
            try await store.addSession(.made("s", key: "old", of: "ana", refresh: "r"))
            try await store.addSession(.made("s2", key: "other", of: "ana", refresh: "r2"))
            try await store.register(.made("new", of: "ana", device: "phone", at: now + 1), of: "ana")
            #expect(try await store.key(id: bytes("old"))?.state == .revoked(.replaced, now + 1))
            #expect(try await store.session(id: bytes("s", count: 16)) == nil)
            #expect(try await store.key(id: bytes("new"))?.state == .active)
            #expect(try await store.key(id: bytes("other"))?.state == .active)
            #expect(try await store.session(id: bytes("s2", count: 16)) != nil)
        }
    }

    /// NP-30: and the key that it would have replaced stays.
    @Test(arguments: Storage.allCases)
    func keyIDThatWasThereIsRefused(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["a"])
            try await store.addAccount("bob", keys: ["b"])
            #expect(try await store.revoke(keyID: bytes("a"), reason: .owner, at: now))
            for id in ["a", "b"] {
                await #expect(throws: StoreError.exists) {
                    try await store.register(.made(id, of: "bob", device: "of b"), of: "bob")
                }
            }
            #expect(try await store.key(id: bytes("b"))?.state == .active)
        }
    }

    // NP-23
    @Test(arguments: Storage.allCases)
    func counterOnlyRises(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["k"])
            let id = bytes("k")
            #expect(try await store.raiseCounter(of: id, to: 0, at: now) == false)
            #expect(try await store.raiseCounter(of: id, to: 255, at: now + 1))
            #expect(try await store.key(id: id)?.lastUsedAt == now + 1)
            #expect(try await store.raiseCounter(of: id, to: 255, at: now + 2) == false)
            #expect(try await store.raiseCounter(of: id, to: 256, at: now + 2))
            #expect(try await store.raiseCounter(of: id, to: 3, at: now + 3) == false)
            // A number that no signed column holds.
            #expect(try await store.raiseCounter(of: id, to: .max - 1, at: now + 2))
            #expect(try await store.raiseCounter(of: id, to: .max, at: now + 2))
            #expect(try await store.key(id: id)?.counter == .max)
            #expect(try await store.key(id: id)?.lastUsedAt == now + 2)
            #expect(try await store.raiseCounter(of: bytes("other"), to: 1, at: now) == false)
        }
    }

    @Test(arguments: Storage.allCases)
    func counterOfARevokedKeyStays(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["k"])
            #expect(try await store.revoke(keyID: bytes("k"), reason: .counter, at: now))
            #expect(try await store.raiseCounter(of: bytes("k"), to: 1, at: now) == false)
            #expect(try await store.key(id: bytes("k"))?.counter == 0)
        }
    }

    @Test(arguments: Storage.allCases, RevocationReason.allCases)
    func revokedKeyHasNoSessionsAndStaysAsItWasRevoked(_ storage: Storage, _ reason: RevocationReason) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["k", "other"])
            try await store.addSession(.made("s", key: "k", of: "ana", refresh: "r"))
            try await store.addSession(.made("s2", key: "other", of: "ana", refresh: "r2"))
            #expect(try await store.revoke(keyID: bytes("k"), reason: reason, at: now + 1))
            #expect(try await store.session(id: bytes("s", count: 16)) == nil)
            #expect(try await store.session(id: bytes("s2", count: 16)) != nil)
            #expect(try await store.revoke(keyID: bytes("k"), reason: .owner, at: now + 2) == false)
            #expect(try await store.key(id: bytes("k"))?.state == .revoked(reason, now + 1))
            #expect(try await store.revoke(keyID: bytes("nobodys"), reason: .owner, at: now) == false)
        }
    }

    @Test(arguments: Storage.allCases)
    func rotatedKeyIsReplacedByTheNewOne(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["old"])
            try await store.addSession(.made("s", key: "old", of: "ana", refresh: "r"))
            let new = StoredKey.made("new", of: "ana", device: "of old")
            #expect(try await store.rotate(from: bytes("old"), to: new, at: now + 1))
            #expect(try await store.key(id: bytes("old"))?.state == .revoked(.rotated, now + 1))
            #expect(try await store.key(id: bytes("new")) == new)
            #expect(try await store.session(id: bytes("s", count: 16)) == nil)
        }
    }

    @Test(arguments: Storage.allCases)
    func rotationOfWhatIsNotTheDevicesActiveKeyIsRefused(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["old", "gone"])
            try await store.addAccount("bob", keys: ["bobs"])
            #expect(try await store.revoke(keyID: bytes("gone"), reason: .owner, at: now))
            for (from, account, device) in [
                ("gone", "ana", "of gone"), ("nobodys", "ana", "x"), ("old", "bob", "of old"),
                ("old", "ana", "of gone"),
                ("old", "nobody", "of old"),
            ] {
                let new = StoredKey.made("new", of: account, device: device)
                #expect(try await store.rotate(from: bytes(from), to: new, at: now) == false)
            }
            await #expect(throws: StoreError.exists) {
                try await store.rotate(from: bytes("old"), to: .made("gone", of: "ana", device: "of old"), at: now)
            }
            #expect(try await store.key(id: bytes("new")) == nil)
            #expect(try await store.key(id: bytes("old"))?.state == .active)
        }
    }

    // NP-30
    @Test(arguments: Storage.allCases)
    func keyThatWasNotUsedForLongIsRevoked(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["unused", "used", "gone"])
            try await store.addSession(.made("s", key: "unused", of: "ana", refresh: "r"))
            #expect(try await store.raiseCounter(of: bytes("used"), to: 1, at: now + 100))
            #expect(try await store.revoke(keyID: bytes("gone"), reason: .owner, at: now))
            #expect(try await store.revokeUnused(since: now, at: now + 200) == 0)
            #expect(try await store.revokeUnused(since: now + 50, at: now + 200) == 1)
            #expect(try await store.key(id: bytes("unused"))?.state == .revoked(.unused, now + 200))
            #expect(try await store.key(id: bytes("used"))?.state == .active)
            #expect(try await store.key(id: bytes("gone"))?.state == .revoked(.owner, now))
            #expect(try await store.session(id: bytes("s", count: 16)) == nil)
        }
    }
}
