import Crypto
package import Foundation
import GRDB
import Synchronization
import TouchstoneCore
package import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
package import TouchstoneTransport

/// `io.touchstone.Backup`: the keychain as a whole, for its owner.
///
/// Holds no more than one page of it at a time. The keys in a backup are wrapped by the enclave, for a session that it began with the
/// owner's passcode (``DeviceInterface/AuthorizeBackup``); here they are only carried.
///
/// > Source: KC-16, KC-25, KC-26, KC-29.
package final class BackupService: Sendable {
    let store: KeychainStore
    let enclave: EnclaveClient
    let lookupKey: LookupKey
    private let attributesKey: SymmetricKey
    let quotaNames: QuotaNames
    let now: @Sendable () -> Date
    private let ownerID: UInt32
    /// What was left over of the bytes of an import, by its session; held over the call, so that its calls come one by one.
    private let importing = Mutex<Importing?>(nil)

    private struct Importing {
        var session: String
        /// Bytes that have come.
        var offset: Int
        /// What of them is no whole record yet.
        var rest: Data
    }

    /// - Throws: what the enclave throws.
    package init(
        store: KeychainStore, enclave: EnclaveClient, ownerID: UInt32, now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        self.store = store
        self.enclave = enclave
        self.ownerID = ownerID
        self.now = now
        let key = try enclave.call(EnclaveInterface.GetLookupKey.self, Empty()).key
        lookupKey = LookupKey(key)
        attributesKey = BackupAttributes.key(of: key)
        quotaNames = QuotaNames(key)
    }

    package var interface: VarlinkInterface {
        VarlinkInterface(
            name: BackupInterface.name, description: BackupInterface.file, ownerID: ownerID,
            handlers: [
                owner(BackupInterface.Export.self) { [self] in try export($0, $1) },
                owner(BackupInterface.Import.self) { [self] in try `import`($0, $1) },
                owner(BackupInterface.End.self) { [self] request, _ in
                    importing.withLock { if $0?.session == request.session { $0 = nil } }
                    return try enclave.call(EnclaveInterface.EndBackup.self, .init(session: request.session))
                },
                owner(BackupInterface.Check.self) { [self] in try check($0, $1) },
                owner(BackupInterface.ListUse.self) { [self] in try listUse($1) },
                owner(BackupInterface.SetQuota.self) { [self] in try setQuota($0, $1) },
            ], refusal: { $0.reason == .notOwner ? BackupInterface.NotOwner() as any VarlinkError : $0 })
    }

    /// A method on the connection's own thread: all of them wait for the disk and for the enclave.
    private func owner<M: VarlinkMethod>(
        _ method: M.Type, _ body: @escaping @Sendable (M.Parameters, IsOwner) throws -> M.Reply
    ) -> OwnerHandler {
        .deferred(method) { [self] request, call, owner in
            call.answer(Result { try reporting { try body(request, owner) } })
        }
    }

    private func reporting<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let status as Status {
            throw BackupInterface.Failed(status)
        } catch let error as DatabaseError {
            throw BackupInterface.Failed(Status(error))
        } catch let error as RemoteError where error.as(EnclaveInterface.NoSuchBackup.self) != nil {
            throw BackupInterface.NoSuchSession()
        } catch is BackupRecord.Malformed {
            throw BackupInterface.Malformed()
        } catch is TransportError {
            throw BackupInterface.Failed(.notAvailable)
        }
    }

    // MARK: attributes

    /// Those of this moment.
    func metadataKeys() throws -> MetadataKeys {
        MetadataKeys(try enclave.call(EnclaveInterface.GetMetadataKeys.self, Empty()))
    }

    enum Attributes {
        /// The access control is among them.
        case open([AttributeKey: AttributeValue], AccessControl)
        case locked
        /// Its class was destroyed by its owner.
        case expired
        case damaged
    }

    func attributes(of row: ItemRow, _ keys: MetadataKeys) -> Attributes {
        guard let key = keys.open[row.accessibility] else {
            return keys.destroyed.contains(row.accessibility) ? .expired : .locked
        }
        guard let attributes = ItemCipher.openMetadata(row.metadata, classKey: key, binding: row.binding),
            case .accessControl(let control)? = attributes[.accessControl], control.protection == row.accessibility
        else { return .damaged }
        return .open(attributes, control)
    }

    /// The tags of an item, as they are to be.
    func tags(of attributes: [AttributeKey: AttributeValue], in itemClass: ItemClass) -> [AttributeKey: Data] {
        ItemCipher.tags(of: attributes, in: itemClass, key: lookupKey)
    }

    // MARK: export

    private func export(
        _ request: BackupInterface.Export.Parameters, _ owner: IsOwner
    ) throws -> BackupInterface.Export.Reply {
        let metadataKeys = try metadataKeys()
        let page = try store.page(after: request.after ?? 0)
        var counts = BackupInterface.ExportCounts()
        var candidates: [(ItemRow, [AttributeKey: AttributeValue], EnclaveInterface.BackupKey)] = []
        for row in page {
            guard let item = row.item else {
                counts.damaged += 1
                continue
            }
            switch attributes(of: item, metadataKeys) {
            case .open(let attributes, let control):
                // An item whose secret lives in the enclave (KC-26).
                if case .string(let token)? = attributes[.tokenID], !token.isEmpty {
                    counts.excluded += 1
                    continue
                }
                let binding = EnclaveInterface.ItemBinding(
                    accessGroup: attributes.accessGroup, item: item.binding.bytes)
                candidates.append(
                    (item, attributes, .init(wrappedKey: item.wrappedKey, binding: binding, accessControl: control)))
            case .locked: throw Status.interactionNotAllowed
            case .expired: counts.excluded += 1
            case .damaged: counts.damaged += 1
            }
        }
        // Asked also where there is nothing to wrap: without a session nobody learns anything.
        let wrapped = try enclave.call(
            EnclaveInterface.ExportKeys.self, .init(session: request.session, keys: candidates.map(\.2)))
        guard wrapped.keys.count == candidates.count else { throw Status.internalError }
        var records = Data()
        for ((row, attributes, _), key) in zip(candidates, wrapped.keys) {
            switch (key.verdict, key.wrappedKey) {
            case (.wrapped, let wrappedKey?):
                records.append(try record(row, attributes, wrappedKey).encoded())
                counts.exported += 1
                if row.accessibility.isThisDeviceOnly { counts.thisDeviceOnly += 1 }
            case (.locked, _): throw Status.interactionNotAllowed
            case (.excluded, _): counts.excluded += 1
            default: counts.damaged += 1
            }
        }
        return .init(
            records: records, next: page.last?.rowID, counts: counts,
            total: request.after == nil ? try store.count() : 0)
    }

    private func record(_ row: ItemRow, _ attributes: [AttributeKey: AttributeValue], _ wrappedKey: Data) throws
        -> BackupRecord
    {
        let isSealed = row.accessibility.isThisDeviceOnly
        let bytes = ItemAttributes.encode(attributes)
        return BackupRecord(
            itemClass: row.itemClass, identifier: row.identifier, version: row.version, isSealed: isSealed,
            attributes: isSealed
                ? try BackupAttributes.seal(bytes, key: attributesKey, binding: row.binding) : bytes,
            wrappedKey: wrappedKey, secret: row.secret)
    }

    // MARK: import

    private func `import`(
        _ request: BackupInterface.Import.Parameters, _ owner: IsOwner
    ) throws -> BackupInterface.Import.Reply {
        // Whoever has no session has no say in an import that is under way.
        _ = try enclave.call(EnclaveInterface.ImportKeys.self, .init(session: request.session, keys: []))
        return try importing.withLock { importing in
            if request.offset == 0 { importing = Importing(session: request.session, offset: 0, rest: Data()) }
            guard let current = importing, current.session == request.session, current.offset == request.offset else {
                throw BackupInterface.Malformed()
            }
            var rest = current.rest + request.records
            var counts = BackupInterface.ImportCounts()
            var records: [BackupRecord] = []
            reading: while true {
                switch try BackupRecord.next(&rest) {
                case .record(let record): records.append(record)
                case .unknown: counts.damaged += 1
                case .partial: break reading
                }
            }
            try restore(records, replaces: request.replaces, session: request.session, &counts)
            importing = Importing(
                session: request.session, offset: request.offset + request.records.count, rest: Data(rest))
            return .init(counts: counts, isWhole: rest.isEmpty)
        }
    }

    private func restore(
        _ records: [BackupRecord], replaces: Bool, session: String, _ counts: inout BackupInterface.ImportCounts
    ) throws {
        var candidates: [(BackupRecord, [AttributeKey: AttributeValue], EnclaveInterface.BackupKey)] = []
        for record in records {
            guard let bytes = attributes(of: record) else {
                counts.foreign += 1
                continue
            }
            guard let attributes = ItemAttributes.decode(bytes), attributes.isWhole(of: record.itemClass),
                case .accessControl(let control)? = attributes[.accessControl],
                control.protection.isThisDeviceOnly == record.isSealed
            else {
                counts.damaged += 1
                continue
            }
            let binding = EnclaveInterface.ItemBinding(accessGroup: attributes.accessGroup, item: record.binding.bytes)
            candidates.append(
                (record, attributes, .init(wrappedKey: record.wrappedKey, binding: binding, accessControl: control)))
        }
        let wrapped = try enclave.call(
            EnclaveInterface.ImportKeys.self, .init(session: session, keys: candidates.map(\.2)))
        // After what they are to be of the same generation as: a passcode that is changed meanwhile makes both new, or the second.
        let metadataKeys = try metadataKeys()
        guard wrapped.keys.count == candidates.count else { throw Status.internalError }
        var rows: [ItemRow] = []
        for ((record, attributes, key), wrapped) in zip(candidates, wrapped.keys) {
            let protection = key.accessControl.protection
            switch (wrapped.verdict, wrapped.wrappedKey) {
            case (.wrapped, let wrappedKey?):
                guard let metadataKey = metadataKeys.open[protection]?.current else {
                    throw Status.interactionNotAllowed
                }
                var named = attributes
                named[.accessControl] = nil
                let row = ItemRow(
                    itemClass: record.itemClass, identifier: record.identifier, version: record.version,
                    accessibility: protection,
                    identityTag: ItemCipher.identityTag(named, in: record.itemClass, key: lookupKey),
                    metadata: try ItemCipher.sealMetadata(
                        attributes, classKey: metadataKey, binding: record.binding),
                    wrappedKey: wrappedKey, secret: record.secret,
                    tags: tags(of: named, in: record.itemClass), isGuarded: key.accessControl.isConstrained)
                rows.append(row)
            case (.locked, _): throw Status.interactionNotAllowed
            default: counts.damaged += 1
            }
        }
        let before = counts
        counts = try store.write { writer in
            var counts = before
            for row in rows { try save(row, metadataKeys, replaces: replaces, in: writer, &counts) }
            return counts
        }
    }

    private func save(
        _ row: ItemRow, _ metadataKeys: MetadataKeys, replaces: Bool, in writer: KeychainStore.KeychainWriter,
        _ counts: inout BackupInterface.ImportCounts
    ) throws {
        var isThere = false
        // KC-31: what can never be opened again is in nobody's way.
        for old in [
            try writer.row(identityTag: row.identityTag), try writer.row(identifier: row.identifier),
        ].compactMap(\.self) {
            let loss = try enclave.loss(
                of: old, metadataKey: metadataKeys.open[old.accessibility],
                isDestroyed: metadataKeys.destroyed.contains(old.accessibility))
            if let loss {
                try writer.clear(old, loss, at: now())
            } else {
                isThere = true
                let isSame = old.identifier == row.identifier && old.version == row.version
                guard replaces, !isSame || old.identityTag != row.identityTag else {
                    counts.kept += 1
                    return
                }
                try writer.delete(old)
            }
        }
        try writer.save(row)
        if isThere { counts.replaced += 1 } else { counts.added += 1 }
    }

    /// nil where they are another device's.
    private func attributes(of record: BackupRecord) -> Data? {
        guard record.isSealed else { return record.attributes }
        return BackupAttributes.open(record.attributes, key: attributesKey, binding: record.binding)
    }
}
