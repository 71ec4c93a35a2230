import Foundation
import GRDB
import Security
import Testing
import TouchstoneCore
import TouchstoneInterfaces

@testable import TouchstoneTesting

/// KC-16: a damaged row is found, isolated, kept, and in nobody else's way.
@Suite(.timeLimit(.minutes(10))) struct CheckTests {
    private let device: FileDevice
    private let queue: DatabaseQueue

    init() throws {
        device = try FileDevice()
        queue = try device.tamperer()
        try queue.inDatabase { try $0.execute(sql: "PRAGMA synchronous = OFF") }
        device.run {
            #expect(add(account("a", [kSecAttrService: "s"]).value("of a")) == errSecSuccess)
            #expect(add(account("b", [kSecAttrService: "s"]).value("of b")) == errSecSuccess)
        }
    }

    private func check(repairs: Bool = false) throws -> BackupInterface.Check.Reply {
        var sum = BackupInterface.Check.Reply()
        var after: Int64?
        repeat {
            let reply = try device.device.owner.call(
                BackupInterface.Check.self, .init(after: after, repairs: repairs))
            sum.database += reply.database
            sum.damaged += reply.damaged
            sum.checked += reply.checked
            sum.locked += reply.locked
            sum.expired += reply.expired
            sum.quarantined = reply.quarantined
            after = reply.next
        } while after != nil
        return sum
    }

    private func rows(_ table: String = "item") throws -> Int {
        try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") ?? -1 }
    }

    @Test("A whole keychain has nothing to report, protected items among it") func whole() throws {
        try device.run {
            let presence = try control(.userPresence)
            #expect(add(account("p", [kSecAttrAccessControl: presence]).value("of p")) == errSecSuccess)
            #expect(add(account("empty")) == errSecSuccess)
            _ = try enclaveKey([kSecAttrAccessControl: try control([.userPresence, .privateKeyUsage])])
        }
        for repairs in [false, true] {
            let report = try check(repairs: repairs)
            #expect(report.damaged == [] && report.database == [])
            #expect((report.checked, report.locked, report.expired, report.quarantined) == (5, 0, 0, 0))
        }
        #expect(try rows() == 5)
    }

    private static let sealed: [(String, BackupInterface.Problem)] = [
        ("metadata", .attributes), ("version", .attributes), ("identifier", .attributes), ("wrappedKey", .secret),
        ("secret", .secret),
    ]

    @Test("KC-16: a damaged half is reported without its secrets, and put aside by a repair alone", arguments: sealed)
    func damagedHalf(column: String, problem: BackupInterface.Problem) throws {
        let row = try RawRow(0, in: queue)
        var bytes = row.bytes(column)
        bytes[bytes.count / 2] ^= 1
        try row.with(column, bytes).put(into: queue)

        let report = try check()
        #expect(report.damaged.map(\.problem) == [problem])
        let damaged = try #require(report.damaged.first)
        #expect((damaged.row, damaged.itemClass, damaged.protection) == (1, "genp", "ak"))
        #expect((damaged.created != nil) == (problem == .secret))
        #expect(try rows() == 2 && rows("quarantine") == 0)

        let repaired = try check(repairs: true)
        #expect(repaired.damaged.count == 1 && repaired.quarantined == 1)
        #expect(try check().damaged == [])
        let kept = try queue.read { try Row.fetchOne($0, sql: "SELECT * FROM quarantine") }
        for name in ["class", "identifier", "version", "identity", "metadata", "wrappedKey", "secret", "pdmn"] {
            let expected = name == column ? bytes.databaseValue : row.columns[name]
            #expect(kept?[name] as DatabaseValue? == expected, "\(name)")
        }
        device.run {
            #expect(secret(account("b")) == "of b")
            #expect(read(account("a")) == errSecItemNotFound)
            #expect(add(account("a", [kSecAttrService: "s"]).value("anew")) == errSecSuccess)
        }
    }

    @Test(
        "KC-16: what a search finds damaged is absent, put aside and kept",
        arguments: ["metadata", "wrappedKey", "secret"])
    func foundBySearch(column: String) throws {
        let row = try RawRow(0, in: queue)
        var bytes = row.bytes(column)
        bytes[0] ^= 128
        try row.with(column, bytes).put(into: queue)
        device.run {
            #expect(read(account("a")) == errSecItemNotFound)
            #expect(secret(account("b")) == "of b")
        }
        #expect(try rows() == 1 && rows("quarantine") == 1)
        #expect(try check().quarantined == 1)
    }

    @Test("Items that their owner made unreadable are no damage: they go, and nothing of them is kept") func expired()
        throws
    {
        try device.run {
            let set = try control(.biometryCurrentSet)
            #expect(add(account("set", [kSecAttrAccessControl: set]).value("x")) == errSecSuccess)
        }
        _ = try device.device.owner.call(DeviceInterface.Enroll.self, .init(finger: "another"))
        let report = try check(repairs: true)
        #expect((report.damaged.count, report.expired, report.quarantined) == (0, 1, 0))
        device.run { #expect(read(account("set")) == errSecItemNotFound) }
        #expect(try rows() == 2 && rows("quarantine") == 0)
    }

    @Test(
        "A wrong tag is reported and made anew: the item is found again",
        arguments: ["acct", "svce", "agrp", "identity"])
    func wrongTag(column: String) throws {
        let row = try RawRow(0, in: queue)
        var bytes = row.bytes(column)
        bytes[3] ^= 16
        try row.with(column, bytes).put(into: queue)
        let report = try check()
        #expect(report.damaged.map(\.problem) == [.tags])
        #expect(report.damaged.first?.created != nil)
        #expect(try check(repairs: true).damaged.count == 1)
        let after = try check()
        #expect(after.damaged == [] && after.quarantined == 0)
        #expect(try RawRow(0, in: queue).columns == row.columns)
        device.run { #expect(secret(account("a", [kSecAttrService: "s"])) == "of a") }
    }

    @Test(
        "A row that is not as the table is is reported and put aside",
        arguments: ["class", "pdmn", "identifier", "metadata"])
    func malformed(column: String) throws {
        let value: DatabaseValue = column == "metadata" ? 7.databaseValue : "zzzz".databaseValue
        try RawRow(0, in: queue).with(column, value).put(into: queue)
        #expect(try check().damaged.map(\.problem) == [.malformed])
        #expect(try check(repairs: true).quarantined == 1)
        #expect(try check().damaged == [])
        device.run { #expect(secret(account("b")) == "of b") }
    }

    /// The first row, with one bit of a column changed.
    private func damage(_ column: String) throws {
        let row = try RawRow(0, in: queue)
        var bytes = row.bytes(column)
        bytes[bytes.count / 2] ^= 1
        try row.with(column, bytes).put(into: queue)
    }

    @Test("KC-16: a row with a value of another kind is absent from every search, and in no other's way")
    func malformedInSearch() throws {
        for column in ["metadata", "wrappedKey", "secret", "version"] {
            let row = try RawRow(0, in: queue)
            try row.with(column, 7).put(into: queue)
            device.run {
                #expect(read(account("a")) == errSecItemNotFound, "\(column)")
                #expect(accounts(generic()) == ["b"], "\(column)")
                #expect(secret(account("b")) == "of b", "\(column)")
            }
            try row.put(into: queue)
            device.run { #expect(secret(account("a")) == "of a", "\(column)") }
        }
    }

    @Test("KC-16: a delete by what has no tag leaves a row that does not open") func deleteByDate() throws {
        let date = try device.run { try #require(try attributes(account("b"))["cdat"] as? Date) }
        try damage("metadata")
        device.run {
            #expect(delete(generic([kSecAttrCreationDate: date + 1])) == errSecItemNotFound)
            #expect(delete(generic([kSecAttrCreationDate: date])) == errSecSuccess)
        }
        try #require(try rows() == 1)
        #expect(try RawRow(0, in: queue).columns["rowid"] == 1.databaseValue)
    }

    @Test("KC-16: an add in place of a damaged item puts that aside", arguments: ["metadata", "wrappedKey", "secret"])
    func addOverDamaged(column: String) throws {
        try damage(column)
        device.run {
            #expect(add(account("a", [kSecAttrService: "s"]).value("anew")) == errSecSuccess)
            #expect(secret(account("a")) == "anew")
        }
        #expect(try rows("quarantine") == 1)
    }

    @Test(
        "KC-16, KC-31: an import heals a damaged item and keeps what was damaged; whole ones stay",
        arguments: ["metadata", "wrappedKey", "secret"], [false, true])
    func healedByImport(column: String, replaces: Bool) throws {
        let (records, _) = try OwnersBackup().export(from: device.device)
        try damage(column)
        let counts = try OwnersBackup().import(records, into: device.device, replaces: replaces)
        #expect((counts.added, counts.kept, counts.replaced) == (1, 1, 0))
        device.run {
            #expect(secret(account("a")) == "of a")
            #expect(secret(account("b")) == "of b")
        }
        #expect(try rows() == 2 && rows("quarantine") == 1)
    }

    @Test("How many items there are is counted once, for the first page") func total() throws {
        func total(after: Int64?) throws -> Int {
            try device.device.owner.call(BackupInterface.Check.self, .init(after: after, repairs: false)).total
        }
        #expect(try total(after: nil) == 2)
        #expect(try total(after: 1) == 0)
    }

    @Test("Items of a locked class are counted, not judged; unlocked they are") func locked() throws {
        device.run {
            let always = account("always", [kSecAttrAccessible: kSecAttrAccessibleAlways])
            #expect(add(always.value("x")) == errSecSuccess)
        }
        let row = try RawRow(0, in: queue)
        try row.with("metadata", Data(count: 100)).put(into: queue)
        try device.lock()
        let report = try check(repairs: true)
        #expect((report.checked, report.locked, report.damaged.count) == (3, 2, 0))
        #expect(try rows() == 3)
        try device.unlock()
        #expect(try check().damaged.count == 1)
    }
}
