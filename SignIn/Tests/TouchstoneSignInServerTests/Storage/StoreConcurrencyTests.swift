import Foundation
import Testing

@testable import TouchstoneSignInServer

/// Two stores on one database are two server processes to it.
@Suite(.timeLimit(.minutes(20)))
struct StoreConcurrencyTests {
    static let callers = 32

    // NP-11
    @Test(arguments: Storage.allCases)
    func oneOfManyCallersTakesAChallenge(_ storage: Storage) async throws {
        try await storage.with(stores: 2) { stores async throws in
            for round in 0..<10 {
                try await stores[0].addChallenge(.made("c\(round)"))
                let taken = try await atOnce(Self.callers, stores) { store, _ in
                    try await store.takeChallenge(hash: bytes("c\(round)"))
                }
                #expect(taken.compactMap(\.self).count == 1)
            }
        }
    }

    // NP-23
    @Test(arguments: Storage.allCases)
    func oneOfManyCallersRaisesACounterToANumber(_ storage: Storage) async throws {
        try await storage.with(stores: 2) { stores async throws in
            try await stores[0].addAccount("ana", keys: ["k"])
            let raised = try await atOnce(Self.callers, stores) { store, _ in
                try await store.raiseCounter(of: bytes("k"), to: 7, at: now)
            }
            #expect(raised.count { $0 } == 1)
            _ = try await atOnce(Self.callers, stores) { store, number in
                try await store.raiseCounter(of: bytes("k"), to: UInt64(100 + number), at: now)
            }
            #expect(try await stores[1].key(id: bytes("k"))?.counter == UInt64(100 + Self.callers - 1))
        }
    }

    // NP-23
    @Test(arguments: Storage.allCases)
    func oneOfManyCallersAddsASessionWithACounter(_ storage: Storage) async throws {
        try await storage.with(stores: 2) { stores async throws in
            try await stores[0].addAccount("ana", keys: ["k"])
            let added = try await atOnce(Self.callers, stores) { store, number in
                let session = StoredSession.made("s\(number)", key: "k", of: "ana", refresh: "r\(number)")
                return try await store.addSession(session, raisingCounterTo: 7, at: now)
            }
            var sessions = 0
            for number in 0..<Self.callers {
                if try await stores[1].session(id: bytes("s\(number)", count: 16)) != nil { sessions += 1 }
            }
            #expect(added.count { $0 } == 1)
            #expect(sessions == 1)
        }
    }

    // NP-41
    @Test(arguments: Storage.allCases)
    func asManyCallersAsMayHaveAChallengeAndTheOthersUseUpNothing(_ storage: Storage) async throws {
        let most = 10
        try await storage.with(stores: 2) { stores async throws in
            try await stores[0].addAccount("ana", keys: ["k"])
            let outcomes = try await atOnce(Self.callers, stores) { store, number in
                try await store.addChallenge(
                    .made("c\(number)", key: "k"), counting: [.made("address", most: most), .made("key", most: .max)],
                    ofAccount: [.made("account", most: .max)], at: now)
            }
            #expect(outcomes.count { $0 == .added } == most)
            #expect(outcomes.count { $0 == .limited(0) } == Self.callers - most)
            for bucket in [bytes("key"), bytes("account") + bytes("ana", count: 16)] {
                #expect(try await stores[1].count(bucket: bucket, window: 60, at: now) == most + 1)
            }
        }
    }

    @Test(arguments: Storage.allCases)
    func oneOfManyCallersRotatesARefreshTokenAndTheSessionEnds(_ storage: Storage) async throws {
        try await storage.with(stores: 2) { stores async throws in
            try await stores[0].addAccount("ana", keys: ["k"])
            try await stores[0].addSession(.made("s", key: "k", of: "ana", refresh: "r"))
            let outcomes = try await atOnce(Self.callers, stores) { store, number in
                try await store.rotateRefresh(
                    hash: bytes("r"), to: bytes("new \(number)"), expiresAt: now + 3600, at: now)
            }
            var rotated = 0
            for case .rotated in outcomes { rotated += 1 }
            #expect(rotated == 1)
            #expect(outcomes.count { $0 == .reused } == 1)
            #expect(try await stores[1].session(id: bytes("s", count: 16)) == nil)
        }
    }

