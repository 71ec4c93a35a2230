import Foundation
import GRDB
import TouchstoneCircle
import TouchstoneCore
import TouchstoneInterfaces

/// What touchstoned keeps of the circle: sealed records and heads, what the keychain shows of them, and which rows were changed since.
///
/// Numbers of 64 bits are kept as SQLite's, which are signed.
enum CircleTables {
    /// Of migration 5; it never changes.
    ///
    /// A trigger notes each row that synchronizes in the transaction that changes it, so that no change is ever missed. `circle_tag` says which rows
    /// these are, and is empty on a device that is in no circle. No `ON CONFLICT` is here, which the statement that fires a trigger would
    /// overrule.
    static let schema = """
        CREATE TABLE circle_state (
            id INTEGER PRIMARY KEY, member BLOB, circle BLOB, first INTEGER, counter INTEGER, clock INTEGER, contact INTEGER
        );
        CREATE TABLE circle_tag (class TEXT, tag BLOB, PRIMARY KEY (class, tag)) WITHOUT ROWID;
        CREATE TABLE circle_change (
            number INTEGER PRIMARY KEY AUTOINCREMENT, identifier BLOB NOT NULL, initial INTEGER NOT NULL DEFAULT 0
        );
        CREATE INDEX circle_change_identifier ON circle_change (identifier);
        CREATE TABLE circle_record (
            member BLOB, counter INTEGER, name BLOB, clock INTEGER, tombstone INTEGER, bytes BLOB,
            PRIMARY KEY (member, counter)
        );
        CREATE TABLE circle_member (member BLOB PRIMARY KEY, head BLOB, seen INTEGER, whole INTEGER, fault TEXT, waited INTEGER);
        CREATE TABLE circle_item (
            name BLOB PRIMARY KEY, member BLOB, counter INTEGER, identifier BLOB, version BLOB
        );
        CREATE INDEX circle_item_identifier ON circle_item (identifier);
        CREATE TABLE circle_object (
            number INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT, counter INTEGER, dropped INTEGER NOT NULL DEFAULT 0
        );
        CREATE INDEX circle_object_counter ON circle_object (kind, counter);
        CREATE TABLE circle_replaced (number INTEGER PRIMARY KEY AUTOINCREMENT, at REAL, name BLOB, bytes BLOB);
        CREATE TRIGGER circle_inserted AFTER INSERT ON item
            WHEN EXISTS (SELECT 1 FROM circle_tag WHERE class = new.class AND tag = new.sync) BEGIN
            \(noted("new"))
        END;
        CREATE TRIGGER circle_deleted AFTER DELETE ON item
            WHEN EXISTS (SELECT 1 FROM circle_tag WHERE class = old.class AND tag = old.sync) BEGIN
            \(noted("old"))
        END;
        CREATE TRIGGER circle_updated AFTER UPDATE OF version ON item
            WHEN EXISTS (SELECT 1 FROM circle_tag WHERE class = new.class AND tag = new.sync) BEGIN
            \(noted("new"))
        END;
        """

    /// Of migration 6; it never changes (DEC-588).
    ///
    /// What other devices still need of a group's items is counted by the tag of the group, as its items are. A tombstone, or the shortest
    /// record, counts as an item without bytes, so that no record counts for much more than its row.
    static let countingSchema = """
        ALTER TABLE circle_change ADD COLUMN agrp BLOB;
        ALTER TABLE circle_record ADD COLUMN agrp BLOB;
        CREATE TABLE circle_use (agrp BLOB PRIMARY KEY, items INTEGER, bytes INTEGER) WITHOUT ROWID;
        CREATE TRIGGER circle_record_inserted AFTER INSERT ON circle_record WHEN new.agrp IS NOT NULL BEGIN
            INSERT INTO circle_use (agrp, items, bytes) SELECT new.agrp, 0, 0
                WHERE NOT EXISTS (SELECT 1 FROM circle_use WHERE agrp = new.agrp);
            UPDATE circle_use SET items = items + 1, bytes = bytes + max(length(new.bytes) - 1024, 0)
                WHERE agrp = new.agrp;
        END;
        CREATE TRIGGER circle_record_deleted AFTER DELETE ON circle_record WHEN old.agrp IS NOT NULL BEGIN
            UPDATE circle_use SET items = items - 1, bytes = bytes - max(length(old.bytes) - 1024, 0)
                WHERE agrp = old.agrp;
            DELETE FROM circle_use WHERE agrp = old.agrp AND items <= 0;
        END;
        DROP TRIGGER circle_inserted;
        DROP TRIGGER circle_deleted;
        DROP TRIGGER circle_updated;
        CREATE TRIGGER circle_inserted AFTER INSERT ON item
            WHEN EXISTS (SELECT 1 FROM circle_tag WHERE class = new.class AND tag = new.sync) BEGIN
            \(notedWithGroup("new"))
        END;
        CREATE TRIGGER circle_deleted AFTER DELETE ON item
            WHEN EXISTS (SELECT 1 FROM circle_tag WHERE class = old.class AND tag = old.sync) BEGIN
            \(notedWithGroup("old"))
        END;
        CREATE TRIGGER circle_updated AFTER UPDATE OF version ON item
            WHEN EXISTS (SELECT 1 FROM circle_tag WHERE class = new.class AND tag = new.sync) BEGIN
            \(notedWithGroup("new"))
        END;
        """

