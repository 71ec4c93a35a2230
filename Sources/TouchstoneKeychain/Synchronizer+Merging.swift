import Crypto
import Foundation
import GRDB
import Synchronization
import TouchstoneCircle
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface

/// Others' records in the keychain, by the ledger's rules (SY-20 to SY-22).
extension Synchronizer {
    func merge(_ circle: inout Circle) throws {
        var changes = circle.ledger.changes(atMost: Limits.merged)
        // What is gone first: an item that was renamed has its row's identifier still under the old name.
        changes.sort { ($0.to?.isTombstone ?? true) && !($1.to?.isTombstone ?? true) }
        var rest = changes[...]
        while !rest.isEmpty {
            let batch = Array(rest.prefix(Limits.batch))
            rest = rest.dropFirst(batch.count)
            circle.aside += try apply(batch, circle)
        }
        circle.isMerging = circle.ledger.hasChanges
        if circle.isMerging {
            // Whoever asks something meanwhile is answered in between.
            schedule()
        } else {
            for change in circle.aside { circle.ledger.putBack(change) }
            circle.aside = []
        }
        let ledger = circle.ledger
        try keep { try CircleTables.save(ledger, $0.database) }
    }

    /// Shows changes in the keychain.
    ///
    /// - Returns: Those that it cannot show now: their class is locked, or an app has changed the item since.
    private func apply(_ changes: [Ledger.Change], _ circle: Circle) throws -> [Ledger.Change] {
        guard let keys = circle.keys else { return changes }
        var later: [Ledger.Change] = []
        var ready: [(Ledger.Change, ItemRow?)] = []
        var sealed: [(change: Ledger.Change, bytes: Data)] = []
        for change in changes {
            guard let version = change.to, !version.isTombstone else {
                ready.append((change, nil))
                continue
            }
            let (shown, bytes) = try store.inspect { database in
                (
                    try CircleTables.shown(change.name, database),
                    try CircleTables.bytes(of: version.member, version.counter, database)
                )
            }
            // What apps wrote here is in the keychain.
            if let shown, shown.member == version.member, shown.counter == version.counter { continue }
            guard let bytes else { continue }
            sealed.append((change, bytes))
        }
        let prepared = try prepare(sealed.map { ($0.bytes, $0.change.name) }, keys)
        for ((change, _), preparation) in zip(sealed, prepared) {
            switch preparation {
            case .row(let row): ready.append((change, row))
            case .locked: later.append(change)
            // A member wrote under this name what has another: it is shown nowhere.
            case .unusable: continue
            }
        }
        guard !ready.isEmpty else { return later }
        let time = now().timeIntervalSinceReferenceDate
        later += try keep { writer in
            try ready.compactMap { change, row in
                try show(change, row, circle, at: time, in: writer) ? nil : change
            }
        }
        return later
    }

    enum Preparation {
        case row(ItemRow)
        case locked, unusable
    }

    /// What goes to the enclave in one message each: one record goes always, however large it is.
    func batches<Record>(of records: [Record], bytes: (Record) -> Data) -> [ArraySlice<Record>] {
        var (batches, rest) = ([ArraySlice<Record>](), records[...])
        while !rest.isEmpty {
            var count = 0
            let batch = rest.prefix { record in
                let size = bytes(record).count
                count += size
                return count <= Limits.batchBytes || count == size
            }
            batches.append(batch)
            rest = rest.dropFirst(batch.count)
        }
        return batches
    }

    /// Rows of records: the enclave opens all that fit into one message at once.
    func prepare(_ records: [(bytes: Data, name: RecordName)], _ keys: TagKeys) throws -> [Preparation] {
        var prepared: [Preparation] = []
        for batch in batches(of: records, bytes: \.bytes) {
            let opened = try enclave.call(EnclaveInterface.OpenRecords.self, .init(records: batch.map(\.bytes))).records
            guard opened.count == batch.count else { throw Status.internalError }
            // After the enclave wrapped their keys: what was wrapped is of this generation, or the passcode is changed just now.
            try keychain.readKeys()
            for (record, opened) in zip(batch, opened) {
                prepared.append(try prepare(record.bytes, record.name, opened, keys))
            }
        }
        return prepared
    }

    private func prepare(
        _ bytes: Data, _ name: RecordName, _ opened: EnclaveInterface.OpenedRecord, _ keys: TagKeys
    ) throws -> Preparation {
        if opened.verdict == .locked { return .locked }
        guard let wrapped = opened.item, let attributes = opened.attributes.flatMap(ItemAttributes.decode),
            let record = try? SealedRecord(bytes), let binding = ItemCipher.Binding(bytes: wrapped.binding.item),
            case .accessControl(let control)? = attributes[.accessControl], control.protection == opened.protection,
            !control.isConstrained, attributes.isWhole(of: binding.itemClass),
            attributes.accessGroup == wrapped.binding.accessGroup, attributes[.synchronizable] == .number(1)
        else { return .unusable }
        var named = attributes
        named[.accessControl] = nil
        guard
            keys.name(
                itemClass: binding.itemClass.rawValue,
                primaryKey: ItemCipher.primaryKey(named, in: binding.itemClass)) == name
        else { return .unusable }
        guard let key = keychain.metadataKeys.withLock({ $0.open[control.protection]?.current }) else { return .locked }
        let row = ItemRow(
            itemClass: binding.itemClass, identifier: binding.identifier, version: binding.version,
            accessibility: control.protection,
            identityTag: ItemCipher.identityTag(named, in: binding.itemClass, key: keychain.lookupKey),
            metadata: try ItemCipher.sealMetadata(attributes, classKey: key, binding: binding),
            wrappedKey: wrapped.wrappedKey, secret: record.secret.isEmpty ? nil : record.secret,
            tags: keychain.tags(of: named, in: binding.itemClass))
        // Two devices may have given one identifier to two items, by renaming an item at the same time.
        let other = try store.inspect { try CircleTables.row(identifier: row.identifier.bytes, $0) }
        if let other, other.identityTag != row.identityTag {
            return try move(row, control, attributes, key)
        }
        return .row(row)
    }