    @Test(arguments: Storage.allCases)
    func oneOfManyCallersSettlesAndOneCollectsAPagesRequest(_ storage: Storage) async throws {
        try await storage.with(stores: 2) { stores async throws in
            try await stores[0].addAccount("ana", keys: ["k"])
            try await stores[0].addWebRequest(
                StoredWebRequest(id: "w", code: "1", browserHash: bytes("b"), expiresAt: now + 60, state: .pending))
            let settled = try await atOnce(Self.callers, stores) { store, _ in
                try await store.settleWebRequest(id: "w", as: .approved, keyID: bytes("k"), at: now)
            }
            #expect(settled.count { $0 } == 1)
            let collected = try await atOnce(Self.callers, stores) { store, number in
                let session = StoredSession.made("s\(number)", key: "k", of: "ana", refresh: "r\(number)")
                return try await store.collectWebRequest(id: "w", session: session, at: now)
            }
            var sessions = 0
            for number in 0..<Self.callers {
                if try await stores[1].session(id: bytes("s\(number)", count: 16)) != nil { sessions += 1 }
            }
            #expect(sessions == 1)
            #expect(collected.count { $0 } == 1)
        }
    }

    @Test(arguments: Storage.allCases)
    func everyUseIsCountedAndAProofIsUsedOnce(_ storage: Storage) async throws {
        try await storage.with(stores: 2) { stores async throws in
            let counts = try await atOnce(Self.callers, stores) { store, _ in
                try await store.count(bucket: bytes("b"), window: 60, at: now)
            }
            #expect(counts.sorted() == Array(1...Self.callers))
            let used = try await atOnce(Self.callers, stores) { store, _ in
                try await store.useOnce(hash: bytes("p"), until: now + 60)
            }
            #expect(used.count { $0 } == 1)
        }
    }

    @Test(arguments: Storage.allCases)
    func oneOfManyProcessesAddsTheNextTokenKey(_ storage: Storage) async throws {
        try await storage.with(stores: 2) { stores async throws in
            let added = try await atOnce(Self.callers, stores) { store, number in
                try await store.addTokenKey(
                    StoredTokenKey(
                        id: "\(number)", sealed: bytes("x"), createdAt: now, retiresAt: now + 1, expiresAt: now + 2),
                    after: nil)
            }
            #expect(added.count { $0 } == 1)
            #expect(try await stores[1].tokenKeys().count == 1)
        }
    }

    // NP-22
    @Test(arguments: Storage.allCases)
    func deviceThatRegistersManyTimesAtOnceHasOneKey(_ storage: Storage) async throws {
        try await storage.with(stores: 2) { stores async throws in
            try await stores[0].addAccount("ana")
            _ = try await atOnce(Self.callers, stores) { store, number in
                try await store.register(.made("k\(number)", of: "ana", device: "phone"), of: "ana")
            }
            var states: [StoredKey.State] = []
            for number in 0..<Self.callers {
                if let key = try await stores[1].key(id: bytes("k\(number)")) { states.append(key.state) }
            }
            #expect(states.count == Self.callers)
            #expect(states.count { $0 == .active } == 1)
        }
    }

    /// NP-30: whatever came first, nothing of the old password's is left.
    @Test(arguments: Storage.allCases)
    func passwordChangeAmidRegistrationsAndSignInsLeavesNothing(_ storage: Storage) async throws {
        try await storage.with(stores: 2) { stores async throws in
            for round in 0..<5 {
                let name = "ana\(round)"
                try await stores[0].addAccount(name, keys: ["first \(name)"])
                _ = try await atOnce(Self.callers, stores) { store, number in
                    do {
                        switch number % 4 {
                        case 0 where number == 16: _ = try await store.setPassword(hash: "new", of: name, at: now)
                        case 0, 1:
                            try await store.register(
                                .made("\(number) \(name)", of: name, device: "\(number)"), of: name)
                        case 2:
                            try await store.addSession(
                                .made("\(number) \(name)", key: "first \(name)", of: name, refresh: "\(number) \(name)")
                            )
                        default:
                            _ = try await store.rotate(
                                from: bytes("first \(name)"),
                                to: .made("\(number) \(name)", of: name, device: "of first \(name)"),
                                at: now)
                        }
                    } catch StoreError.notActive {}
                }
                let keys = try await stores[1].keys(userHandle: bytes(name, count: 16))
                #expect(!keys.isEmpty)
                #expect(keys.allSatisfy { $0.state != .active })
                for number in 0..<Self.callers {
                    #expect(try await stores[1].session(id: bytes("\(number) \(name)", count: 16)) == nil)
                }
            }
        }
    }
}
