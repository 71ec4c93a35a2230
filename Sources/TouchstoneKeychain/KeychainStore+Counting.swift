import Foundation
import GRDB
import TouchstoneCore
import TouchstoneInterfaces

/// What each access group keeps: counted by the database itself, in the transaction of each change.
extension KeychainStore {
    /// Tables and triggers of migration 3; it never changes.
    ///
    /// A row without a readable group is nobody's. No `ON CONFLICT` is here, which the statement that fires a trigger would overrule.
    static let countingSchema = """
        CREATE TABLE use (
            class TEXT NOT NULL, agrp BLOB NOT NULL, items INTEGER, bytes INTEGER, PRIMARY KEY (class, agrp)
        ) WITHOUT ROWID;
        CREATE TABLE quota (agrp BLOB PRIMARY KEY, name BLOB, items INTEGER, bytes INTEGER) WITHOUT ROWID;
        CREATE TRIGGER item_inserted AFTER INSERT ON item WHEN new.agrp IS NOT NULL BEGIN
            \(counted("new"))
        END;
        CREATE TRIGGER item_deleted AFTER DELETE ON item WHEN old.agrp IS NOT NULL BEGIN
            \(uncounted("old"))
        END;
        CREATE TRIGGER item_left AFTER UPDATE ON item WHEN old.agrp IS NOT NULL BEGIN
            \(uncounted("old"))
        END;
        CREATE TRIGGER item_entered AFTER UPDATE ON item WHEN new.agrp IS NOT NULL BEGIN
            \(counted("new"))
        END;
        """

    private static func size(_ row: String) -> String {
        "(ifnull(length(\(row).metadata), 0) + ifnull(length(\(row).wrappedKey), 0) + ifnull(length(\(row).secret), 0))"
    }

    private static func counted(_ row: String) -> String {
        """
        INSERT INTO use (class, agrp, items, bytes) SELECT \(row).class, \(row).agrp, 0, 0
            WHERE NOT EXISTS (SELECT 1 FROM use WHERE class = \(row).class AND agrp = \(row).agrp);
        UPDATE use SET items = items + 1, bytes = bytes + \(size(row))
            WHERE class = \(row).class AND agrp = \(row).agrp;
        """
    }

    private static func uncounted(_ row: String) -> String {
        """
        UPDATE use SET items = items - 1, bytes = bytes - \(size(row))
            WHERE class = \(row).class AND agrp = \(row).agrp;
        DELETE FROM use WHERE class = \(row).class AND agrp = \(row).agrp AND items <= 0;
        """
    }

    private static let count = """
        SELECT class, agrp, count(*) AS items, sum(\(size("item"))) AS bytes FROM item
        WHERE agrp IS NOT NULL GROUP BY class, agrp
        """

    /// Counts all rows anew.
    static func recount(_ database: Database) throws {
        try database.execute(sql: "DELETE FROM use; INSERT INTO use (class, agrp, items, bytes) \(count)")
    }

    /// How many groups of a class are not as they are counted; 0 too for a database from before there was a count.
    static func miscounted(_ database: Database) throws -> Int {
        guard try database.tableExists("use") else { return 0 }
        let rows = "SELECT class, agrp, items, bytes FROM use"
        return try Int.fetchOne(
            database,
            sql: """
                SELECT count(*) FROM (
                    SELECT class, agrp FROM (SELECT * FROM (\(rows)) EXCEPT SELECT * FROM (\(count)))
                    UNION SELECT class, agrp FROM (SELECT * FROM (\(count)) EXCEPT SELECT * FROM (\(rows))))
                """) ?? 0
    }

    // MARK: reading

    /// What a group keeps of each class that is stored, and its limit if the owner has set one.
    static let useQuery = """
        \(ItemClass.stored.map { _ in "SELECT 0, items, bytes FROM use WHERE class = ? AND agrp = ?" }
            .joined(separator: " UNION ALL "))
        UNION ALL SELECT 1, items, bytes FROM quota WHERE agrp = ?
        """

    /// One group's items of one class.
    struct ClassUse {
        var itemClass: String
        var groupTag: Data
        var used: BackupInterface.Storage
    }

