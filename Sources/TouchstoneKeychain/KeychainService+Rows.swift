import Crypto
import Foundation
import Synchronization
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneTransport

extension KeychainService {
    enum OpenedMetadata {
        case open(OpenItem)
        case gone
    }

    /// - Throws: `.interactionNotAllowed` where the class is locked (KC-15, KC-20).
    func openMetadata(_ row: ItemRow) throws(Refusal) -> OpenedMetadata {
        let (key, isDestroyed) = metadataKeys.withLock {
            ($0.open[row.accessibility], $0.destroyed.contains(row.accessibility))
        }
        guard let key else {
            if isDestroyed { return .gone }
            throw Refusal(.interactionNotAllowed, RefusalCause(locked: row.accessibility))
        }
        guard var attributes = ItemCipher.openMetadata(row.metadata, classKey: key, binding: row.binding),
            case .accessControl(let control)? = attributes.removeValue(forKey: .accessControl),
            control.protection == row.accessibility
        else { return .gone }
        return .open(OpenItem(row: row, attributes: attributes, control: control, data: nil))
    }

    /// Holds the attributes themselves against the query: a tag may have been tampered with, a date has none.
    func matches(_ item: OpenItem, _ query: KeychainQuery, _ groups: [AccessGroup]) -> Bool {
        guard groups.contains(item.attributes.accessGroup) else { return false }
        return query.attributes.allSatisfy { key, value in
            guard let attribute = item.row.itemClass.attribute(key) else { return false }
            guard let kept = item.attributes[key] else { return attribute.comparable(value).isEmpty }
            return attribute.comparable(kept) == attribute.comparable(value)
        }
    }

    enum OpenedSecret {
        case open(Data?)
        case gone, locked
        /// With what is to be evaluated.
        case authenticationNeeded(AccessControl)
        /// Not as the device left it, or of a group that is not.
        case altered

        var isAltered: Bool { if case .altered = self { true } else { false } }
    }

    /// Opens items in one turn of the enclave.
    ///
    /// An unconstrained item needs none where only attributes are wanted, or its key is kept. `moment` is from before the rows were read; nil:
    /// no key is kept.
    func open(
        _ items: [OpenItem], withData: Bool, for app: AppIdentity, context: String?, since moment: OpenedKeys.Moment?
    ) throws -> [OpenedSecret] {
        var opened = [OpenedSecret](repeating: .open(nil), count: items.count)
        var asked: [Int] = []
        for index in items.indices where withData || items[index].control.isConstrained {
            if let key = openedKeys.key(of: items[index]) {
                opened[index] = Self.opened(items[index].row, with: key)
            } else {
                asked.append(index)
            }
        }
        guard !asked.isEmpty else { return opened }
        let context = contexts.own(context, of: app)
        let reply = try enclave.call(
            EnclaveInterface.UnwrapKeys.self,
            .init(
                items: asked.map { index in
                    .init(
                        wrappedKey: items[index].row.wrappedKey,
                        binding: .init(
                            accessGroup: items[index].attributes.accessGroup, item: items[index].row.binding.bytes))
                }, app: app.identifier, context: context))
        guard reply.items.count == asked.count else { throw Status.internalError }
        rewrapping.add(
            zip(asked, reply.items).compactMap { index, answer in
                answer.rewrappedKey.flatMap { rewrapped(items[index].row, $0) }
            })
        for (index, answer) in zip(asked, reply.items) {
            let row = items[index].row
            switch (answer.state, answer.key) {
            case (.open, let key?):
                let key = SymmetricKey(data: key)
                opened[index] = withData ? Self.opened(row, with: key) : .open(nil)
                // One that is wrapped anew is another in a moment.
                if let moment, context == nil, answer.rewrappedKey == nil {
                    openedKeys.keep(key, of: items[index], since: moment)
                }
            case (.locked, _): opened[index] = .locked
            case (.authenticationNeeded, _):
                opened[index] = .authenticationNeeded(answer.accessControl ?? items[index].control)
            case (.altered, _): opened[index] = .altered
            case (.gone, _), (.open, nil): opened[index] = .gone
            }
        }
        return opened
    }

    static func opened(_ row: ItemRow, with key: SymmetricKey) -> OpenedSecret {
        guard let secret = row.secret else { return .open(nil) }
        guard let data = ItemCipher.openSecret(secret, key: key, binding: row.binding) else { return .gone }
        return .open(data)
    }

    /// The row's keys under the current class key, of which the enclave has made one; nil if it was locked meanwhile.
    private func rewrapped(_ row: ItemRow, _ wrappedKey: Data) -> Rewrapping.Row? {
        guard let rowID = row.rowID, let key = metadataKeys.withLock({ $0.open[row.accessibility] }) else { return nil }
        return .init(
            rowID: rowID, version: row.version, wrappedKey: wrappedKey,
            metadata: ItemCipher.rewrapMetadata(row.metadata, classKey: key, binding: row.binding))
    }

    /// Why a row can never be opened again, if it cannot.
    func loss(of row: ItemRow) throws -> ItemLoss? {
        let (key, isDestroyed) = metadataKeys.withLock {
            ($0.open[row.accessibility], $0.destroyed.contains(row.accessibility))
        }
        return try enclave.loss(of: row, metadataKey: key, isDestroyed: isDestroyed)
    }

    /// A row that is to be saved, with its key.
    struct SealedRow: Sendable {
        var row: ItemRow
        let key: SymmetricKey
        /// Before the key was wrapped.
        let moment: OpenedKeys.Moment
    }

