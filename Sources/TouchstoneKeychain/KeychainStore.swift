package import Foundation
import GRDB
import Synchronization
import TouchstoneCore

/// One row: ciphertext, tags, and what must be known to open it.
///
/// No attribute is here in the clear but the protection class.
struct ItemRow: Sendable {
    var rowID: Int64?
    var itemClass: ItemClass
    var identifier: ItemIdentifier
    var version: Data
    var accessibility: Accessibility
    var identityTag: Data
    var metadata: Data
    var wrappedKey: Data
    var secret: Data?
    var tags: [AttributeKey: Data]
    /// The length of the secret, also where it was not read.
    var secretBytes = 0
    /// Whether it has an access control that asks for a proof: in a row that is to be saved, or was read as one of a page.
    var isGuarded = false

    /// What it counts for in its group's quota.
    var storedBytes: Int { metadata.count + wrappedKey.count + (secret?.count ?? secretBytes) }

    var binding: ItemCipher.Binding {
        ItemCipher.Binding(itemClass: itemClass, identifier: identifier, version: version)
    }
}

extension ItemRow {
    static let columns =
        "rowid, class, identifier, version, pdmn, identity, metadata, wrappedKey, secret, length(secret)"
    /// A large secret is left out, and its length says that there is one.
    static let columnsWithSmallSecret = """
        rowid, class, identifier, version, pdmn, identity, metadata, wrappedKey,
        CASE WHEN length(secret) <= \(smallSecretBytes) THEN secret END, length(secret)
        """
    private static let smallSecretBytes = 256 << 10
    /// Reads `secret` only if it is of another kind, and so not a secret.
    static let columnsWithoutSecret = """
        rowid, class, identifier, version, pdmn, identity, metadata, wrappedKey,
        CASE WHEN typeof(secret) NOT IN ('blob', 'null') THEN secret END, length(secret)
        """

    /// nil for a row that is not as our schema says: the file may be another's work, and what is no item is absent (KC-16).
    init?(_ row: Row) {
        do {
            guard let itemClass = ItemClass(rawValue: try row.decode(String.self, atIndex: 1)),
                let accessibility = Accessibility(rawValue: try row.decode(String.self, atIndex: 4))
            else { return nil }
            let identifier = try row.decode(Data.self, atIndex: 2)
            let version = try row.decode(Data.self, atIndex: 3)
            guard identifier.count == ItemIdentifier.length, version.count == ItemIdentifier.length else { return nil }
            self.init(
                rowID: try row.decode(Int64.self, atIndex: 0), itemClass: itemClass,
                identifier: ItemIdentifier(bytes: identifier), version: version, accessibility: accessibility,
                identityTag: try row.decode(Data.self, atIndex: 5), metadata: try row.decode(Data.self, atIndex: 6),
                wrappedKey: try row.decode(Data.self, atIndex: 7), secret: try row.decode(Data?.self, atIndex: 8),
                tags: [:],
                secretBytes: try row.decode(Int?.self, atIndex: 9) ?? 0)
        } catch {
            return nil
        }
    }

    /// The same of a statement that reads these columns.
    init?(_ row: StoreStatement) {
        guard let rowID = row.integer(0), let itemClass = row.text(1).flatMap(ItemClass.init(rawValue:)),
            let identifier = row.blob(2), identifier.count == ItemIdentifier.length,
            let version = row.blob(3), version.count == ItemIdentifier.length,
            let accessibility = row.text(4).flatMap(Accessibility.init(rawValue:)),
            let identityTag = row.blob(5), let metadata = row.blob(6), let wrappedKey = row.blob(7)
        else { return nil }
        let secret = row.blob(8)
        guard secret != nil || row.isNull(8) else { return nil }
        self.init(
            rowID: rowID, itemClass: itemClass, identifier: ItemIdentifier(bytes: identifier), version: version,
            accessibility: accessibility, identityTag: identityTag, metadata: metadata, wrappedKey: wrappedKey,
            secret: secret, tags: [:], secretBytes: row.integer(9).map { Int($0) } ?? 0)
    }
}

/// What to look for, as tags.
struct RowFilter {
    var itemClass: ItemClass
    var identifier: ItemIdentifier?
    var accessGroupTags: [Data]
    var accessibility: Accessibility?
    var tags: [AttributeKey: Data]
}

