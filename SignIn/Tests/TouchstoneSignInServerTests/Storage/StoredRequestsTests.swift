import Foundation
import Testing

@testable import TouchstoneSignInServer

@Suite(.timeLimit(.minutes(20)))
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

    /// NP-10, NP-41: of a known key and of one that nobody has.
    @Test(arguments: Storage.allCases)
    func challengeIsAddedWhileNoUseIsTooMany(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["k"])
            for key in ["k", "nobodys"] {
                for number in 1...2 {
                    var challenge = StoredChallenge.made("\(key) \(number)", key: key)
                    challenge.binding = number == 1 ? nil : bytes("bound")
                    let outcome = try await store.addChallenge(
                        challenge, counting: [.made("a \(key)", most: 2), .made("b \(key)", most: 3)],
                        ofAccount: [.made("c", most: 2)], at: now)
                    #expect(outcome == .added)
                    #expect(try await store.takeChallenge(hash: challenge.hash) == challenge)
                }
            }
            await #expect(throws: StoreError.exists) {
                try await store.addChallenge(.made("twice"))
                _ = try await store.addChallenge(
                    .made("twice", key: "k"), counting: [.made("d", most: 1)], ofAccount: [], at: now)
            }
            // Undone with it.
            #expect(try await store.count(bucket: bytes("d"), window: 60, at: now) == 1)
        }
    }

    /// NP-41: whatever is too many, what comes after it is not used up by it.
    @Test(arguments: Storage.allCases, 0..<4)
    func challengeIsNotAddedIfAUseIsTooManyAndLaterUsesDoNotCount(_ storage: Storage, _ limited: Int) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["k"])
            func add(_ hash: String) async throws -> ChallengeOutcome {
                let uses = (0..<4).map { StoredUse.made("\($0)", most: $0 == limited ? 1 : 9) }
                return try await store.addChallenge(
                    .made(hash, key: "k"), counting: Array(uses[..<2]), ofAccount: Array(uses[2...]), at: now)
            }
            #expect(try await add("c0") == .added)
            for number in 1...3 {
                #expect(try await add("c\(number)") == .limited(limited))
                #expect(try await store.takeChallenge(hash: bytes("c\(number)")) == nil)
            }
            for bucket in 0..<4 {
                let counted = bucket <= limited ? 4 : 1
                // An account's bucket has the account's handle at its end.
                let name = bytes("\(bucket)") + (bucket < 2 ? Data() : bytes("ana", count: 16))
                #expect(try await store.count(bucket: name, window: 60, at: now) == counted + 1)
            }
            // The next window is another one.
            let later = try await store.addChallenge(
                .made("later", key: "k"), counting: [.made("0", most: 1)], ofAccount: [], at: now + 60)
            #expect(later == .added)
        }
    }

    /// NP-41: together for the keys of one account, and apart from the keys of others.
    @Test(arguments: Storage.allCases)
    func accountsKeysAreCountedTogether(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["k1", "k2"])
            try await store.addAccount("bob", keys: ["bobs"])
            var outcomes: [ChallengeOutcome] = []
            for key in ["k1", "k2", "k1", "bobs", "nobodys", "nobodys", "other"] {
                outcomes.append(
                    try await store.addChallenge(
                        .made("c\(outcomes.count)", key: key), counting: [], ofAccount: [.made("a", most: 1)], at: now))
            }
            #expect(
                outcomes == [.added, .limited(0), .limited(0), .added, .added, .limited(0), .added])
        }
    }

    /// NP-30; it is counted all the same.
    @Test(arguments: Storage.allCases)
    func revokedKeyHasNoChallenge(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["k"])
            #expect(try await store.revoke(keyID: bytes("k"), reason: .owner, at: now))
            for (number, outcome) in [ChallengeOutcome.keyRevoked, .keyRevoked, .limited(0)].enumerated() {
                let found = try await store.addChallenge(
                    .made("c\(number)", key: "k"), counting: [.made("a", most: 2)], ofAccount: [], at: now)
                #expect(found == outcome)
                #expect(try await store.takeChallenge(hash: bytes("c\(number)")) == nil)
            }
        }
    }

    // NP-11, NP-41
    @Test(arguments: Storage.allCases)
    func challengeIsTakenWithItsKeyIfTheUseIsNotTooMany(_ storage: Storage) async throws {
        try await storage.with { store async throws in
            try await store.addAccount("ana", keys: ["k"])
            let key = try await store.key(id: bytes("k"))
            for name in ["c1", "c2", "c3"] { try await store.addChallenge(.made(name, key: "k")) }
            func take(_ hash: String?, _ key: String?) async throws -> TakeOutcome {
                try await store.takeChallenge(
                    hash: hash.map { bytes($0) }, keyID: key.map { bytes($0) }, counting: [.made("a", most: 4)], at: now
                )
            }
            #expect(try await take("c1", "k") == .taken(.made("c1", key: "k"), key))
            #expect(try await take("c1", "nobodys") == .taken(nil, nil))
            #expect(try await take(nil, "k") == .taken(nil, key))
            #expect(try await take("c2", nil) == .taken(.made("c2", key: "k"), nil))
            #expect(try await take("c3", "k") == .limited(0))
            #expect(try await store.takeChallenge(hash: bytes("c3")) == .made("c3", key: "k"))
            #expect(try await store.takeChallenge(hash: nil, keyID: nil, counting: [], at: now) == .taken(nil, nil))
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
