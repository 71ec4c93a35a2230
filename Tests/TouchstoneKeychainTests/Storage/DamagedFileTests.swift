import Foundation
import GRDB
import Glibc
import Security
import Testing

@testable import TouchstoneKeychain
@testable import TouchstoneTesting

/// Damage to the database file itself: other items stay readable, and what can be read is saved.
@Suite(.timeLimit(.minutes(10))) struct DamagedFileTests {
    private static let count = 60

    /// The files of a device with items, shut down: no log beside the database.
    private static func original() throws -> FileDevice {
        let device = try FileDevice()
        device.run {
            for index in 0..<count {
                let value = String(repeating: "v\(index) ", count: index == 7 ? 3000 : 10)
                #expect(add(account("a\(index)", [kSecAttrService: "s"]).value(value)) == errSecSuccess)
            }
        }
        _ = try device.tamperer().writeWithoutTransaction { try $0.checkpoint(.truncate) }
        return device
    }

    private static func value(_ index: Int) -> String {
        String(repeating: "v\(index) ", count: index == 7 ? 3000 : 10)
    }

    /// A copy of the device with another database.
    private static func copy(_ device: FileDevice, _ database: Data) throws -> PrivateDirectory {
        let files = try PrivateDirectory()
        for name in ["enclave/root.key", "enclave/state"] {
            _ = try files.subdirectory("enclave")
            try write(Data(contentsOf: device.files.url.appendingPathComponent(name)), files, name)
        }
        _ = try files.subdirectory("keychain")
        try write(database, files, "keychain/keychain.db")
        return files
    }

    private static func write(_ bytes: Data, _ files: PrivateDirectory, _ name: String) throws {
        let path = files.url.appendingPathComponent(name).path
        try #require(
            FileManager.default.createFile(atPath: path, contents: bytes, attributes: [.posixPermissions: 0o600]))
    }

    /// Reads each item: as it was, or an error.
    ///
    /// - Returns: How many are there.
    private static func readable(_ files: PrivateDirectory, _ comment: String) throws -> Int {
        guard let device = try? FileDevice(files) else { return 0 }
        try device.unlock()
        return device.run {
            (0..<count).count { index in
                let (status, result) = find(account("a\(index)").data)
                guard status == errSecSuccess else { return false }
                #expect(result as? Data == Data(value(index).utf8), "\(comment), item \(index)")
                return true
            }
        }
    }

    @Test("A flipped byte anywhere leaves other items readable; a repair saves all but those of one page")
    func flippedBytes() throws {
        let device = try Self.original()
        let bytes = try Data(contentsOf: device.database)
        #expect(bytes.count >= 4096 * 10)
        var generator = SystemRandomNumberGenerator()
        var repairs = 0
        // The head, each page's own head, and places at random.
        let places =
            [0, 18, 28, 60, 99] + Array(stride(from: 0, to: bytes.count, by: 3 * 4096))
            + Array(stride(from: 3, to: bytes.count, by: 5 * 4096))
            + (0..<12).map { _ in Int.random(in: 0..<bytes.count, using: &generator) }
        for place in places {
            var damaged = bytes
            damaged[place] ^= 1 << (place % 7)
            let files = try Self.copy(device, damaged)
            let file = KeychainFile(files.url.appendingPathComponent("keychain/keychain.db"))
            let problems = (try? file.problems()) ?? ["newer"]
            if problems.isEmpty {
                #expect(try Self.readable(files, "at \(place)") >= Self.count - 1, "at \(place)")
                continue
            }
            guard problems != ["newer"] else { continue }
            _ = try Self.readable(try Self.copy(device, damaged), "at \(place), as it is")
            repairs += 1
            let repaired = try file.repair()
            #expect(try file.problems() == [], "at \(place)")
            let old = repaired.kept.appendingPathComponent("keychain.db")
            #expect(try Data(contentsOf: old) == damaged, "at \(place)")
            // A leaf holds a handful of items.
            #expect(try Self.readable(files, "at \(place), repaired") >= Self.count - 12, "at \(place)")
        }
        #expect(repairs > 5)
    }

    @Test("A database that another program has locked is not damaged, so that no repair replaces it") func locked()
        throws
    {
        let device = try Self.original()
        let files = try Self.copy(device, Data(contentsOf: device.database))
        let url = files.url.appendingPathComponent("keychain/keychain.db")
        let other = try DatabaseQueue(path: url.path)
        try other.inDatabase {
            try $0.execute(sql: "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE other (x); COMMIT")
        }
        let file = KeychainFile(url)
        #expect(throws: DatabaseError.self) { try file.problems() }
        try other.close()
        #expect(try file.problems() == [])
    }

    @Test("A page of noise, the first, a middle or the last, costs the items on it and no other") func noise() throws {
        let device = try Self.original()
        let bytes = try Data(contentsOf: device.database)
        for page in stride(from: 0, to: bytes.count / 4096, by: 4) {
            var damaged = bytes
            let range = (page * 4096)..<((page + 1) * 4096)
            damaged.replaceSubrange(range, with: (0..<4096).map { _ in UInt8.random(in: 0...255) })
            let files = try Self.copy(device, damaged)
            let file = KeychainFile(files.url.appendingPathComponent("keychain/keychain.db"))
            guard try !file.problems().isEmpty else { continue }
            _ = try file.repair()
            #expect(try file.problems() == [])
            #expect(try Self.readable(files, "page \(page)") >= Self.count - 12, "page \(page)")
        }
    }

    @Test("A file cut short keeps what is before the cut") func truncated() throws {
        let device = try Self.original()
        let bytes = try Data(contentsOf: device.database)
        let files = try Self.copy(device, bytes.prefix(bytes.count * 9 / 10 / 4096 * 4096))
        let file = KeychainFile(files.url.appendingPathComponent("keychain/keychain.db"))
        #expect(try file.problems() != [])
        _ = try file.repair()
        let saved = try Self.readable(files, "cut")
        // Most of what is before the cut are the roots of the indexes, and of the tables of synchronizing.
        #expect(saved >= Self.count / 10, "\(saved)")
    }

    @Test("A database whose versions cannot be read is damaged, and a repair saves all of its items")
    func versions() throws {
        let device = try Self.original()
        let files = try Self.copy(device, Data(contentsOf: device.database))
        let url = files.url.appendingPathComponent("keychain/keychain.db")
        try DatabaseQueue(path: url.path).write {
            try $0.execute(
                sql: """
                    DROP TABLE grdb_migrations; CREATE TABLE grdb_migrations (identifier);
                    INSERT INTO grdb_migrations VALUES (NULL)
                    """)
        }
        #expect(try KeychainFile(url).problems() == ["the versions of the database cannot be read"])
        #expect {
            _ = try KeychainStore(file: url)
        } throws: {
            ($0 as? KeychainStoreError)?.description.contains("run 'touchstone keychain check --repair'") == true
        }
        _ = try KeychainFile(url).repair()
        #expect(try KeychainFile(url).problems() == [])
        #expect(try Self.readable(files, "repaired") == Self.count)
    }

    @Test("What is only in the log is saved too") func log() throws {
        let device = try Self.original()
        device.run { #expect(add(account("in the log").value("x")) == errSecSuccess) }
        var damaged = try Data(contentsOf: device.database)
        // A page of the table that the log does not have: its head.
        let leaf = try #require(
            stride(from: damaged.count - 4096, to: 0, by: -4096).first { damaged[$0] == 0x0D })
        damaged[leaf] = 0x77
        let files = try Self.copy(device, damaged)
        let log = try Data(contentsOf: URL(fileURLWithPath: device.database.path + "-wal"))
        try Self.write(log, files, "keychain/keychain.db-wal")
        let file = KeychainFile(files.url.appendingPathComponent("keychain/keychain.db"))
        guard try !file.problems().isEmpty else { return }
        let repaired = try file.repair()
        #expect(FileManager.default.fileExists(atPath: repaired.kept.path + "/keychain.db-wal"))
        let again = try FileDevice(files)
        try again.unlock()
        again.run { #expect(secret(account("in the log")) == "x") }
    }

    @Test("What was deleted in the log only stays deleted, whichever page is damaged") func deletedInLog() throws {
        let device = try Self.original()
        let tamperer = try device.tamperer()
        let deleted = try #require(
            try tamperer.read { try Data.fetchOne($0, sql: "SELECT identifier FROM item ORDER BY rowid LIMIT 1") })
        device.run { #expect(SecItemDelete(account("a0") as CFDictionary) == errSecSuccess) }
        #expect(
            try tamperer.read {
                try Row.fetchOne($0, sql: "SELECT 1 FROM item WHERE identifier = ?", arguments: [deleted])
            } == nil)
        let bytes = try Data(contentsOf: device.database)
        let log = try Data(contentsOf: URL(fileURLWithPath: device.database.path + "-wal"))
        #expect(bytes.range(of: deleted) != nil)
        var repairs = 0
        for leaf in stride(from: 4096, to: bytes.count, by: 4096) where [0x0D, 0x05, 0x0A].contains(bytes[leaf]) {
            var damaged = bytes
            damaged[leaf] = 0x77
            let files = try Self.copy(device, damaged)
            try Self.write(log, files, "keychain/keychain.db-wal")
            let file = KeychainFile(files.url.appendingPathComponent("keychain/keychain.db"))
            guard try !file.problems().isEmpty else { continue }
            repairs += 1
            let repaired = try file.repair()
            #expect(repaired.items >= Self.count - 13 && repaired.items < Self.count, "page at \(leaf)")
            #expect(try Data(contentsOf: file.url).range(of: deleted) == nil, "page at \(leaf)")
        }
        #expect(repairs > 2)
    }

    @Test("A whole file has no problems and stays as it is; one that is not there neither") func whole() throws {
        let device = try Self.original()
        let bytes = try Data(contentsOf: device.database)
        let files = try Self.copy(device, bytes)
        let url = files.url.appendingPathComponent("keychain/keychain.db")
        #expect(try KeychainFile(url).problems() == [])
        #expect(try Data(contentsOf: url) == bytes)
        #expect(try KeychainFile(files.url.appendingPathComponent("keychain/other.db")).problems() == [])
    }

    // MARK: versions

    @Test("A database of a newer version is refused untouched, to the byte, with and without a log")
    func newer() throws {
        for isInLog in [false, true] {
            let device = try Self.original()
            let queue = try device.tamperer()
            try queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations (identifier) VALUES ('99')") }
            if !isInLog { _ = try queue.writeWithoutTransaction { try $0.checkpoint(.truncate) } }
            let files = try Self.copy(device, try Data(contentsOf: device.database))
            let url = files.url.appendingPathComponent("keychain/keychain.db")
            if isInLog {
                try Self.write(
                    try Data(contentsOf: URL(fileURLWithPath: device.database.path + "-wal")), files,
                    "keychain/keychain.db-wal")
            }
            func contents() throws -> [Data?] {
                ["", "-wal"].map { try? Data(contentsOf: URL(fileURLWithPath: url.path + $0)) }.map {
                    $0?.isEmpty == true ? nil : $0
                }
            }
            let before = try contents()
            let error = #expect(throws: KeychainStoreError.self) { try KeychainStore(file: url) }
            #expect(error?.description.contains("newer version") == true)
            #expect(throws: KeychainStoreError.self) { try KeychainFile(url).problems() }
            #expect(try contents() == before)
        }
    }
}
