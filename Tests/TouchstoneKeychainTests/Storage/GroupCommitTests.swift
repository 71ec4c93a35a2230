import Foundation
import GRDB
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneSystem

@testable import TouchstoneKeychain

/// Writes of several callers in one transaction: all that one sync of the disk serves.
@Suite(.timeLimit(.minutes(10))) struct GroupCommitTests {
    private let store: KeychainStore
    private let files = Result { try PrivateDirectory() }

    init() throws { store = try KeychainStore(file: files.get().url.appendingPathComponent("keychain.db")) }

    private func row(_ number: UInt8, identity: UInt8? = nil) -> ItemRow {
        ItemRow(
            rowID: nil, itemClass: .genericPassword,
            identifier: ItemIdentifier(bytes: Data(repeating: number, count: 16)),
            version: Data(repeating: number, count: 16), accessibility: .whenUnlocked,
            identityTag: Data(repeating: identity ?? number, count: 32), metadata: Data([1]), wrappedKey: Data([2]),
            secret: nil, tags: [.accessGroup: Data(repeating: 9, count: 16)])
    }

    private func identifiers() throws -> Set<UInt8> {
        try store.inspect { database in
            Set(try Data.fetchAll(database, sql: "SELECT identifier FROM item").compactMap(\.first))
        }
    }

    /// What became of writes that are made while another is under way, which ends once all of them wait, in their order.
    private func whileBusy(_ writes: [@Sendable (KeychainStore.KeychainWriter) throws -> Void]) throws -> [(any Error)?]
    {
        let outcomes = Mutex([(any Error)?](repeating: nil, count: writes.count))
        let ended = DispatchGroup()
        try store.write { writer in
            for (index, body) in writes.enumerated() {
                ended.enter()
                Thread.detachNewThread { [store] in
                    do {
                        try store.write(body)
                    } catch {
                        outcomes.withLock { $0[index] = error }
                    }
                    ended.leave()
                }
                eventually { store.commits.waiting == index + 1 }
            }
            try writer.save(row(200))
        }
        ended.wait()
        return outcomes.withLock { $0 }
    }

    @Test("Those that wait are carried out in one transaction, of which each sees what came before it") func together()
        throws
    {
        let seen = Mutex<[Int]>([])
        let changes = Mutex<Set<Int>>([])
        let outcomes = try whileBusy(
            (UInt8(1)...10).map { number in
                { writer in
                    try writer.save(row(number))
                    let count = try Int.fetchOne(writer.database, sql: "SELECT count(*) FROM item") ?? 0
                    seen.withLock { $0.append(count) }
                    // Of another connection: what is on the disk.
                    let kept = try store.inspect { try Int.fetchOne($0, sql: "SELECT count(*) FROM item") ?? 0 }
                    changes.withLock { _ = $0.insert(kept) }
                }
            })
        #expect(outcomes.allSatisfy { $0 == nil })
        #expect(seen.withLock { $0 } == Array(2...11))
        // No row of them was there for others before all were.
        #expect(changes.withLock { $0 } == [1])
        #expect(try identifiers() == Set(Array(1...10) + [200]))
    }

    @Test("One that is refused leaves nothing behind, and the others stay") func refused() throws {
        struct Refused: Error {}
        let outcomes = try whileBusy([
            { try $0.save(row(1)) },
            { writer in
                try writer.save(row(2))
                throw Refused()
            },
            { try $0.save(row(3, identity: 1)) },
            { try $0.save(row(4)) },
        ])
        #expect(outcomes[0] == nil && outcomes[3] == nil)
        #expect(outcomes[1] is Refused)
        #expect((outcomes[2] as? DatabaseError)?.resultCode == .SQLITE_CONSTRAINT)
        #expect(try identifiers() == [1, 4, 200])
    }

    @Test("Where the transaction cannot go on each is carried out alone, and only what is in the way fails")
    func fallsApart() throws {
        let attempts = Atomic<Int>(0)
        let outcomes = try whileBusy([
            { writer in
                attempts.add(1, ordering: .relaxed)
                try writer.save(row(1))
            },
            { try $0.database.execute(sql: "INSERT INTO nowhere VALUES (1)") },
            { try $0.save(row(3)) },
        ])
        #expect(outcomes[0] == nil && outcomes[2] == nil)
        #expect((outcomes[1] as? DatabaseError)?.resultCode == .SQLITE_ERROR)
        #expect(attempts.load(ordering: .relaxed) == 2)
        #expect(try identifiers() == [1, 3, 200])
    }

    @Test("Many callers write one after the other, and nothing holds what belongs to one that has gone on") func many()
        throws
    {
        struct Refused: Error {}
        let kept = Atomic<Int>(0)
        let ended = DispatchGroup()
        for caller in 0..<16 {
            ended.enter()
            Thread.detachNewThread { [store] in
                for index in 0..<100 {
                    // A closure that is held for longer than its call ends the process.
                    let outcome = Result {
                        try store.write { writer in
                            try writer.database.execute(sql: "DELETE FROM quota WHERE items = ?", arguments: [caller])
                            if index % 7 == 0 { throw Refused() }
                        }
                    }
                    if case .success = outcome { kept.add(1, ordering: .relaxed) }
                }
                ended.leave()
            }
        }
        ended.wait()
        #expect(kept.load(ordering: .relaxed) == 16 * 85)
        #expect(store.commits.waiting == 0)
    }

    @Test("A deletion has a transaction of its own") func alone() throws {
        let groups = Mutex<[Int]>([])
        let commits = GroupCommit()
        let isCarryingOut = DispatchSemaphore(value: 0)
        let mayEnd = DispatchSemaphore(value: 0)
        let ended = DispatchGroup()
        @Sendable func perform(isAlone: Bool, isFirst: Bool = false) {
            let write = GroupCommit.Write(isAlone: isAlone) { _ in }
            commits.perform(write) { group in
                if isFirst {
                    isCarryingOut.signal()
                    mayEnd.wait()
                }
                groups.withLock { $0.append(group.count) }
                for write in group { write.outcome = .success(()) }
            }
            ended.leave()
        }
        ended.enter()
        Thread.detachNewThread { perform(isAlone: false, isFirst: true) }
        isCarryingOut.wait()
        for (index, isAlone) in [false, false, true, true, false].enumerated() {
            ended.enter()
            Thread.detachNewThread { perform(isAlone: isAlone) }
            eventually { commits.waiting == index + 1 }
        }
        mayEnd.signal()
        ended.wait()
        #expect(groups.withLock { $0 } == [1, 2, 1, 1, 1])
        #expect(commits.waiting == 0)
    }
}
