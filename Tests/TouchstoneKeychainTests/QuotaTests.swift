import Foundation
import GRDB
import Security
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTransport

@testable import TouchstoneKeychain
@testable import TouchstoneTesting

/// What an app may keep, and how that is counted.
@Suite(.timeLimit(.minutes(10))) struct QuotaTests {
    private let device: FileDevice
    private let queue: DatabaseQueue

    init() throws {
        device = try FileDevice()
        queue = try device.tamperer()
        try queue.inDatabase { try $0.execute(sql: "PRAGMA synchronous = OFF") }
    }

    private func uses() throws -> BackupInterface.ListUse.Reply {
        try device.device.owner.call(BackupInterface.ListUse.self, Empty())
    }

    private func use() throws -> BackupInterface.Use {
        try #require(try uses().uses.first { $0.app == FileDevice.app.identifier })
    }

    private func limit(_ items: Int?, _ bytes: Int? = nil, app: AppIdentifier = FileDevice.app.identifier) throws {
        let every = BackupInterface.Storage.ofEveryApp
        let limit = BackupInterface.Storage(items: items ?? every.items, bytes: bytes ?? every.bytes)
        _ = try device.device.owner.call(
            BackupInterface.SetQuota.self, .init(app: app, limit: items == nil && bytes == nil ? nil : limit))
    }

    /// What is counted, and what there is.
    private func isRight() throws -> Bool {
        try queue.read { database in
            let columns = "length(metadata) + length(wrappedKey) + ifnull(length(secret), 0)"
            let there = try Row.fetchOne(
                database, sql: "SELECT count(*) AS i, ifnull(sum(\(columns)), 0) AS b FROM item")
            let counted = try Row.fetchOne(
                database, sql: "SELECT ifnull(sum(items), 0) AS i, ifnull(sum(bytes), 0) AS b FROM use")
            return try KeychainStore.miscounted(database) == 0 && there == counted
        }
    }

    @Test("An addition beyond the number of items is errSecDiskFull; the one before it is not")
    func items() throws {
        try limit(2)
        device.run {
            #expect(add(account("a").value("1")) == errSecSuccess)
            #expect(add(account("b").value("2")) == errSecSuccess)
            #expect(add(account("c").value("3")) == errSecDiskFull)
            #expect(find(account("c")).status == errSecItemNotFound)
            // A duplicate is told as one all the same (KC-30).
            #expect(add(account("a").value("1")) == errSecDuplicateItem)
            #expect(SecItemDelete(account("a") as CFDictionary) == errSecSuccess)
            #expect(add(account("c").value("3")) == errSecSuccess)
        }
        #expect(try use().used.items == 2)
        #expect(try isRight())
    }

    @Test("An addition, or an update, beyond the bytes is errSecDiskFull; one that makes an item smaller is not")
    func bytes() throws {
        try limit(nil, 20_000)
        let large = String(repeating: "x", count: 15_000)
        device.run {
            #expect(add(account("a").value(large)) == errSecSuccess)
            #expect(add(account("b").value(large)) == errSecDiskFull)
            #expect(add(account("b").value("small")) == errSecSuccess)
            #expect(update(account("b"), [kSecValueData: Data(large.utf8)]) == errSecDiskFull)
            #expect(secret(account("b")) == "small")
            #expect(update(account("b"), [kSecValueData: Data("other".utf8)]) == errSecSuccess)
        }
        // The owner lowers it: what is there stays, and may become smaller.
        try limit(nil, 5_000)
        device.run {
            #expect(secret(account("a")) == large)
            #expect(update(account("a"), [kSecValueData: Data((large + large).utf8)]) == errSecDiskFull)
            #expect(update(account("a"), [kSecValueData: Data("now small".utf8)]) == errSecSuccess)
            #expect(add(account("c").value("small")) == errSecSuccess)
        }
        #expect(try isRight())
    }

    @Test("A limit of the owner's raises what an app may keep, and can be taken back")
    func ownersLimit() throws {
        try limit(1)
        device.run {
            #expect(add(account("a").value("1")) == errSecSuccess)
            #expect(add(account("b").value("2")) == errSecDiskFull)
        }
        #expect(try use().isDefault == false)
        try limit(nil)
        #expect(try use().isDefault)
        #expect(try use().limit == .ofEveryApp)
        device.run { #expect(add(account("b").value("2")) == errSecSuccess) }
        // A group that keeps nothing is named as well.
        try limit(7, app: "/usr/bin/other")
        let other = try #require(try uses().uses.first { $0.app == "/usr/bin/other" })
        #expect((other.used.items, other.limit.items, other.isDefault) == (0, 7, false))
    }

    @Test("KC-42: the limit of an app is not that of one whose name is another spelling of the same characters")
    func spellings() throws {
        let (one, other) = ("/opt/caf\u{e9}", "/opt/cafe\u{301}")
        try limit(1, app: AppIdentifier(one))
        for (app, second) in [(one, errSecDiskFull), (other, errSecSuccess)] {
            let identity = AppIdentity(
                identifier: AppIdentifier(app), evidence: .process, name: app, processID: getpid(), userID: getuid())
            DeviceEndpoint.$scoped.withValue(SimulatedEndpoint(app: identity, device: device.device)) {
                #expect(add(account("a").value("1")) == errSecSuccess)
                #expect(add(account("b").value("2")) == second)
            }
        }
        let used = try uses().uses.filter { $0.app?.rawValue == one }
        #expect(used.map(\.used.items).sorted() == [1, 2])
        #expect(Set(used.map(\.app)) == [AppIdentifier(one), AppIdentifier(other)])
    }

    @Test("Limits out of range are refused", arguments: [(-1, 0), (0, -1), (1_000_000_001, 0), (0, (1 << 40) + 1)])
    func malformed(items: Int, bytes: Int) throws {
        #expect(throws: (any Error).self) { try limit(items, bytes) }
        #expect(throws: (any Error).self) { try limit(1, 1, app: "") }
        #expect(throws: (any Error).self) { try limit(1, 1, app: AppIdentifier(String(repeating: "x", count: 1025))) }
        try limit(1, 1, app: AppIdentifier(String(repeating: "x", count: 1024)))
    }

    @Test("Another user's program is told nothing, and sets nothing") func owner() throws {
        let other = try device.device.client(userID: getuid() + 1)
        #expect(throws: (any Error).self) { try other.call(BackupInterface.ListUse.self, Empty()) }
        #expect(throws: (any Error).self) {
            try other.call(BackupInterface.SetQuota.self, .init(app: "a", limit: .init(items: 1, bytes: 1)))
        }
    }

    @Test("The count is right after additions, updates, deletions and an erasure of rows by hand")
    func counting() throws {
        try device.run { () throws in
            for number in 0..<20 {
                let size = number * 997
                #expect(add(account("a\(number)").value(String(repeating: "x", count: size))) == errSecSuccess)
            }
            #expect(add(internet([kSecAttrServer: "example.org"]).value("web")) == errSecSuccess)
            #expect(try isRight())
            #expect(try use().used.items == 21)
            #expect(update(account("a3"), [kSecValueData: Data(repeating: 1, count: 40_000)]) == errSecSuccess)
            #expect(update(generic(), [kSecAttrComment: "of all"]) == errSecSuccess)
            #expect(try isRight())
            #expect(SecItemDelete(account("a4") as CFDictionary) == errSecSuccess)
            #expect(try isRight())
            #expect(try use().used.items == 20)
            #expect(SecItemDelete(generic() as CFDictionary) == errSecSuccess)
            #expect(try isRight())
            #expect(try use().used.items == 1)
        }
        try queue.write { try $0.execute(sql: "DELETE FROM item") }
        #expect(try isRight())
        #expect(try uses().uses.isEmpty)
    }

    @Test("A check finds a wrong count, and only a repair corrects it") func wrongCount() throws {
        device.run { #expect(add(account("a").value("1")) == errSecSuccess) }
        func check(repairs: Bool) throws -> [String] {
            try device.device.owner.call(BackupInterface.Check.self, .init(after: nil, repairs: repairs)).database
        }
        for change in ["UPDATE use SET bytes = bytes - 1", "UPDATE use SET items = 0", "DELETE FROM use"] {
            try queue.write { try $0.execute(sql: change) }
            #expect(try check(repairs: false).count == 1, "\(change)")
            #expect(try !isRight())
            #expect(try check(repairs: true).isEmpty)
            #expect(try isRight())
        }
    }

    @Test(
        "Promise 27: numbers of a damaged file are no sums that end touchstoned",
        arguments: ["9223372036854775807", "-9223372036854775808", "1e300", "'many'", "NULL", "x'00'"])
    func damagedCount(_ number: String) throws {
        device.run { #expect(add(account("a").value("1")) == errSecSuccess) }
        try limit(5)
        for table in ["use", "quota"] {
            // A column that refuses a value keeps what it had.
            _ = try? queue.write { try $0.execute(sql: "UPDATE \(table) SET items = \(number), bytes = \(number)") }
        }
        device.run {
            // Refused or taken, it is answered.
            #expect([errSecSuccess, errSecDiskFull].contains(add(account("b").value("2"))))
            let updated = update(account("a"), [kSecValueData: Data(count: 100)])
            #expect([errSecSuccess, errSecDiskFull].contains(updated))
        }
        _ = try uses()
        try limit(nil)
        let check = BackupInterface.Check.Parameters(after: nil, repairs: true)
        _ = try device.device.owner.call(BackupInterface.Check.self, check)
        #expect(try isRight())
        device.run { #expect(add(account("c").value("3")) == errSecSuccess) }
    }

    @Test("A database from before there was a count is counted when it is opened") func earlier() throws {
        let files = try PrivateDirectory()
        let file = files.url.appendingPathComponent("keychain.db")
        let old = try DatabaseQueue(path: file.path)
        try KeychainStore.migrator.migrate(old, upTo: "2")
        try old.write { database in
            for (identifier, group) in [(1, "a"), (2, "a"), (3, "b")] {
                try database.execute(
                    sql: """
                        INSERT INTO item (class, identifier, version, pdmn, identity, metadata, wrappedKey, secret, agrp)
                        VALUES ('genp', ?, x'00', 'ak', ?, zeroblob(10), zeroblob(5), zeroblob(7), ?)
                        """, arguments: [Data([UInt8(identifier)]), Data([UInt8(identifier)]), Data(group.utf8)])
            }
        }
        try old.close()
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        let store = try KeychainStore(file: file)
        #expect(try store.uses().map { [$0.used.items, $0.used.bytes] } == [[2, 44], [1, 22]])
        #expect(try store.integrity() == [])
    }

    @Test("A repair of the file keeps the owner's limits, and counts what it saved") func repairedFile() throws {
        try limit(5)
        device.run { #expect(add(account("a").value("1")) == errSecSuccess) }
        let store = device.database
        _ = try queue.writeWithoutTransaction { try $0.checkpoint(.truncate) }
        let copy = try PrivateDirectory()
        let directory = try copy.subdirectory("keychain")
        let file = directory.appendingPathComponent("keychain.db")
        try FileManager.default.copyItem(at: store, to: file)
        let repaired = try KeychainFile(file).repair()
        #expect(repaired.items == 1)
        let fresh = try KeychainStore(file: file)
        #expect(try fresh.limits().map(\.limit.items) == [5])
        #expect(try fresh.uses().map(\.used.items) == [1])
        #expect(try fresh.integrity() == [])
    }

    @Test("No name of a group lies in the database in the clear") func sealedNames() throws {
        try limit(5, app: "/usr/bin/canary-of-quota")
        _ = try queue.writeWithoutTransaction { try $0.checkpoint(.truncate) }
        let bytes = try Data(contentsOf: device.database)
        #expect(bytes.range(of: Data("canary-of-quota".utf8)) == nil)
        #expect(try uses().uses.map(\.app) == ["/usr/bin/canary-of-quota"])
    }

    @Test("Rows that were put aside are counted for the boot's line and the doctor") func putAside() throws {
        device.run { #expect(add(account("a").value("1")) == errSecSuccess) }
        #expect(try uses().putAside == 0)
        try queue.write { try $0.execute(sql: "UPDATE item SET secret = zeroblob(60)") }
        _ = try device.device.owner.call(BackupInterface.Check.self, .init(after: nil, repairs: true))
        #expect(try uses().putAside == 1)
        #expect(try isRight() && uses().uses.isEmpty)
    }
}