    /// Makes a row of attributes and data, under fresh keys; without an `identifier`, of a new item.
    ///
    /// Not `hasTags`: it is written over one with the same tags.
    func seal(
        _ attributes: [AttributeKey: AttributeValue], control: AccessControl, data: Data?, itemClass: ItemClass,
        identifier: ItemIdentifier?, rowID: Int64?, identityTag: Data? = nil, hasTags: Bool = true,
        for app: AppIdentity, context: String?
    ) throws -> SealedRow {
        let moment = openedKeys.moment
        let group = attributes.accessGroup
        let kind = SpareKeys.Kind(group, itemClass, control, of: identifier)
        let itemKey =
            try kind.flatMap { spares(of: $0).take($0) }
            ?? wrap(
                WrappedItemKey(itemClass, identifier ?? .random()), control, group, kind, for: app, context: context)
        let binding = itemKey.binding
        guard let metadataKey = metadataKeys.withLock({ $0.open[control.protection]?.current }) else {
            throw Refusal(.interactionNotAllowed, RefusalCause(locked: control.protection), control)
        }
        var metadata = attributes
        metadata[.accessControl] = .accessControl(control)
        let row = ItemRow(
            rowID: rowID, itemClass: itemClass, identifier: binding.identifier, version: binding.version,
            accessibility: control.protection,
            identityTag: identityTag ?? ItemCipher.identityTag(attributes, in: itemClass, key: lookupKey),
            metadata: try ItemCipher.sealMetadata(metadata, classKey: metadataKey, binding: binding),
            wrappedKey: itemKey.wrappedKey,
            secret: try data.map { try ItemCipher.sealSecret($0, key: itemKey.key, binding: binding) },
            tags: hasTags ? tags(of: attributes, in: itemClass) : [:], isGuarded: control.isConstrained)
        return SealedRow(row: row, key: itemKey.key, moment: moment)
    }

    /// Saves the row; its key stays open, because the app has just given what is under it (DEC-581).
    ///
    /// With `keepsTags` it takes the place of one with the same tags, and has none itself.
    ///
    /// - Returns: The row as it is in the database.
    func save(
        _ sealed: SealedRow, _ attributes: [AttributeKey: AttributeValue], _ control: AccessControl,
        in writer: KeychainStore.KeychainWriter, keepsTags: Bool = false
    ) throws -> ItemRow {
        var row = sealed.row
        let rowID: Int64
        if keepsTags, let place = row.rowID, try writer.overwrite(row) {
            rowID = place
        } else {
            if keepsTags { row.tags = tags(of: attributes, in: row.itemClass) }
            rowID = try writer.save(row)
        }
        row.rowID = rowID
        let item = OpenItem(row: row, attributes: attributes, control: control)
        openedKeys.keep(sealed.key, of: item, since: sealed.moment)
        writer.changed.keep(rowID, row.binding)
        return row
    }

    private func spares(of kind: SpareKeys.Kind) -> SpareKeys {
        kind.identifier == nil ? spareKeys : spareKeysOfItems
    }

    /// Has the enclave wrap an item's key, and of a `kind` as many more as were asked for lately.
    private func wrap(
        _ itemKey: WrappedItemKey, _ control: AccessControl, _ group: AccessGroup, _ kind: SpareKeys.Kind?,
        for app: AppIdentity, context: String?
    ) throws -> WrappedItemKey {
        let asked = kind.map { self.spares(of: $0).ask(for: $0) }
        var spares = (0..<(asked?.count ?? 0)).map { _ in
            WrappedItemKey(itemKey.binding.itemClass, kind?.identifier ?? .random())
        }
        let wrapped: EnclaveInterface.WrapKey.Reply
        do {
            wrapped = try enclave.call(
                EnclaveInterface.WrapKey.self,
                .init(
                    accessControl: control, binding: .init(accessGroup: group, item: itemKey.binding.bytes),
                    key: itemKey.keyBytes, app: app.identifier, context: contexts.own(context, of: app),
                    spares: spares.isEmpty ? nil : spares.map { .init(item: $0.binding.bytes, key: $0.keyBytes) }))
        } catch let error as RemoteError {
            let failed = error.as(EnclaveInterface.NotWrapped.self)
            let status = failed.map { Status(rawValue: $0.status) }
            // AC-21, AC-48: the context lacks the application password.
            if status == .authNeeded {
                throw ProofNeeded(proofs: [WantedProof(accessControl: control, operation: .createItem)])
            }
            // The enclave has logged what it refused.
            if let status, let cause = failed?.reason.flatMap(RefusalCause.init) {
                throw KeychainInterface.Failed(status, cause, control)
            }
            throw status ?? .internalError
        }
        // The passcode was changed a moment ago: an earlier metadata key would open what is written from now on.
        if wrapped.generation ?? 0 != metadataKeys.withLock({ $0.generation }) { try readKeys() }
        if let kind, let asked, let keys = wrapped.spares, keys.count == spares.count {
            for index in spares.indices { spares[index].wrappedKey = keys[index] }
            self.spares(of: kind).add(spares, kind, since: asked.moment)
        }
        var itemKey = itemKey
        itemKey.wrappedKey = wrapped.wrappedKey
        return itemKey
    }
}

extension [AttributeKey: AttributeValue] {
    var accessGroup: AccessGroup {
        if case .string(let group)? = self[.accessGroup] { AccessGroup(group) } else { "" }
    }
}
