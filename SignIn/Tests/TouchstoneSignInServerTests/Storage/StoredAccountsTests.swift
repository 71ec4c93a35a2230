import Foundation
import Testing

@testable import TouchstoneSignInServer

@Suite(.timeLimit(.minutes(20)))
struct StoredAccountsTests {
    @Test(arguments: Storage.allCases)
    func accountIsFoundByItsNameAndByItsHandle(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount(.made("ana"))
            #expect(try await store.account(named: "ana") == .made("ana"))
            #expect(try await store.account(userHandle: bytes("ana", count: 16)) == .made("ana"))
            #expect(try await store.accounts() == [.made("ana")])
        }
    }

    @Test(arguments: Storage.allCases)
    func nameThatNobodyHasIsNotFound(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount(.made("ana"))
            // What ends at U+0000, or holds a quotation mark, is another name.
            for name in ["Ana", "ana ", "ana\0", "' OR 1=1 --", "$1"] {
                #expect(try await store.account(named: name) == nil)
            }
            #expect(try await store.account(userHandle: bytes("bob", count: 16)) == nil)
        }
    }

    @Test(arguments: Storage.allCases)
    func nameThatIsTakenIsRefused(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount(.made("ana"))
            var other = StoredAccount.made("other")
            other.name = "ana"
            await #expect(throws: StoreError.exists) { try await store.addAccount(other) }
            #expect(try await store.accounts() == [.made("ana")])
        }
    }

    @Test(arguments: Storage.allCases)
    func textsOfAnyLetterComeBackAsTheyWere(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            let name = "Ζoë 'ß' \"漢\" 👆 \\ $1 ?1"
            try await store.addAccount(.made(name))
            #expect(try await store.account(named: name)?.name == name)
        }
    }

    @Test(arguments: Storage.allCases)
    func passwordSessionIsGoodUntilItExpires(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana")
            let hash = bytes("password ana")
            #expect(try await store.passwordSession(hash: hash, at: now + 299) == bytes("ana", count: 16))
            #expect(try await store.passwordSession(hash: hash, at: now + 300) == nil)
            #expect(try await store.passwordSession(hash: bytes("other"), at: now) == nil)
            await #expect(throws: StoreError.notActive) {
                try await store.addPasswordSession(
                    hash: bytes("x"), userHandle: bytes("nobody", count: 16), passwordHash: "$argon2id$nobody",
                    expiresAt: now)
            }
        }
    }

    /// NP-30: the old password was right when it was looked at, and was changed before its session is made.
    @Test(arguments: Storage.allCases)
    func passwordSessionOfAPasswordThatWasChangedIsNotMade(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount(.made("ana"))
            let ana = StoredAccount.made("ana")
            #expect(try await store.setPassword(hash: "new", of: "ana", at: now))
            await #expect(throws: StoreError.notActive) {
                try await store.addPasswordSession(
                    hash: bytes("old"), userHandle: ana.userHandle, passwordHash: ana.passwordHash,
                    expiresAt: now + 300)
            }
            #expect(try await store.passwordSession(hash: bytes("old"), at: now) == nil)
            try await store.addPasswordSession(
                hash: bytes("new"), userHandle: ana.userHandle, passwordHash: "new", expiresAt: now + 300)
            #expect(try await store.passwordSession(hash: bytes("new"), at: now) == ana.userHandle)
        }
    }

    /// Whichever of the two comes first, no session of the old password is left.
    @Test(arguments: Storage.allCases)
    func passwordSessionsBesideAChangeOfThePasswordDoNotOutliveIt(_ storage: Storage) async throws {
        try await storage.with(stores: 2) { stores async throws in
            let ana = StoredAccount.made("ana")
            try await stores[0].addAccount(ana)
            _ = try await atOnce(16, stores) { store, number in
                if number == 8 {
                    _ = try await store.setPassword(hash: "new", of: "ana", at: now)
                } else {
                    try? await store.addPasswordSession(
                        hash: bytes("old \(number)"), userHandle: ana.userHandle, passwordHash: ana.passwordHash,
                        expiresAt: now + 300)
                }
            }
            for number in 0..<16 {
                #expect(try await stores[0].passwordSession(hash: bytes("old \(number)"), at: now) == nil)
            }
        }
    }

    // NP-30
    @Test(arguments: Storage.allCases)
    func changedPasswordRevokesKeysAndEndsSessions(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["a1", "a2"])
            try await store.addAccount("bob", keys: ["b1"])
            try await store.addSession(.made("sa", key: "a1", of: "ana", refresh: "ra"))
            try await store.addSession(.made("sb", key: "b1", of: "bob", refresh: "rb"))

            #expect(try await store.setPassword(hash: "new", of: "ana", at: now + 1))
            #expect(try await store.account(named: "ana")?.passwordHash == "new")
            #expect(try await store.key(id: bytes("a1"))?.state == .revoked(.passwordChanged, now + 1))
            #expect(try await store.key(id: bytes("a2"))?.state == .revoked(.passwordChanged, now + 1))
            #expect(try await store.session(id: bytes("sa", count: 16)) == nil)
            #expect(try await store.passwordSession(hash: bytes("password ana"), at: now) == nil)
            await #expect(throws: StoreError.notActive) {
                try await store.register(.made("a3", of: "ana", device: "3"), of: "ana")
            }

            #expect(try await store.key(id: bytes("b1"))?.state == .active)
            #expect(try await store.session(id: bytes("sb", count: 16)) != nil)
            #expect(try await store.setPassword(hash: "new", of: "nobody", at: now) == false)
        }
    }

    /// NP-30: a key id is never used again.
    @Test(arguments: Storage.allCases)
    func keyOfARemovedAccountStaysRevoked(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["a1"])
            try await store.addSession(.made("sa", key: "a1", of: "ana", refresh: "ra"))
            try await store.addTransaction(
                StoredTransaction(id: "t", userHandle: bytes("ana", count: 16), text: "pay", expiresAt: now + 60))

            #expect(try await store.removeAccount(named: "ana", at: now + 1))
            #expect(try await store.account(named: "ana") == nil)
            #expect(try await store.transaction(id: "t") == nil)
            #expect(try await store.session(id: bytes("sa", count: 16)) == nil)
            #expect(try await store.key(id: bytes("a1"))?.state == .revoked(.accountRemoved, now + 1))
            #expect(try await store.key(id: bytes("a1"))?.deviceName == "")

            #expect(try await store.removeAccount(named: "ana", at: now) == false)
            try await store.addAccount("ana")
            await #expect(throws: StoreError.exists) {
                try await store.register(.made("a1", of: "ana", device: "9"), of: "ana")
            }
        }
    }
}