    private static func notedWithGroup(_ row: String) -> String {
        """
        DELETE FROM circle_change WHERE identifier = \(row).identifier;
        INSERT INTO circle_change (identifier, agrp) VALUES (\(row).identifier, \(row).agrp);
        """
    }

    private static func noted(_ row: String) -> String {
        """
        DELETE FROM circle_change WHERE identifier = \(row).identifier;
        INSERT INTO circle_change (identifier) VALUES (\(row).identifier);
        """
    }

    /// Forgets all of it.
    static func clear(_ database: Database) throws {
        for table in ["state", "tag", "change", "record", "member", "item", "object", "replaced", "use"] {
            try database.execute(sql: "DELETE FROM circle_\(table)")
        }
    }

    // MARK: values

    static func signed(_ value: UInt64) -> Int64 { Int64(bitPattern: value) }
    /// Of counters, and of times in milliseconds: as in a record (docs/sync-format.md).
    private static let largest: Int64 = 1 << 53
    /// A counter or a time; nil for what nobody writes there, so that nothing is ever added to it.
    private static func number(_ value: DatabaseValue) -> UInt64? {
        Int64.fromDatabaseValue(value).flatMap { 0...largest ~= $0 ? UInt64($0) : nil }
    }
    private static func clock(_ value: DatabaseValue) -> ClockTime? {
        Int64.fromDatabaseValue(value).flatMap { UInt64(exactly: $0) }.map { ClockTime(bits: $0) }
    }

    /// What the keychain shows of an item: a version, and the row that has it; without a row nothing.
    struct Shown {
        var member: MemberID
        var counter: UInt64
        var identifier: Data?
        var version: Data?
    }

    /// A row that was changed.
    struct Change {
        var number: Int64
        var identifier: Data
        /// It was there before the device came into the circle.
        var isInitial: Bool
        /// The tag of the item's group.
        var group: Data?
    }

    // MARK: reading

    /// The device's identifier and its circle's, and where its counters began; nil: nothing is kept.
    static func state(_ database: Database) throws -> (member: Data, circle: Data)? {
        try Row.fetchOne(database, sql: "SELECT member, circle FROM circle_state").flatMap {
            guard let member = Data.fromDatabaseValue($0["member"]), let circle = Data.fromDatabaseValue($0["circle"])
            else { return nil }
            return (member, circle)
        }
    }

