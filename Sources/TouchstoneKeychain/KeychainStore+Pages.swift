import Foundation
import GRDB
import TouchstoneCore

/// The rows of the whole database, a page at a time, whoever's they are: for backup and for looking for damage.
extension KeychainStore {
    /// One row as it lies there.
    struct PageRow {
        var rowID: Int64
        /// nil where it is not as the table's columns are; then only what can be told of it is there.
        var item: ItemRow?
        var itemClass: String?
        var protection: String?
    }

    /// The next rows by their number; their tags with them.
    ///
    /// At most `limit`, and no more than fit in about `bytes`, but at least one where there is one.
    func page(after rowID: Int64, limit: Int = 256, bytes: Int = 1 << 20) throws -> [PageRow] {
        try inspect { database in
            let statement = try database.cachedStatement(
                sql: "SELECT rowid AS number, * FROM item WHERE rowid > ? ORDER BY rowid LIMIT ?")
            let rows = try Row.fetchCursor(statement, arguments: [rowID, limit])
            var page: [PageRow] = []
            var size = 0
            while size < bytes, let row = try rows.next() {
                let read = Self.read(row)
                size += (read.item?.metadata.count ?? 0) + (read.item?.secret?.count ?? 0)
                page.append(read)
            }
            return page
        }
    }

    private static func read(_ row: Row) -> PageRow {
        // GRDB ends the process where a column is asked for that is not there, and whoever wrote the file may have renamed any.
        func value(_ column: String) -> DatabaseValue { row.hasColumn(column) ? row[column] : .null }
        func text(_ column: String) -> String? { String.fromDatabaseValue(value(column)) }
        let protection = AttributeKey.accessible.rawValue
        var read = PageRow(rowID: row["number"], itemClass: text("class"), protection: text(protection))
        let whole = Row(
            dictionaryLiteral: ("rowid", value("number")), ("class", value("class")),
            ("identifier", value("identifier")), ("version", value("version")), (protection, value(protection)),
            ("identity", value("identity")), ("metadata", value("metadata")), ("wrappedKey", value("wrappedKey")),
            ("secret", value("secret")),
            ("secretBytes", (Data.fromDatabaseValue(value("secret"))?.count).databaseValue))
        guard var item = ItemRow(whole) else { return read }
        for column in tagColumns {
            if let tag = Data.fromDatabaseValue(value(column.rawValue)) { item.tags[column] = tag }
        }
        item.isGuarded = !value("guarded").isNull
        read.item = item
        return read
    }

    func count() throws -> Int {
        try inspect { try Int.fetchOne($0, sql: "SELECT count(*) FROM item") ?? 0 }
    }

    func quarantined() throws -> Int {
        try inspect { try Int.fetchOne($0, sql: "SELECT count(*) FROM quarantine") ?? 0 }
    }

    /// What SQLite finds wrong with the file; nothing where it is whole.
    ///
    /// On a connection of its own: it takes long, and no search waits for it.
    func integrity() throws -> [String] {
        guard let file else { return try inspect(Self.integrity) }
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        return try DatabaseQueue(path: file.path, configuration: configuration).inDatabase(Self.integrity)
    }

    static func integrity(_ database: Database) throws -> [String] {
        do {
            let lines = try String.fetchAll(database, sql: "PRAGMA integrity_check(100)")
            guard lines == ["ok"] else { return lines }
            let miscounted = try miscounted(database)
            return miscounted == 0 ? [] : ["what \(miscounted) access groups keep is counted wrong"]
        } catch let error as DatabaseError where [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode) {
            return [error.message ?? "\(error.resultCode)"]
        }
    }

    /// Makes every index anew, and counts anew what each access group keeps.
    func reindex() throws {
        try write {
            try $0.database.execute(sql: "REINDEX")
            try Self.recount($0.database)
        }
    }
}

extension KeychainStore.KeychainWriter {
    func row(identifier: ItemIdentifier) throws -> ItemRow? {
        let rows = try Row.fetchCursor(
            database.cachedStatement(sql: "SELECT \(ItemRow.columns) FROM item WHERE identifier = ?"),
            arguments: [identifier.bytes])
        return try rows.next().flatMap { ItemRow($0) }
    }

    /// Moves a row out of everybody's sight, and keeps it (KC-16).
    ///
    /// Not one that another call has put in its place since it was read as this version; nil: whatever is there.
    func putAside(rowID: Int64, version: Data?, at date: Date) throws {
        changed.add(rowID)
        let columns = "class, identifier, version, pdmn, identity, metadata, wrappedKey, secret"
        try database.execute(
            sql: """
                INSERT INTO quarantine (at, \(columns))
                SELECT ?, \(columns) FROM item WHERE rowid = ? AND (version = ? OR ? IS NULL)
                """, arguments: [date.timeIntervalSinceReferenceDate, rowID, version, version])
        try database.execute(
            sql: "DELETE FROM item WHERE rowid = ? AND (version = ? OR ? IS NULL)",
            arguments: [rowID, version, version])
    }

    func putAside(_ row: ItemRow, at date: Date) throws {
        guard let rowID = row.rowID else { return }
        try putAside(rowID: rowID, version: row.version, at: date)
    }
}