/// Where a search finds its rows: the store as it is from one statement to the next, or within one transaction.
protocol RowSource {
    /// Hands matching rows to `body` until it returns false, in no order, and without their secrets where these are large.
    func scan(_ filter: RowFilter, _ body: (ItemRow) throws -> Bool) throws
    /// Of all matching rows the eight bytes by which they are read later.
    func rowIDs(_ filter: RowFilter) throws -> [Int64]
    /// Those of the rows that are there.
    func rows(_ rowIDs: ArraySlice<Int64>, withSecrets: Bool) throws -> [ItemRow]
}

/// The database of items: SQLite, WAL, durable when a write returns.
///
/// Reads have a connection of their own, so that none waits for a write that is on its way to the disk.
package final class KeychainStore: RowSource, Sendable {
    let writer: StoreConnection
    let reader: StoreConnection
    /// For searches of many rows, which point queries do not wait for.
    let scanner: StoreConnection
    /// nil: in memory.
    let file: URL?
    /// The room on the disk that was set aside; nil: in memory.
    private let room: DatabaseRoom?
    /// Whether a deletion needs no room that the disk may not have.
    package let hasRoom: Bool
    /// nil: in memory.
    let version: DatabaseVersion?
    private let observer = Mutex(Observer())
    let commits = GroupCommit()
    private let erasureCount = Atomic(0)
    /// How often all items were deleted; within a write it is as of that write.
    var erasures: Int { erasureCount.load(ordering: .sequentiallyConsistent) }

    /// In a struct: alone in a `Mutex` a closure is wrapped anew each time it is looked at.
    private struct Observer {
        /// Told after each change that is on the disk.
        var changed: (@Sendable () -> Void)?
        /// The same, for synchronizing.
        var synchronizer: (@Sendable () -> Void)?
        /// Told before each change of rows with an access control.
        var recorder: ItemRecorder?
        /// Told which rows were changed, before anybody hears that they were.
        var openedKeys: OpenedKeys?
    }

    /// In memory, for tests: gone with the object.
    package init() throws {
        file = nil
        room = nil
        hasRoom = true
        version = nil
        writer = StoreConnection(try DatabaseQueue(configuration: Self.configuration()))
        reader = writer
        scanner = writer
        try Self.migrate(writer.queue)
        try Self.noteGuardedRows(writer)
    }

    /// Opens or makes the file, which must lie in a directory that only this user can enter.
    ///
    /// - Throws: `KeychainStoreError` for a directory others can enter, for a database of a newer version, which stays as
    ///   it is, and for one that is damaged beyond use; GRDB's errors.
    package init(file: URL) throws {
        self.file = file
        let directory = file.deletingLastPathComponent().path
        guard let status = try KeychainFile.status(directory) else { throw POSIXError(.ENOENT) }
        guard status.isPrivate else {
            throw KeychainStoreError(description: "\(directory) can be read by others: run chmod go-rwx on it")
        }
        if let status = try KeychainFile.status(file.path) {
            guard status.isPrivate else {
                throw KeychainStoreError(description: "\(file.path) can be read by others: run chmod go-rwx on it")
            }
        } else {
            // SQLite gives its log the mode of the database.
            try KeychainFile.make(file)
        }
        _ = LogIndexRoom.isKept
        // Kept open for as long as the connections are: to close it would end the locks that they hold.
        let room = DatabaseRoom(file)
        self.room = room
        do {
            try Self.checkVersion(file)
            let connect = { (cache: Int) in
                StoreConnection(
                    try DatabaseQueue(path: file.path, configuration: Self.configuration(cacheKibibytes: cache)))
            }
            writer = try connect(Self.writersCache)
            try Self.migrate(writer.queue)
            try Self.noteGuardedRows(writer)
            reader = try connect(Self.readersCache)
            scanner = try connect(Self.readersCache)
            version = DatabaseVersion(file: file)
            hasRoom = room.allocateLog()
        } catch let error as DatabaseError where [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode) {
            throw KeychainStoreError(
                description: "\(file.path) is damaged (\(error.message ?? "no reason given")): "
                    + "run 'touchstone keychain check --repair'")
        }
    }

    /// Pages that a connection keeps in memory, in KiB.
    ///
    /// What a reader does not keep, the kernel's cache of the file has.
    private static let (writersCache, readersCache) = (2048, 512)

    private static func configuration(cacheKibibytes: Int = writersCache) -> Configuration {
        var configuration = Configuration()
        configuration.prepareDatabase { database in
            try database.execute(
                sql: """
                    PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;
                    PRAGMA trusted_schema = OFF; PRAGMA cache_size = -\(cacheKibibytes);
                    """)
        }
        configuration.busyMode = .timeout(5)
        return configuration
    }

    static func migrate(_ queue: DatabaseQueue) throws { try migrator.migrate(queue) }

    /// The versions of the database, oldest first.
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { database in
            // As it was when this was written: what came later is added below.
            let searched: [AttributeKey] = [
                .account, .accessGroup, .alias, .authenticationType, .creator, .hasCustomIcon, .description, .generic,
                .comment, .isInvisible, .label, .isNegative, .path,
                .port, .protectedData, .protocol, .scriptCode, .securityDomain, .server, .service, .synchronizable,
                .tokenID, .type, .syncViewHint,
            ]
            let tags = searched.map { "\"\($0.rawValue)\" BLOB" }.joined(separator: ", ")
            try database.execute(
                sql: """
                    CREATE TABLE item (
                        rowid INTEGER PRIMARY KEY,
                        class TEXT NOT NULL,
                        identifier BLOB NOT NULL UNIQUE,
                        version BLOB NOT NULL,
                        pdmn TEXT NOT NULL,
                        identity BLOB NOT NULL UNIQUE,
                        metadata BLOB NOT NULL,
                        wrappedKey BLOB NOT NULL,
                        secret BLOB,
                        \(tags)
                    );
                    CREATE INDEX item_service ON item (class, agrp, svce, acct) WHERE class = 'genp';
                    CREATE INDEX item_server ON item (class, agrp, srvr, acct) WHERE class = 'inet';
                    CREATE INDEX item_account ON item (class, agrp, acct);
                    CREATE INDEX item_label ON item (class, agrp, labl) WHERE labl IS NOT NULL;
                    """)
        }
        // Certificates and keys.
        migrator.registerMigration("2") { database in
            for column in [
                AttributeKey.applicationTag, .keySizeInBits, .certificateType, .effectiveKeySize, .issuer, .keyClass,
                .applicationLabel, .publicKeyHash, .subjectKeyID, .serialNumber, .subject,
            ] {
                try database.execute(sql: "ALTER TABLE item ADD COLUMN \"\(column.rawValue)\" BLOB")
            }
            try database.execute(
                sql: """
                    CREATE INDEX item_key ON item (class, agrp, klbl) WHERE class = 'keys';
                    CREATE INDEX item_applicationTag ON item (class, agrp, atag) WHERE class = 'keys';
                    CREATE INDEX item_issuer ON item (class, agrp, issr, slnr) WHERE class = 'cert';
                    CREATE INDEX item_subject ON item (class, agrp, subj) WHERE class = 'cert';
                    CREATE INDEX item_publicKey ON item (class, agrp, pkhh) WHERE class = 'cert';
                    """)
            // What does not open any more is kept here (KC-16): any column may be anything.
            try database.execute(
                sql: """
                    CREATE TABLE quarantine (
                        rowid INTEGER PRIMARY KEY,
                        at REAL NOT NULL,
                        class, identifier, version, pdmn, identity, metadata, wrappedKey, secret
                    )
                    """)
        }
        // What each access group keeps, and its owner's limits.
        migrator.registerMigration("3") { database in
            try database.execute(sql: Self.countingSchema)
            try Self.recount(database)
        }
        // Which rows have an access control: known also while their class is locked.
        migrator.registerMigration("4") { database in
            try database.execute(
                sql: """
                    ALTER TABLE item ADD COLUMN guarded BLOB;
                    CREATE INDEX item_guarded ON item (class, identifier, version) WHERE guarded IS NOT NULL;
                    """)
        }
        // The circle of devices that synchronize.
        migrator.registerMigration("5") { try $0.execute(sql: CircleTables.schema) }
        // What other devices still need of a group's items is counted.
        migrator.registerMigration("6") { try $0.execute(sql: CircleTables.countingSchema) }
        return migrator
    }

    /// Every attribute that can be looked for by equality.
    static let tagColumns: [AttributeKey] = {
        let keys = ItemClass.allCases.flatMap { $0.attributes }.filter(\.hasTag).map(\.key)
        return Set(keys).sorted()
    }()

    // MARK: reading

    func scan(_ filter: RowFilter, _ body: (ItemRow) throws -> Bool) throws {
        // One statement sees one state of the database: it needs no transaction around it.
        try reader.read { try Self.scan($0, filter, body) }
    }

    func rowIDs(_ filter: RowFilter) throws -> [Int64] {
        try scanner.read { try Self.rowIDs($0, filter) }
    }

    func rows(_ rowIDs: ArraySlice<Int64>, withSecrets: Bool) throws -> [ItemRow] {
        try scanner.read { turn in
            try rowIDs.compactMap { try Self.row(turn, $0, withSecret: withSecrets) }
        }
    }

    private static func scan(
        _ turn: StoreConnection.Turn, _ filter: RowFilter, _ body: (ItemRow) throws -> Bool
    ) throws {
        let shape = SearchShape(filter, .rows)
        try turn.searchStatement(shape).forEachRow(shape.values(filter)) { try ItemRow($0).map(body) ?? true }
    }

    private static func rowIDs(_ turn: StoreConnection.Turn, _ filter: RowFilter) throws -> [Int64] {
        let shape = SearchShape(filter, .rowIDs)
        // In the order of their making, which apps count on although nothing promises it; the indexes are in that of the tags.
        // Not ORDER BY, for which SQLite might read the whole table.
        var rowIDs: [Int64] = []
        try turn.searchStatement(shape).forEachRow(shape.values(filter)) { row in
            if let rowID = row.integer(0) { rowIDs.append(rowID) }
            return true
        }
        return rowIDs.sorted()
    }

    private static func row(_ turn: StoreConnection.Turn, _ rowID: Int64, withSecret: Bool) throws -> ItemRow? {
        try turn.statement(withSecret ? .row : .rowWithoutSecret).first([.integer(rowID)]) { ItemRow($0) } ?? nil
    }

    /// Whether there is an item of this primary key.
    func contains(identityTag: Data) throws -> Bool {
        try reader.read { try $0.statement(.isThere).first([.blob(identityTag)]) { _ in true } ?? false }
    }

    /// Looks at the database for longer than one search takes; point queries do not wait for it.
    func inspect<R>(_ body: (Database) throws -> R) throws -> R { try scanner.read { try body($0.database) } }

    // MARK: writing

    /// Runs `body` in one transaction: all of it is on the disk when this returns, or nothing.
    ///
    /// The transaction may have the writes of other callers beside it, of which each is kept or not by itself. Where the disk is full it runs
    /// once more, alone and with the log's room free: what is `isDeletion` then needs little of it.
    /// What the synchronizer writes itself does not `tellsSynchronizer`: it would wake itself again for ever.
    func write<R>(
        isDeletion: Bool = false, tellsSynchronizer: Bool = true, _ body: (KeychainWriter) throws -> R
    ) throws -> R {
        try withoutActuallyEscaping(body) { body in
            var result: R?
            let write = GroupCommit.Write(isAlone: isDeletion) { result = try body($0) }
            // Also where it fails: a key that is kept no more is opened again.
            defer {
                if let keys = observer.withLock({ $0.openedKeys }) {
                    let isWritten = if case .success = write.outcome { true } else { false }
                    write.changed.forget(in: keys, isWritten: isWritten)
                }
            }
            commits.perform(write, carryOut)
            try write.outcome?.get()
            guard let result else { throw DatabaseError(resultCode: .SQLITE_ABORT) }
            observer.withLock { $0.changed }?()
            if tellsSynchronizer { observer.withLock { $0.synchronizer }?() }
            return result
        }
    }

    /// Carries out what several callers write, in one transaction if that can be.
    private func carryOut(_ writes: [GroupCommit.Write]) {
        if writes.count > 1, (try? transaction(writes)) != nil { return }
        for write in writes {
            write.outcome = Result {
                do {
                    try transaction([write])
                } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
                    try writer.withEmptyLog(isDeletion: write.isAlone) { try transaction([write]) }
                }
            }
        }
    }

    private func transaction(_ writes: [GroupCommit.Write]) throws {
        let recorder = observer.withLock { $0.recorder }
        var isRecorded = false
        try writer.write { turn in
            let writer = KeychainWriter(turn: turn)
            try recorder?.lookIfOwed(writer)
            if writes.count == 1 {
                for write in writes { try write.body?(KeychainWriter(turn: turn, changed: write.changed)) }
            } else {
                for write in writes { write.outcome = try Self.outcome(of: write, in: turn) }
            }
            try room?.hold(turn)
            // Last, so that little can prevent what was recorded.
            isRecorded = try writer.recordGuardedRows(with: recorder, isDeletion: writes.allSatisfy(\.isAlone))
        } ended: { turn, isKept in
            guard isRecorded, let recorder else { return }
            // Where the enclave is gone the device ends, and the next boot looks.
            if isKept { try? recorder.settle() } else { recorder.lookAgain(KeychainWriter(turn: turn)) }
        }
    }

    /// Carries out one of several writes: nothing of it stays where it fails.
    ///
    /// - Throws: What leaves nothing of the transaction to go on with, such as a full disk.
    private static func outcome(
        of write: GroupCommit.Write, in turn: StoreConnection.Turn
    ) throws -> Result<Void, any Error> {
        try turn.statement(.savepoint).execute()
        let outcome = Result { try write.body?(KeychainWriter(turn: turn, changed: write.changed)) ?? () }
        switch outcome {
        case .success: break
        case .failure(let error as DatabaseError) where error.resultCode != .SQLITE_CONSTRAINT: throw error
        case .failure: try turn.statement(.rollback).execute()
        }
        // Where SQLite has given up the transaction there is no such point any more, and this fails.
        try turn.statement(.release).execute()
        return outcome
    }

    /// Has the enclave know from now on which rows with an access control there are, beginning with those that are there.
    func record(with recorder: ItemRecorder) throws {
        // What a process wrote that was killed may be read and not be on the disk yet: a checkpoint synchronises it.
        let isOnDisk = (try? writer.queue.writeWithoutTransaction { try $0.checkpoint(.passive) }) != nil
        try writer.inTurn { _ = try recorder.compare(KeychainWriter(turn: $0)) }
        if isOnDisk { try recorder.settle() }
        observer.withLock { $0.recorder = recorder }
    }

    /// The groups of rows with an access control that were altered by others, as of the last look.
    var alteredGroups: Set<Int> { observer.withLock { $0.recorder }?.alteredGroups ?? [] }

    /// Whether not all of these rows could be read then.
    var isLookPartial: Bool { observer.withLock { $0.recorder }?.isPartial ?? false }

    /// The enclave's name for that look.
    var look: String? { observer.withLock { $0.recorder }?.look }

    /// Shows the enclave all rows with an access control.
    ///
    /// No write is under way meanwhile. With `takes` they are what is there, where nothing ever was.
    ///
    /// - Returns: The groups that are not as they were recorded; nil where nothing is recorded.
    func compareItems(takes: Bool = false) throws -> Set<Int>? {
        guard let recorder = observer.withLock({ $0.recorder }) else { return nil }
        return try writer.inTurn { try recorder.compare(KeychainWriter(turn: $0), takes: takes, isThorough: true) }
    }

    /// Has `observer` told of every change from now on; there is one.
    func observe(_ observer: @escaping @Sendable () -> Void) { self.observer.withLock { $0.changed = observer } }

    /// Has another observer told of the same.
    func tellSynchronizer(_ synchronizer: @escaping @Sendable () -> Void) {
        observer.withLock { $0.synchronizer = synchronizer }
    }

    /// Has the keys of rows that are changed or deleted from now on forgotten.
    func observe(_ openedKeys: OpenedKeys) { observer.withLock { $0.openedKeys = openedKeys } }

    /// Deletes every item, what was put aside of items that do not open, and the owner's limits.
    func eraseItems() throws {
        try write(isDeletion: true) {
            $0.changed.isAll = true
            erasureCount.add(1, ordering: .sequentiallyConsistent)
            try CircleTables.clear($0.database)
            try $0.database.execute(sql: "DELETE FROM item; DELETE FROM quarantine; DELETE FROM quota")
        }
    }

    /// The transaction of one `write`.
    struct KeychainWriter: RowSource {
        let turn: StoreConnection.Turn
        var changed = ChangedRows()
        var database: Database { turn.database }

        func scan(_ filter: RowFilter, _ body: (ItemRow) throws -> Bool) throws {
            try KeychainStore.scan(turn, filter, body)
        }

        func rowIDs(_ filter: RowFilter) throws -> [Int64] { try KeychainStore.rowIDs(turn, filter) }

        func rows(_ rowIDs: ArraySlice<Int64>, withSecrets: Bool) throws -> [ItemRow] {
            try rowIDs.compactMap { try KeychainStore.row(turn, $0, withSecret: withSecrets) }
        }

        func row(identityTag: Data) throws -> ItemRow? {
            try turn.statement(.rowOfIdentity).first([.blob(identityTag)]) { ItemRow($0) } ?? nil
        }

        /// nil where there is none, or what is there is no item.
        func row(rowID: Int64) throws -> ItemRow? { try KeychainStore.row(turn, rowID, withSecret: true) }

        /// Deletes the row as it was read; not one that another call has put in its place since.
        func delete(_ row: ItemRow) throws {
            changed.add(row.rowID)
            try database.cachedStatement(sql: "DELETE FROM item WHERE rowid = ? AND version = ?")
                .execute(arguments: [row.rowID, row.version])
        }

        func delete(rowID: Int64) throws {
            changed.add(rowID)
            try database.cachedStatement(sql: "DELETE FROM item WHERE rowid = ?").execute(arguments: [rowID])
        }

        /// Puts other wrapped keys of the same into the row as it was read; not into one that another call has put in its place since.
        func rewrap(_ row: Rewrapping.Row) throws {
            changed.add(row.rowID)
            try database.cachedStatement(
                sql: "UPDATE item SET wrappedKey = ?, metadata = ? WHERE rowid = ? AND version = ?"
            ).execute(arguments: [row.wrappedKey, row.metadata, row.rowID, row.version])
        }

        /// Inserts the row, or writes it over the one with its `rowID`.
        ///
        /// - Returns: Its number.
        @discardableResult
        func save(_ row: ItemRow) throws -> Int64 {
            if let rowID = row.rowID { try delete(rowID: rowID) }
            var values: [StoreStatement.Value?] = [
                row.rowID.map { .integer($0) }, .text(row.itemClass.rawValue), .blob(row.identifier.bytes),
                .blob(row.version), .text(row.accessibility.rawValue), .blob(row.identityTag), .blob(row.metadata),
                .blob(row.wrappedKey), .blob(row.secret), row.isGuarded ? .blob(KeychainStore.guardedMark) : nil,
            ]
            for column in KeychainStore.tagColumns { values.append(.blob(row.tags[column])) }
            try turn.statement(.insertion).execute(values)
            return row.rowID ?? database.lastInsertedRowID
        }

        /// Writes a row over its earlier self where it lies, whose tags, protection class and identity are the same: indexes stay as they are.
        ///
        /// Not over one with an access control, which is recorded as it comes and goes.
        ///
        /// - Returns: Whether it was there.
        func overwrite(_ row: ItemRow) throws -> Bool {
            changed.add(row.rowID)
            try turn.statement(.overwriting).execute([
                .blob(row.version), .blob(row.metadata), .blob(row.wrappedKey), .blob(row.secret),
                row.rowID.map { .integer($0) }, .blob(row.identifier.bytes),
            ])
            return database.changesCount == 1
        }
    }

    static let insertion: String = {
        let names =
            [
                "rowid", "class", "identifier", "version", AttributeKey.accessible.rawValue, "identity", "metadata",
                "wrappedKey", "secret",
                "guarded",
            ] + tagColumns.map { "\"\($0.rawValue)\"" }
        let places = Array(repeating: "?", count: names.count).joined(separator: ", ")
        return "INSERT INTO item (\(names.joined(separator: ", "))) VALUES (\(places))"
    }()
}

/// The rows that a transaction changes or deletes, by their numbers.
///
/// > Concurrency: Used in the turn of its transaction only.
final class ChangedRows {
    private var rowIDs: [Int64] = []
    /// Rows whose keys stay, as they were written.
    private var kept: [Int64: ItemCipher.Binding] = [:]
    /// Whether it is all that there are.
    var isAll = false

    /// nil: a row that is not there yet.
    func add(_ rowID: Int64?) {
        if let rowID { rowIDs.append(rowID) }
    }

    /// Has the key stay of a row that was written so.
    func keep(_ rowID: Int64, _ binding: ItemCipher.Binding) { kept[rowID] = binding }

    func forget(in keys: OpenedKeys, isWritten: Bool) {
        if isAll {
            keys.forgetAll()
        } else if isWritten {
            if !rowIDs.isEmpty { keys.forget(rowIDs, butThose: kept) }
        } else {
            keys.forget(rowIDs + kept.keys)
        }
    }
}

/// The store cannot be used as it is.
package struct KeychainStoreError: Error, CustomStringConvertible {
    package let description: String
}