    /// Of a damaged number nothing is said, and a record whose numbers are damaged is left out.
    static func kept(_ database: Database, identity: (MemberID) -> MemberIdentity?) throws -> Ledger.Kept {
        var kept = Ledger.Kept()
        if let row = try Row.fetchOne(database, sql: "SELECT first, counter, clock, contact FROM circle_state") {
            kept.first = number(row["first"]) ?? 0
            kept.counter = number(row["counter"]) ?? 0
            kept.clock = clock(row["clock"]) ?? kept.clock
            kept.lastContact = number(row["contact"])
        }
        let versions = try Row.fetchCursor(
            database, sql: "SELECT member, counter, name, clock, tombstone FROM circle_record")
        while let row = try versions.next() {
            guard let member = Data.fromDatabaseValue(row["member"]), let name = Data.fromDatabaseValue(row["name"]),
                let counter = number(row["counter"]), let clock = clock(row["clock"])
            else { continue }
            kept.versions.append(
                RecordVersion(
                    name: RecordName(bytes: name), member: MemberID(bytes: member), counter: counter, clock: clock,
                    isTombstone: Int64.fromDatabaseValue(row["tombstone"]) == 1))
        }
        for row in try Row.fetchAll(database, sql: "SELECT member, head, seen, whole, fault, waited FROM circle_member")
        {
            guard let member = Data.fromDatabaseValue(row["member"]).map({ MemberID(bytes: $0) }) else { continue }
            // Without them its head is looked at once more.
            kept.seen[member] = number(row["seen"]) ?? 0
            kept.whole[member] = number(row["whole"]) ?? 0
            kept.faults[member] = String.fromDatabaseValue(row["fault"]).flatMap(Ledger.Fault.init)
            kept.waitedForSince[member] = number(row["waited"])
            if let bytes = Data.fromDatabaseValue(row["head"]),
                let head = try? MemberHead(bytes, identity: identity)
            {
                kept.heads.append(head)
            }
        }
        let shown = try Row.fetchCursor(database, sql: "SELECT name, member, counter FROM circle_item")
        while let row = try shown.next() {
            guard let member = Data.fromDatabaseValue(row["member"]), let name = Data.fromDatabaseValue(row["name"]),
                let counter = number(row["counter"])
            else { continue }
            kept.shown[RecordName(bytes: name)] = (MemberID(bytes: member), counter)
        }
        return kept
    }

    /// The oldest changes after a number.
    static func changes(after number: Int64, count: Int, _ database: Database) throws -> [Change] {
        try Row.fetchAll(
            database,
            sql: "SELECT number, identifier, initial, agrp FROM circle_change WHERE number > ? ORDER BY number LIMIT ?",
            arguments: [number, count]
        ).compactMap { row in
            guard let number = Int64.fromDatabaseValue(row["number"]),
                let identifier = Data.fromDatabaseValue(row["identifier"])
            else { return nil }
            return Change(
                number: number, identifier: identifier, isInitial: Int64.fromDatabaseValue(row["initial"]) == 1,
                group: Data.fromDatabaseValue(row[AttributeKey.accessGroup.rawValue]))
        }
    }

    static func isChanged(_ identifier: Data, _ database: Database) throws -> Bool {
        try Row.fetchOne(
            database, sql: "SELECT 1 FROM circle_change WHERE identifier = ?", arguments: [identifier]) != nil
    }

    static func shown(_ name: RecordName, _ database: Database) throws -> Shown? {
        try Row.fetchOne(
            database, sql: "SELECT member, counter, identifier, version FROM circle_item WHERE name = ?",
            arguments: [name.bytes]
        ).flatMap { row in
            guard let member = Data.fromDatabaseValue(row["member"]), let counter = number(row["counter"])
            else { return nil }
            return Shown(
                member: MemberID(bytes: member), counter: counter,
                identifier: Data.fromDatabaseValue(row["identifier"]), version: Data.fromDatabaseValue(row["version"]))
        }
    }

    /// The name that a row is shown as, and its version then.
    static func name(ofRow identifier: Data, _ database: Database) throws -> (name: RecordName, version: Data?)? {
        try Row.fetchOne(
            database, sql: "SELECT name, version FROM circle_item WHERE identifier = ?", arguments: [identifier]
        ).flatMap { row in
            Data.fromDatabaseValue(row["name"]).map {
                (RecordName(bytes: $0), Data.fromDatabaseValue(row["version"]))
            }
        }
    }

    static func row(identifier: Data, _ database: Database) throws -> ItemRow? {
        try Row.fetchOne(
            database, sql: "SELECT \(ItemRow.columns) FROM item WHERE identifier = ?", arguments: [identifier]
        ).flatMap { ItemRow($0) }
    }

