import Crypto
import Foundation
import GRDB
import Testing
import TouchstoneCircle

@testable import TouchstoneKeychain

/// What synchronizing keeps in the database, of which a damaged disk or another program may have changed numbers.
@Suite struct CircleTablesTests {
    private let files: PrivateDirectory
    private let queue: DatabaseQueue
    private let me = MemberID(bytes: Data(repeating: 1, count: 32))
    private let other = MemberID(bytes: Data(repeating: 2, count: 32))
    private let name = RecordName(bytes: Data(repeating: 3, count: 32))
    private let circle = Data(repeating: 4, count: 32)
    private let now: UInt64 = 1_800_000_000_000
    private let key = SymmetricKey(size: .bits256)

    init() throws {
        files = try PrivateDirectory()
        let file = files.url.appendingPathComponent("keychain.db")
        _ = try KeychainStore(file: file)
        queue = try DatabaseQueue(path: file.path)
        let mine = version(7, of: me)
        var ledger = Ledger(me: me, membership: membership)
        _ = ledger.take(mine, now: now)
        try queue.write { database in
            try CircleTables.begin(member: me, circle: circle, first: 5, contact: now, tags: [], database)
            for version in [mine, version(9, of: other)] {
                try CircleTables.save(version, bytes: Data([1]), database)
            }
            try CircleTables.save(ledger, database)
            try CircleTables.show(name, .init(member: me, counter: 7), database)
            try CircleTables.list(isHead: false, counter: 7, database)
            try database.execute(sql: "UPDATE circle_member SET waited = ?", arguments: [Int64(now)])
            try database.execute(sql: "UPDATE circle_state SET contact = ?", arguments: [Int64(now)])
        }
    }

    private var membership: Membership { Membership(members: [me, other], linkHashes: [Data(count: 32)]) }

    private func version(_ counter: UInt64, of member: MemberID) -> RecordVersion {
        RecordVersion(
            name: name, member: member, counter: counter, clock: ClockTime(milliseconds: now - counter),
            isTombstone: false)
    }

    /// What a device does with it at a boot and with the next change.
    private func boot() throws -> Ledger {
        try queue.write { database in
            var ledger = try Ledger(me: me, membership: membership, CircleTables.kept(database) { _ in nil })
            try CircleTables.deleteRecords(notIn: ledger, database)
            #expect(!ledger.isExpired(now: now))
            _ = ledger.changes()
            _ = ledger.write(name, isTombstone: false, now: now)
            let head = ledger.nextHead(epoch: 0, sumKey: key, now: now, silence: 1000) { _ in true }
            ledger.keep(try #require(head))
            _ = ledger.forgetDead()
            try CircleTables.save(ledger, database)
            return ledger
        }
    }

    private func change(_ table: String, _ column: String, to number: Int64) throws {
        try queue.write { try $0.execute(sql: "UPDATE circle_\(table) SET \(column) = ?", arguments: [number]) }
    }

    @Test func whatIsWhole() throws {
        let state = try queue.read { try CircleTables.state($0) }
        #expect(state?.member == me.bytes && state?.circle == circle)
        let ledger = try boot()
        #expect(ledger.counter == 8)
        #expect(ledger.contains(member: me, counter: 7) && ledger.contains(member: other, counter: 9))
        let objects = try queue.read { try CircleTables.objects(after: 0, of: me, count: 10, longest: 1000, $0) }
        #expect(objects.map(\.counter) == [7])
    }

    @Test(arguments: [-1, .min, .max, 1 << 53 + 1] as [Int64])
    func aNumberThatNobodyWritesIsDamage(number: Int64) throws {
        // No counter is given twice, and what is left says where they go on.
        var counter: UInt64 = 7
        for (table, column) in [
            ("state", "first"), ("state", "counter"), ("state", "contact"), ("member", "seen"), ("member", "whole"),
            ("member", "waited"),
        ] {
            try change(table, column, to: number)
            counter += 1
            #expect(try boot().counter == counter, "\(column)")
        }
        try change("item", "counter", to: number)
        #expect(try queue.read { try CircleTables.shown(name, $0) } == nil)
        try change("object", "counter", to: number)
        #expect(try queue.read { try CircleTables.objects(after: 0, of: me, count: 10, longest: 1000, $0) }.isEmpty)
        // A record is dropped, and the others stay.
        try queue.write {
            try $0.execute(sql: "UPDATE circle_record SET counter = ? WHERE counter = 9", arguments: [number])
        }
        #expect(try boot().contains(member: me, counter: 7))
        let left = try queue.read { try Int64.fetchAll($0, sql: "SELECT counter FROM circle_record") }
        #expect(left == [7])
    }

    @Test func aTimeThatNobodyWritesIsDamage() throws {
        try change("state", "clock", to: -1)
        #expect(try boot().newestClock == ClockTime(milliseconds: now))
        try change("record", "clock", to: -1)
        _ = try boot()
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM circle_record") } == 0)
    }
}