    /// The same item in a row of another identifier.
    private func move(
        _ row: ItemRow, _ control: AccessControl, _ attributes: [AttributeKey: AttributeValue], _ key: SymmetricKey
    ) throws -> Preparation {
        let group = attributes.accessGroup
        let opened = try enclave.call(
            EnclaveInterface.UnwrapKeys.self,
            .init(
                items: [
                    .init(wrappedKey: row.wrappedKey, binding: .init(accessGroup: group, item: row.binding.bytes))
                ], app: "", context: nil))
        guard let itemKey = opened.items.first?.key else {
            return opened.items.first?.state == .locked ? .locked : .unusable
        }
        let binding = ItemCipher.Binding(
            itemClass: row.itemClass, identifier: .random(), version: ItemIdentifier.random().bytes)
        let wrapped = try enclave.call(
            EnclaveInterface.WrapKey.self,
            .init(
                accessControl: control, binding: .init(accessGroup: group, item: binding.bytes), key: itemKey, app: "",
                context: nil))
        let secretKey = SymmetricKey(data: itemKey)
        var moved = row
        moved.identifier = binding.identifier
        moved.version = binding.version
        moved.wrappedKey = wrapped.wrappedKey
        moved.metadata = try ItemCipher.sealMetadata(attributes, classKey: key, binding: binding)
        if let secret = row.secret {
            guard let data = ItemCipher.openSecret(secret, key: secretKey, binding: row.binding) else {
                return .unusable
            }
            moved.secret = try ItemCipher.sealSecret(data, key: secretKey, binding: binding)
        }
        return .row(moved)
    }

    /// - Returns: Whether it is shown; not where an app has changed the item, and that is not recorded yet.
    private func show(
        _ change: Ledger.Change, _ row: ItemRow?, _ circle: Circle, at time: Double,
        in writer: KeychainStore.KeychainWriter
    ) throws -> Bool {
        let database = writer.database
        let shown = try CircleTables.shown(change.name, database)
        if let to = change.to, let shown, shown.member == to.member, shown.counter == to.counter { return true }
        let there = try row.flatMap { try writer.row(identityTag: $0.identityTag) }
        // An item of this device only has the same name here: it stays, and the other devices' item is not shown (DEC-463).
        if let there, there.accessibility.isThisDeviceOnly { return true }
        let identifiers = Set([shown?.identifier, there?.identifier.bytes].compactMap(\.self))
        for identifier in identifiers where try CircleTables.isChanged(identifier, database) { return false }
        if let row, let other = try CircleTables.row(identifier: row.identifier.bytes, database),
            other.identityTag != row.identityTag
        {
            return false
        }
        // SY-20: what the keychain had until now, kept once, on the device that had it.
        if let shown, shown.identifier != nil,
            let bytes = try CircleTables.bytes(of: shown.member, shown.counter, database),
            let header = try? SealedRecord(bytes).header, !circle.isSame(header, change.to),
            change.to?.member != circle.me
        {
            try CircleTables.keepReplaced(change.name, bytes, at: time, database)
        }
        for identifier in identifiers {
            guard let old = try CircleTables.row(identifier: identifier, database) else { continue }
            try writer.delete(old)
        }
        if let row { try writer.save(row) }
        // They are not an app's changes.
        for identifier in identifiers.union(row.map { [$0.identifier.bytes] } ?? []) {
            try CircleTables.forgetChange(of: identifier, database)
        }
        if let to = change.to {
            try CircleTables.show(
                change.name,
                .init(
                    member: to.member, counter: to.counter, identifier: row?.identifier.bytes, version: row?.version),
                database)
        } else {
            try CircleTables.hide(change.name, database)
        }
        return true
    }
}

extension Synchronizer.Circle {
    /// Whether a version is a record that was written anew, which keeps its time: by its member, or for a removed one.
    fileprivate func isSame(_ record: RecordHeader, _ version: RecordVersion?) -> Bool {
        record.clock == version?.clock && (record.member == version?.member || chain.removed[record.member] != nil)
    }
}

extension ItemCipher.Binding {
    /// Class, identifier and version, as ``bytes`` has them; nil for anything else.
    init?(bytes: Data) {
        guard bytes.count == 4 + 2 * ItemIdentifier.length,
            let itemClass = ItemClass(rawValue: String(decoding: bytes.prefix(4), as: UTF8.self))
        else { return nil }
        self.init(
            itemClass: itemClass,
            identifier: ItemIdentifier(bytes: Data(bytes.dropFirst(4).prefix(ItemIdentifier.length))),
            version: Data(bytes.suffix(ItemIdentifier.length)))
    }
}

extension [AttributeKey: AttributeValue] {
    /// Whether an item can have these: a key of the class each, with a value of its kind.
    func isWhole(of itemClass: ItemClass) -> Bool {
        !accessGroup.utf8.isEmpty
            && allSatisfy { key, value in
                key == .accessControl || (try? itemClass.attribute(key)?.kept(value)) == value
            }
    }
}