    /// How many items have records of which the keychain shows none.
    static func unshown(_ database: Database) throws -> Int {
        try Int.fetchOne(
            database,
            sql: """
                SELECT count(DISTINCT name) FROM circle_record r
                WHERE tombstone = 0 AND NOT EXISTS (SELECT 1 FROM circle_item i WHERE i.name = r.name)
                """) ?? 0
    }

    static func bytes(of member: MemberID, _ counter: UInt64, _ database: Database) throws -> Data? {
        try Data.fetchOne(
            database, sql: "SELECT bytes FROM circle_record WHERE member = ? AND counter = ?",
            arguments: [member.bytes, signed(counter)])
    }

    /// Counters of a member's records that the keychain shows and that are not of this epoch, the oldest first.
    static func counters(of member: MemberID, notOf epoch: UInt32, count: Int, _ database: Database) throws -> [UInt64]
    {
        try DatabaseValue.fetchAll(
            database,
            sql: """
                SELECT r.counter FROM circle_record r
                    JOIN circle_item i ON i.name = r.name AND i.member = r.member AND i.counter = r.counter
                WHERE r.member = ? AND substr(r.bytes, ?, 4) != ? ORDER BY r.counter LIMIT ?
                """,
            arguments: [
                member.bytes, SealedRecord.epochOffset + 1,
                Data((0..<4).map { UInt8(truncatingIfNeeded: epoch >> (8 * $0)) }), count,
            ]
        ).compactMap { number($0) }
    }

    /// An own object, by its place among those that the store is told of.
    struct Object {
        var number: Int64
        var isHead: Bool
        var counter: UInt64
        /// nil: it is to be dropped.
        var bytes: Data?
    }

    /// The next ones, until they have more than `longest` bytes.
    static func objects(
        after number: Int64, of me: MemberID, count: Int, longest: Int, _ database: Database
    ) throws -> [Object] {
        let rows = try Row.fetchCursor(
            database,
            sql: """
                SELECT number, kind, o.counter, dropped,
                    CASE WHEN dropped THEN NULL WHEN kind = 'head'
                        THEN (SELECT head FROM circle_member WHERE member = ?)
                        ELSE (SELECT bytes FROM circle_record r WHERE r.member = ? AND r.counter = o.counter) END AS bytes
                FROM circle_object o WHERE number > ? ORDER BY number LIMIT ?
                """, arguments: [me.bytes, me.bytes, number, count])
        var (objects, bytes): ([Object], Int) = ([], 0)
        while bytes <= longest, let row = try rows.next() {
            guard let number = Int64.fromDatabaseValue(row["number"]), let counter = Self.number(row["counter"])
            else { continue }
            objects.append(
                Object(
                    number: number, isHead: String.fromDatabaseValue(row["kind"]) == "head", counter: counter,
                    bytes: Data.fromDatabaseValue(row["bytes"])))
            bytes += objects.last?.bytes?.count ?? 0
        }
        return objects
    }

    static func newestObject(_ database: Database) throws -> Int64 {
        try Int64.fetchOne(database, sql: "SELECT max(number) FROM circle_object") ?? 0
    }

    // MARK: writing

    /// Begins with a circle: everything that synchronizes is a change.
    static func begin(
        member: MemberID, circle: Data, first: UInt64, contact: UInt64?, tags: [(itemClass: ItemClass, tag: Data)],
        _ database: Database
    ) throws {
        try clear(database)
        try database.execute(
            sql:
                "INSERT INTO circle_state (id, member, circle, first, counter, clock, contact) VALUES (1, ?, ?, ?, ?, 0, ?)",
            arguments: [member.bytes, circle, signed(first), signed(first), contact.map { signed($0) }])
        for (itemClass, tag) in tags {
            try database.execute(
                sql: "INSERT INTO circle_tag (class, tag) VALUES (?, ?)", arguments: [itemClass.rawValue, tag])
            try database.execute(
                sql: """
                    INSERT INTO circle_change (identifier, initial, agrp)
                    SELECT identifier, 1, agrp FROM item WHERE class = ? AND sync = ? ORDER BY rowid
                    """, arguments: [itemClass.rawValue, tag])
        }
    }

