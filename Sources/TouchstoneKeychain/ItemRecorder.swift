import Foundation
import GRDB
import Synchronization
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneTransport

/// Tells the enclave which rows with an access control there are, and before each change which there will be.
///
/// The enclave binds them to its own state, so that an older row that is put back, or one that is taken away, is noticed. Used in the store's turn
/// to write alone: what is told is in order.
final class ItemRecorder: Sendable {
    private let enclave: EnclaveClient
    private let recorded = Mutex(false)
    private let altered = Mutex<Set<Int>>([])
    private let lastLook = Mutex<String?>(nil)
    private let partial = Mutex(false)
    private let owed = Mutex(false)

    init(_ enclave: EnclaveClient) { self.enclave = enclave }

    /// The groups that were not as they were recorded at the last look.
    var alteredGroups: Set<Int> { altered.withLock { $0 } }

    /// Whether not all rows could be read at the last look.
    var isPartial: Bool { partial.withLock { $0 } }

    /// The enclave's name for the last look; nil after one at a part of the rows.
    var look: String? { lastLook.withLock { $0 } }

    /// Whether the enclave has ever seen the rows of this keychain.
    var isRecorded: Bool { recorded.withLock { $0 } }

    /// Shows the enclave all of them.
    ///
    /// - Returns: The groups that are not as they were recorded; nil where nothing is recorded.
    func compare(
        _ writer: KeychainStore.KeychainWriter, takes: Bool = false, isThorough: Bool = false
    ) throws -> Set<Int>? {
        var items = Data()
        var isPartial = false
        do {
            try writer.readGuardedRows(into: &items, isThorough: isThorough)
        } catch let error as DatabaseError where !takes && error.isDamage {
            do {
                try writer.readGuardedRows(into: &items, isThorough: !isThorough)
            } catch let error as DatabaseError where error.isDamage {
                // What cannot be read now may be there all the same. What was read twice counts once.
                isPartial = true
            }
        }
        var reply = EnclaveInterface.CompareItems.Reply(isRecorded: false, altered: [])
        for (place, page) in Self.pages(items) {
            reply = try enclave.call(
                EnclaveInterface.CompareItems.self,
                .init(
                    items: page, isFirst: place == 0, isLast: place + page.count == items.count, takes: takes,
                    isPartial: isPartial ? true : nil))
        }
        recorded.withLock { $0 = reply.isRecorded }
        altered.withLock { $0 = Set(reply.altered) }
        lastLook.withLock { $0 = reply.look }
        partial.withLock { $0 = isPartial }
        owed.withLock { $0 = false }
        return reply.isRecorded ? Set(reply.altered) : nil
    }

    /// Looks at the rows again after a change that was recorded and not committed.
    ///
    /// Where that fails, the enclave takes the change for made. So the next change looks first.
    func lookAgain(_ writer: KeychainStore.KeychainWriter) {
        owed.withLock { $0 = true }
        _ = try? compare(writer)
    }

    /// Makes up for a look that failed, before a transaction changes anything.
    func lookIfOwed(_ writer: KeychainStore.KeychainWriter) throws {
        if owed.withLock({ $0 }) { _ = try compare(writer) }
    }

    /// Records a change that is about to be committed.
    ///
    /// - Returns: Whether it was, so that the enclave has to hear what becomes of it.
    /// - Throws: `Status.diskFull` where the enclave cannot write its state.
    func record(_ change: GuardedChange, isDeletion: Bool) throws -> Bool {
        guard isRecorded else { return false }
        let pages =
            Self.pages(change.removed).map { (removed: $0.page, added: Data()) }
            + Self.pages(change.added).map { (removed: Data(), added: $0.page) }
        let (first, last) = (pages.startIndex, pages.index(before: pages.endIndex))
        for (index, page) in pages.enumerated() {
            do {
                let reply = try enclave.call(
                    EnclaveInterface.RecordItems.self,
                    .init(
                        removed: page.removed, added: page.added, isFirst: index == first, isLast: index == last,
                        isDeletion: isDeletion))
                // The device was erased meanwhile.
                recorded.withLock { $0 = reply.isRecorded }
            } catch let error as RemoteError where error.as(EnclaveInterface.NotKept.self) != nil {
                throw Status.diskFull
            }
        }
        return isRecorded
    }

    /// The device was erased, and its keychain with it: nothing is recorded any more.
    func forget() { recorded.withLock { $0 = false } }

    func settle() throws { _ = try enclave.call(EnclaveInterface.SettleItems.self, Empty()) }

    /// As many bindings at a time as one message takes; at least one page.
    private static func pages(_ items: Data) -> [(place: Int, page: Data)] {
        let bytes = EnclaveInterface.boundItemsPerMessage * EnclaveInterface.boundItemBytes
        return stride(from: 0, to: max(items.count, 1), by: bytes).map { ($0, Data(items.dropFirst($0).prefix(bytes))) }
    }
}