    /// Every group that keeps anything.
    func uses() throws -> [ClassUse] {
        try inspect { database in
            try Row.fetchAll(database, sql: "SELECT class, agrp, items, bytes FROM use ORDER BY agrp").compactMap {
                // The file may be another's work.
                guard let itemClass = String.fromDatabaseValue($0["class"]),
                    let tag = Data.fromDatabaseValue($0[AttributeKey.accessGroup.rawValue])
                else { return nil }
                return ClassUse(itemClass: itemClass, groupTag: tag, used: Self.storage($0))
            }
        }
    }

    /// The limits that the owner has set, by the groups' tags; the names are sealed.
    func limits() throws -> [(groupTag: Data, name: Data, limit: BackupInterface.Storage)] {
        try inspect { database in
            try Row.fetchAll(database, sql: "SELECT agrp, name, items, bytes FROM quota").compactMap {
                guard let tag = Data.fromDatabaseValue($0[AttributeKey.accessGroup.rawValue]),
                    let name = Data.fromDatabaseValue($0["name"])
                else {
                    return nil
                }
                return (tag, name, Self.storage($0))
            }
        }
    }

    /// One of a group's rows of these protection classes, by which its name is known.
    func anyRow(_ itemClass: String, groupTag: Data, _ classes: [String]) throws -> ItemRow? {
        try inspect { database in
            let places = Array(repeating: "?", count: classes.count).joined(separator: ", ")
            return try Row.fetchOne(
                database,
                sql: """
                    SELECT \(ItemRow.columnsWithoutSecret) FROM item
                    WHERE class = ? AND agrp = ? AND pdmn IN (\(places)) LIMIT 1
                    """,
                arguments: StatementArguments([itemClass, groupTag] as [any DatabaseValueConvertible])
                    + StatementArguments(classes)
            ).flatMap { ItemRow($0) }
        }
    }

    fileprivate static func storage(_ row: Row) -> BackupInterface.Storage {
        storage(Int64.fromDatabaseValue(row["items"]), Int64.fromDatabaseValue(row["bytes"]))
    }

    /// What two numbers of the file say.
    ///
    /// A damaged file may say anything, so they are brought to where sums of many do not overflow.
    fileprivate static func storage(_ items: Int64?, _ bytes: Int64?) -> BackupInterface.Storage {
        func sane(_ number: Int64?) -> Int { Int(min(max(number ?? 0, 0), 1 << 53)) }
        return .init(items: sane(items), bytes: sane(bytes))
    }
}

extension KeychainStore.KeychainWriter {
    /// What a group keeps, of all classes, and what it may keep.
    func use(of tags: GroupTags) throws -> (used: BackupInterface.Storage, limit: BackupInterface.Storage) {
        let values = tags.byClass.flatMap { [.text($0.itemClass.rawValue), .blob($0.tag)] as [StoreStatement.Value?] }
        var used = BackupInterface.Storage(items: 0, bytes: 0)
        var limit = BackupInterface.Storage.ofEveryApp
        try turn.statement(.use).forEachRow(values + [.blob(tags.name)]) { row in
            let storage = KeychainStore.storage(row.integer(1), row.integer(2))
            if row.integer(0) == 1 {
                limit = storage
            } else {
                used.items += storage.items
                used.bytes += storage.bytes
            }
            return true
        }
        return (used, limit)
    }

    /// Sets what a group may keep; nil: as much as every other.
    ///
    /// - Throws: `Status.diskFull` where the owner has set as many limits as are kept.
    func setLimit(_ limit: BackupInterface.Storage?, of tags: GroupTags, sealedName: Data) throws {
        try database.execute(sql: "DELETE FROM quota WHERE agrp = ?", arguments: [tags.name])
        guard let limit else { return }
        let count = try Int.fetchOne(database, sql: "SELECT count(*) FROM quota") ?? 0
        guard count < BackupInterface.maximumLimits else { throw Status.diskFull }
        try database.execute(
            sql: "INSERT INTO quota (agrp, name, items, bytes) VALUES (?, ?, ?, ?)",
            arguments: [tags.name, sealedName, limit.items, limit.bytes])
    }
}

/// The tags of one access group: rows of each class have another.
struct GroupTags {
    var byClass: [(itemClass: ItemClass, tag: Data)]

    /// The one that stands for the group where no class is meant.
    var name: Data { byClass.first?.tag ?? Data() }

    init(_ group: AccessGroup, key: LookupKey) {
        byClass = ItemClass.stored.compactMap { itemClass in
            itemClass.attribute(.accessGroup).map {
                (itemClass, ItemCipher.tag($0, .string(group.rawValue), in: itemClass, key: key))
            }
        }
    }
}
