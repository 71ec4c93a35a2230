import CTouchstoneSystem
package import Foundation
import GRDB
import Glibc

/// The database file of a device that is off: looked at for damage, and mended by copying.
package struct KeychainFile {
    package let url: URL

    package init(_ url: URL) { self.url = url }

    /// What SQLite finds wrong with it; nothing where it is whole, or not there.
    ///
    /// - Throws: `KeychainStoreError` for a database of a newer version; `DatabaseError` if it cannot be read now, because another
    ///   program has locked it, or descriptors or memory ran out.
    package func problems() throws -> [String] {
        guard FileManager.default.fileExists(atPath: url.path) else { return [] }
        do {
            try KeychainStore.checkVersion(url)
            return try Self.open(url).inDatabase(KeychainStore.integrity)
        } catch let error as DatabaseError where !Self.passing.contains(error.resultCode) {
            return [error.message ?? "\(error.resultCode)"]
        }
    }

    /// These say nothing about the file.
    ///
    /// If they counted as damage, a repair would replace a whole one.
    private static let passing: [ResultCode] = [
        .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_PROTOCOL, .SQLITE_NOMEM, .SQLITE_CANTOPEN,
    ]

    /// Copies every row that can be read into a fresh database, and puts that in place of the old.
    ///
    /// The old one, with its log, is kept in a directory beside: both change places in one step, and until then nothing has changed.
    ///
    /// - Returns: How many rows were copied, and where the old database is.
    package func repair(now: Date = Date()) throws -> (items: Int, kept: URL) {
        let directory = url.deletingLastPathComponent()
        let aside = try makeDirectory(beside: directory, now)
        var isExchanged = false
        do {
            let fresh = aside.appendingPathComponent(url.lastPathComponent)
            let count = try copy(into: fresh)
            try Self.sync(fresh)
            try Self.sync(aside)
            let code = unsafe touchstone_exchange(directory.path, aside.path)
            guard code == 0 else { throw Self.error(directory.path, code) }
            isExchanged = true
            try Self.sync(directory.deletingLastPathComponent())
            return (count, aside)
        } catch {
            // Ours until the exchange; from then on the only place of the old database.
            if !isExchanged { try? FileManager.default.removeItem(at: aside) }
            throw error
        }
    }

    private func makeDirectory(beside directory: URL, _ now: Date) throws -> URL {
        let time = now.formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
        for attempt in 1...100 {
            let suffix = attempt == 1 ? "" : "-\(attempt)"
            let path = directory.path + ".damaged-\(time)\(suffix)"
            if unsafe mkdir(path, 0o700) == 0 { return URL(fileURLWithPath: path) }
            guard errno == EEXIST else { throw Self.error(path, errno) }
        }
        throw Self.error(directory.path, EEXIST)
    }

    private static func open(_ file: URL) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA trusted_schema = OFF") }
        return try DatabaseQueue(path: file.path, configuration: configuration)
    }

    // MARK: copying

    private func copy(into fresh: URL) throws -> Int {
        try Self.make(fresh)
        let target = try DatabaseQueue(path: fresh.path)
        try KeychainStore.migrate(target)
        let items = try target.write { target in
            let columns = try target.columns(in: "item").map(\.name)
            var hasAllItems = false
            if let source = try? Self.open(url) {
                hasAllItems = source.inDatabase { source in
                    // A walk that ends well may have passed over pages: an index must know as many rows.
                    let known = try? Int.fetchOne(source, sql: "SELECT count(*) FROM item INDEXED BY item_account")
                    return Self.copy("item", columns, from: source, into: target)
                        && known == (try? Int.fetchOne(target, sql: "SELECT count(*) FROM item"))
                }
                let columns = try target.columns(in: "quarantine").map(\.name)
                _ = source.inDatabase { Self.copy("quarantine", columns, from: $0, into: target) }
                source.inDatabase { Self.copyLimits(from: $0, into: target) }
            }
            // Rows that the damage hides from SQLite.
            if !hasAllItems, let bytes = try? Data(contentsOf: url, options: .mappedIfSafe) {
                let log = try? Data(contentsOf: URL(fileURLWithPath: url.path + "-wal"), options: .mappedIfSafe)
                SalvagedRow.scan(bytes, log: log ?? Data()) {
                    Self.insert($0.values, $0.rowID, "item", columns, into: target)
                }
            }
            return try Int.fetchOne(target, sql: "SELECT count(*) FROM item") ?? 0
        }
        try target.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        try target.close()
        return items
    }

    /// From both ends, as far as the rows can be read.
    ///
    /// - Returns: Whether they were read from one end to the other.
    private static func copy(
        _ table: String, _ columns: [String], from source: Database, into target: Database
    ) -> Bool {
        for order in ["ASC", "DESC"] {
            do {
                let rows = try Row.fetchCursor(source, sql: "SELECT * FROM \(table) ORDER BY rowid \(order)")
                while let row = try rows.next() {
                    let values = columns.map { row.hasColumn($0) ? row[$0] as DatabaseValue : .null }
                    guard let rowID = Int64.fromDatabaseValue(values.first ?? .null) else { continue }
                    insert(values, rowID, table, columns, into: target)
                }
                return true
            } catch { continue }
        }
        return false
    }

    /// The owner's limits, as far as they can be read; how much there is of each is counted as the rows come.
    private static func copyLimits(from source: Database, into target: Database) {
        guard let rows = try? Row.fetchAll(source, sql: "SELECT agrp, name, items, bytes FROM quota") else { return }
        for row in rows {
            try? target.execute(
                sql: "INSERT OR IGNORE INTO quota (agrp, name, items, bytes) VALUES (?, ?, ?, ?)",
                arguments: StatementArguments(row.databaseValues))
        }
    }

    /// What is there already stays: a row is found by more than one way.
    private static func insert(
        _ values: [DatabaseValue], _ rowID: Int64, _ table: String, _ columns: [String], into target: Database
    ) {
        var values = Array(values.prefix(columns.count))
        values += Array(repeating: .null, count: columns.count - values.count)
        values[0] = rowID.databaseValue
        let names = columns.map { "\"\($0)\"" }.joined(separator: ", ")
        let places = Array(repeating: "?", count: columns.count).joined(separator: ", ")
        // One that the table does not take is not a row of ours.
        try? target.cachedStatement(sql: "INSERT OR IGNORE INTO \(table) (\(names)) VALUES (\(places))")
            .execute(arguments: StatementArguments(values))
    }

    /// Makes an empty file that is this user's only from its first moment, whatever the umask is.
    ///
    /// One that is made for all and closed to others later stays open to them where the power fails between the two.
    static func make(_ file: URL) throws {
        let descriptor = unsafe Glibc.open(file.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw error(file.path, errno) }
        defer { close(descriptor) }
        guard fchmod(descriptor, 0o600) == 0 else { throw error(file.path, errno) }
    }

    /// What the file system says of a file or directory.
    ///
    /// `FileManager` asks the name services for the owner's name as well, and these may ask another machine.
    struct Status {
        /// Whether nobody but its owner may do anything with it.
        let isPrivate: Bool
        let bytes: Int
    }

    /// - Returns: nil where there is nothing of this name.
    /// - Throws: `POSIXError`.
    static func status(_ path: String) throws -> Status? {
        var found = stat()
        guard unsafe lstat(path, &found) == 0 else {
            if errno == ENOENT { return nil }
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        return Status(isPrivate: found.st_mode & 0o077 == 0, bytes: Int(found.st_size))
    }

    private static func sync(_ file: URL) throws {
        let descriptor = unsafe Glibc.open(file.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw error(file.path, errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw error(file.path, errno) }
    }

    private static func error(_ path: String, _ code: Int32) -> KeychainStoreError {
        KeychainStoreError(description: "\(path): \(unsafe String(cString: unsafe strerror(code)))")
    }
}
