import CSQLite
import Foundation

/// The table of items as the keychain has it: two keys and two indexes of random bytes, and a count by a trigger.
///
/// Nothing but what SQLite itself does for one row, in one transaction with one sync.
final class KeychainTable {
    private var handle: OpaquePointer?
    private var add: OpaquePointer?
    private let blob = [UInt8](repeating: 0x5A, count: 300)

    /// Opens the database, or makes it with `rows` rows.
    init(path: String, rows: Int) throws {
        let isNew = !FileManager.default.fileExists(atPath: path)
        try check(sqlite3_open(path, &handle))
        try run("PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON")
        if isNew {
            try run(
                """
                CREATE TABLE item (
                    id INTEGER PRIMARY KEY, class TEXT, identifier BLOB UNIQUE, identity BLOB UNIQUE, agrp BLOB, svce BLOB,
                    acct BLOB, labl BLOB, metadata BLOB, wrappedKey BLOB, secret BLOB);
                CREATE INDEX item_service ON item (class, agrp, svce, acct) WHERE class = 'genp';
                CREATE INDEX item_account ON item (class, agrp, acct);
                CREATE TABLE use (class TEXT, agrp BLOB, items INTEGER, bytes INTEGER, PRIMARY KEY (class, agrp)) WITHOUT ROWID;
                INSERT INTO use VALUES ('genp', x'00', 0, 0);
                CREATE TRIGGER item_inserted AFTER INSERT ON item BEGIN
                    UPDATE use SET items = items + 1, bytes = bytes + length(new.metadata);
                END;
                """)
        }
        try check(
            sqlite3_prepare_v2(
                handle,
                """
                INSERT INTO item (class, identifier, identity, agrp, svce, acct, labl, metadata, wrappedKey, secret)
                VALUES ('genp', randomblob(16), ?, x'00', x'01', ?, NULL, ?, ?, ?)
                """, -1, &add, nil))
        if isNew {
            try run("BEGIN")
            for _ in 0..<rows { try insert(tags: Self.random) }
            try run("COMMIT")
        }
        try run("PRAGMA synchronous = FULL")
    }

    deinit {
        sqlite3_finalize(add)
        sqlite3_close(handle)
    }

    private static var random: [Data] { (0..<2).map { _ in Data((0..<16).map { _ in .random(in: 0...255) }) } }

    /// Of the tags the first two are the row's; they have 16 bytes, and no other row has them.
    func insert(tags: [Data]) throws {
        for place in 0..<2 {
            let key = [UInt8](tags[place])
            sqlite3_bind_blob(add, Int32(place + 1), key, Int32(key.count), transient)
        }
        for (place, count) in [(3, 300), (4, 106), (5, 100)] {
            sqlite3_bind_blob(add, Int32(place), blob, Int32(count), transient)
        }
        guard sqlite3_step(add) == SQLITE_DONE else { throw FloorError(String(cString: sqlite3_errmsg(handle))) }
        try check(sqlite3_reset(add))
    }

    func deleteRows(from number: Int) throws { try run("DELETE FROM item WHERE id > \(number)") }

    private func run(_ sql: String) throws { try check(sqlite3_exec(handle, sql, nil, nil, nil)) }

    private func check(_ code: Int32) throws {
        guard code == SQLITE_OK else { throw FloorError(String(cString: sqlite3_errstr(code))) }
    }

    /// SQLite's marker for "copy these bytes", a macro that Swift does not import.
    private let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}