    /// Keeps a record; `group` is the tag of whose app wrote it here, or nil if it counts for nobody.
    static func save(_ version: RecordVersion, bytes: Data, group: Data? = nil, _ database: Database) throws {
        // Not REPLACE, which fires no trigger for what it deletes.
        try delete(version, database)
        try database.execute(
            sql: """
                INSERT INTO circle_record (member, counter, name, clock, tombstone, bytes, agrp)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                version.member.bytes, signed(version.counter), version.name.bytes, signed(version.clock.bits),
                version.isTombstone ? 1 : 0, bytes, group,
            ])
    }

    /// The tag of the group whose app wrote a record here.
    static func group(of version: RecordVersion, _ database: Database) throws -> Data? {
        try Data.fetchOne(
            database, sql: "SELECT agrp FROM circle_record WHERE member = ? AND counter = ?",
            arguments: [version.member.bytes, signed(version.counter)])
    }

    /// How many records there are that a group's apps wrote here, and how large they are.
    static func use(of tags: GroupTags, _ database: Database) throws -> BackupInterface.Storage {
        var used = BackupInterface.Storage(items: 0, bytes: 0)
        for (_, tag) in tags.byClass {
            let row = try Row.fetchOne(
                database, sql: "SELECT items, bytes FROM circle_use WHERE agrp = ?", arguments: [tag])
            used.items += row.flatMap { number($0["items"]) }.map { Int($0) } ?? 0
            used.bytes += row.flatMap { number($0["bytes"]) }.map { Int($0) } ?? 0
        }
        return used
    }

    static func delete(_ version: RecordVersion, _ database: Database) throws {
        try database.execute(
            sql: "DELETE FROM circle_record WHERE member = ? AND counter = ?",
            arguments: [version.member.bytes, signed(version.counter)])
    }

    /// Deletes records that the ledger does not have, because it has them no more or they are damaged.
    static func deleteRecords(notIn ledger: Ledger, _ database: Database) throws {
        for row in try Row.fetchAll(database, sql: "SELECT rowid, member, counter FROM circle_record") {
            if let member = Data.fromDatabaseValue(row["member"]), let counter = number(row["counter"]),
                ledger.contains(member: MemberID(bytes: member), counter: counter)
            {
                continue
            }
            try database.execute(
                sql: "DELETE FROM circle_record WHERE rowid = ?", arguments: [row["rowid"] as DatabaseValue])
        }
    }

    /// Lists an own object as the newest: to be put into the store, or to be deleted there.
    static func list(isHead: Bool, counter: UInt64, isDropped: Bool = false, _ database: Database) throws {
        let kind = isHead ? "head" : "record"
        try database.execute(
            sql: "DELETE FROM circle_object WHERE kind = ? AND counter = ?", arguments: [kind, signed(counter)])
        try database.execute(
            sql: "INSERT INTO circle_object (kind, counter, dropped) VALUES (?, ?, ?)",
            arguments: [kind, signed(counter), isDropped ? 1 : 0])
    }

    /// Deletes records that are needed no more; the store drops those of this device.
    static func drop(_ versions: [RecordVersion], of me: MemberID, _ database: Database) throws {
        for version in versions {
            try delete(version, database)
            if version.member == me {
                try list(isHead: false, counter: version.counter, isDropped: true, database)
            }
        }
        if !versions.isEmpty { try forgetDropped(database) }
    }

    static let maximumDropped = 10_000

    /// Forgets what was to be dropped long ago.
    private static func forgetDropped(_ database: Database) throws {
        try database.execute(
            sql: """
                DELETE FROM circle_object WHERE dropped = 1 AND number <
                    (SELECT number FROM circle_object WHERE dropped = 1 ORDER BY number DESC LIMIT 1 OFFSET ?)
                """, arguments: [maximumDropped])
    }

    static func show(_ name: RecordName, _ shown: Shown, _ database: Database) throws {
        try database.execute(
            sql: """
                INSERT OR REPLACE INTO circle_item (name, member, counter, identifier, version) VALUES (?, ?, ?, ?, ?)
                """,
            arguments: [name.bytes, shown.member.bytes, signed(shown.counter), shown.identifier, shown.version])
    }

    static func hide(_ name: RecordName, _ database: Database) throws {
        try database.execute(sql: "DELETE FROM circle_item WHERE name = ?", arguments: [name.bytes])
    }

    /// What was in the keychain until another device's version took its place (SY-20).
    static func keepReplaced(_ name: RecordName, _ bytes: Data, at time: Double, _ database: Database) throws {
        try database.execute(
            sql: "DELETE FROM circle_replaced WHERE at < ?", arguments: [time - replacedSeconds])
        try database.execute(
            sql: "INSERT INTO circle_replaced (at, name, bytes) VALUES (?, ?, ?)", arguments: [time, name.bytes, bytes])
        // Two devices that change an item by turns do not fill the disk.
        try database.execute(
            sql: """
                DELETE FROM circle_replaced WHERE name = ? AND rowid NOT IN
                    (SELECT rowid FROM circle_replaced WHERE name = ? ORDER BY at DESC LIMIT 10)
                """, arguments: [name.bytes, name.bytes])
    }

    struct Replaced {
        var number: Int64
        var at: Double
        var name: RecordName
        var bytes: Data
    }

    private static let replacedColumns = "SELECT number, at, name, bytes FROM circle_replaced WHERE at >= ?"

    private static func replaced(_ row: Row) -> Replaced? {
        guard let number = Int64.fromDatabaseValue(row["number"]), let at = Double.fromDatabaseValue(row["at"]),
            let name = Data.fromDatabaseValue(row["name"]), let bytes = Data.fromDatabaseValue(row["bytes"])
        else { return nil }
        return Replaced(number: number, at: at, name: RecordName(bytes: name), bytes: bytes)
    }

    /// Those that are kept at `time`, the newest first, before a number; nil: from the newest.
    static func replaced(
        before number: Int64?, at time: Double, count: Int, longest: Int, _ database: Database
    ) throws -> [Replaced] {
        let rows = try Row.fetchCursor(
            database, sql: "\(replacedColumns) AND number < ? ORDER BY number DESC LIMIT ?",
            arguments: [time - replacedSeconds, number ?? .max, count])
        var (found, bytes): ([Replaced], Int) = ([], 0)
        while bytes <= longest, let row = try rows.next() {
            guard let one = replaced(row) else { continue }
            found.append(one)
            bytes += one.bytes.count
        }
        return found
    }

    static func replaced(numbered number: Int64, at time: Double, _ database: Database) throws -> Replaced? {
        try Row.fetchOne(
            database, sql: "\(replacedColumns) AND number = ?", arguments: [time - replacedSeconds, number]
        ).flatMap(replaced)
    }

    /// Thirty days.
    private static let replacedSeconds = 30.0 * 86400

    /// What the ledger has beside its versions.
    static func save(_ ledger: Ledger, _ database: Database) throws {
        try database.execute(
            sql: "UPDATE circle_state SET counter = ?, clock = ?, contact = ?",
            arguments: [
                signed(ledger.counter), signed(ledger.newestClock.bits), ledger.lastContact.map { signed($0) },
            ])
        for member in Set(ledger.seen.keys).union(ledger.faults.keys).union(ledger.membership.members) {
            try database.execute(
                sql:
                    "INSERT INTO circle_member (member) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM circle_member WHERE member = ?)",
                arguments: [member.bytes, member.bytes])
            try database.execute(
                sql: "UPDATE circle_member SET seen = ?, whole = ?, fault = ?, waited = ? WHERE member = ?",
                arguments: [
                    signed(ledger.seen[member] ?? 0), signed(ledger.whole[member] ?? 0),
                    ledger.faults[member]?.rawValue,
                    ledger.waitedForSince[member].map { signed($0) }, member.bytes,
                ])
        }
    }

    static func save(head bytes: Data, of member: MemberID, _ database: Database) throws {
        try database.execute(
            sql: """
                INSERT INTO circle_member (member, head, seen) VALUES (?, ?, 0)
                ON CONFLICT (member) DO UPDATE SET head = excluded.head
                """, arguments: [member.bytes, bytes])
    }

    static func forgetChange(numbered number: Int64, _ database: Database) throws {
        try database.execute(sql: "DELETE FROM circle_change WHERE number = ?", arguments: [number])
    }

    static func forgetChange(of identifier: Data, _ database: Database) throws {
        try database.execute(sql: "DELETE FROM circle_change WHERE identifier = ?", arguments: [identifier])
    }
}