/// What a transaction does to the rows with an access control: bindings, one after the other.
struct GuardedChange {
    var removed = Data()
    var added = Data()
}

extension KeychainStore {
    /// In the column that says that a row has an access control.
    static let guardedMark = Data([1])

    /// Has the connection note which rows with an access control its transactions insert and delete, whoever does it.
    static func noteGuardedRows(_ connection: StoreConnection) throws {
        func note(_ event: String, _ row: String, isAdded: Int) -> String {
            """
            CREATE TEMP TRIGGER guarded_\(row) AFTER \(event) ON main.item WHEN \(row).guarded IS NOT NULL BEGIN
                INSERT INTO guarded_change VALUES (\(isAdded), \(row).class, \(row).identifier, \(row).version);
            END;
            """
        }
        try connection.inTurn {
            // In memory: the disk may be full.
            try $0.database.execute(
                sql: """
                    PRAGMA temp_store = MEMORY;
                    CREATE TEMP TABLE guarded_change (isAdded INTEGER, class, identifier, version);
                    \(note("INSERT", "new", isAdded: 1))
                    \(note("DELETE", "old", isAdded: 0))
                    """)
        }
    }

    /// Marks the older rows that `isGuarded`, which have no mark yet.
    func markGuardedRows(_ isGuarded: (ItemRow) -> Bool) throws {
        var after: Int64 = 0
        while true {
            let page = try page(after: after)
            guard let last = page.last else { return }
            after = last.rowID
            let found = page.compactMap(\.item).filter { !$0.isGuarded && isGuarded($0) }
            guard !found.isEmpty else { continue }
            try write { writer in for row in found { try writer.mark(row) } }
        }
    }
}

extension KeychainStore.KeychainWriter {
    /// Marks a row as one with an access control, or as one without, as it was read; nobody is told.
    func mark(_ row: ItemRow, isGuarded: Bool = true) throws {
        try database.cachedStatement(sql: "UPDATE item SET guarded = ? WHERE rowid = ? AND version = ?")
            .execute(arguments: [isGuarded ? KeychainStore.guardedMark : nil, row.rowID, row.version])
    }

    /// Appends the bindings of all rows with an access control, as far as they can be read.
    ///
    /// By their index; `isThorough`: as they lie in the table, whatever the index says.
    func readGuardedRows(into items: inout Data, isThorough: Bool) throws {
        let table = isThorough ? "item NOT INDEXED" : "item"
        let rows = try Row.fetchCursor(
            database.cachedStatement(
                sql: "SELECT class, identifier, version FROM \(table) WHERE guarded IS NOT NULL"))
        while let row = try rows.next() {
            if let item = Self.binding(row, from: 0) { items.append(item) }
        }
    }

    /// Has the enclave record what this transaction does to rows with an access control.
    ///
    /// - Returns: Whether it did anything that was recorded.
    func recordGuardedRows(with recorder: ItemRecorder?, isDeletion: Bool) throws -> Bool {
        // Most transactions change no such row.
        guard try turn.statement(.guardedChange).first([], { _ in true }) != nil else { return false }
        let rows = try Row.fetchCursor(
            database.cachedStatement(sql: "SELECT isAdded, class, identifier, version FROM guarded_change"))
        var changes: [Data: Int] = [:]
        while let row = try rows.next() {
            guard let item = Self.binding(row, from: 1) else { continue }
            changes[item, default: 0] += row[0] as Int == 1 ? 1 : -1
        }
        try database.cachedStatement(sql: "DELETE FROM guarded_change").execute()
        var change = GuardedChange()
        for (item, count) in changes {
            if count < 0 { change.removed += item }
            if count > 0 { change.added += item }
        }
        guard let recorder, !change.removed.isEmpty || !change.added.isEmpty else { return false }
        return try recorder.record(change, isDeletion: isDeletion)
    }

    /// nil for what is no item: the file may be another's work.
    private static func binding(_ row: Row, from index: Int) -> Data? {
        guard let itemClass = String.fromDatabaseValue(row[index]).flatMap(ItemClass.init(rawValue:)),
            let identifier = Data.fromDatabaseValue(row[index + 1]), identifier.count == ItemIdentifier.length,
            let version = Data.fromDatabaseValue(row[index + 2]), version.count == ItemIdentifier.length
        else { return nil }
        return ItemCipher.Binding(
            itemClass: itemClass, identifier: ItemIdentifier(bytes: identifier), version: version
        ).bytes
    }
}

extension DatabaseError {
    /// Whether it says that the file, or the disk, cannot be read.
    fileprivate var isDamage: Bool { [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_IOERR].contains(resultCode) }
}
