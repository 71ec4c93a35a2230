import Crypto
package import Foundation
import GRDB
import Synchronization
import TouchstoneCore
package import TouchstoneTransport

/// `io.touchstone.Keychain`: items, queries, access groups; ciphertext only.
///
/// What wants the owner it cannot open without the enclave.
///
/// > Source: sections 5 and 6 of the rules, sections 3 to 8 of the primary-key table.
package final class KeychainService: Sendable {
    private let store: KeychainStore
    private let enclave: VarlinkClient
    private let lookupKey: SymmetricKey
    private let metadataKeys = Mutex(MetadataKeys())
    private let refreshing = NSLock()
    private let now: @Sendable () -> Date

    /// The metadata keys of the classes that are open now (KC-10, KC-15).
    private struct MetadataKeys {
        var open: [Accessibility: SymmetricKey] = [:]
        var destroyed: Set<Accessibility> = []
    }

    /// - Throws: what the enclave or the store throw.
    package init(
        store: KeychainStore, enclave: VarlinkClient, now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        self.store = store
        self.enclave = enclave
        self.now = now
        lookupKey = SymmetricKey(data: try enclave.call(EnclaveInterface.GetLookupKey.self, Empty()).key)
        try refreshKeys()
    }

    package var interface: VarlinkInterface {
        VarlinkInterface(
            name: KeychainInterface.name, description: PackageResources.io_touchstone_Keychain_varlink,
            handlers: [
                .method(KeychainInterface.Add.self) { [self] request, connection in
                    try reporting { .init(item: try add(request, for: connection.identity())) }
                },
                .method(KeychainInterface.CopyMatching.self) { [self] request, connection in
                    try reporting { .init(items: try copyMatching(request, for: connection.identity())) }
                },
                .method(KeychainInterface.Update.self) { [self] request, connection in
                    try reporting {
                        try update(request, for: connection.identity())
                        return Empty()
                    }
                },
                .method(KeychainInterface.Delete.self) { [self] request, connection in
                    try reporting {
                        try delete(request, for: connection.identity())
                        return Empty()
                    }
                },
            ])
    }

    /// To be called whenever the device was locked, unlocked, or its passcode changed.
    package func refreshKeys() throws {
        // One after the other, so that an older answer never stands over a newer one.
        refreshing.lock()
        defer { refreshing.unlock() }
        let reply = try enclave.call(EnclaveInterface.GetMetadataKeys.self, Empty())
        var keys = MetadataKeys()
        for (code, key) in reply.keys {
            if let accessibility = Accessibility(rawValue: code) { keys.open[accessibility] = SymmetricKey(data: key) }
        }
        keys.destroyed = Set(reply.destroyed.compactMap(Accessibility.init))
        metadataKeys.withLock { $0 = keys }
    }

    /// Turns whatever went wrong into the one answer a client gets.
    private func reporting<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let status as Status {
            throw KeychainInterface.Failed(status)
        } catch let error as DatabaseError {
            throw KeychainInterface.Failed(Status(error))
        } catch is TransportError {
            throw KeychainInterface.Failed(.notAvailable)
        }
    }

    // MARK: add

    private func add(_ request: KeychainInterface.Add.Parameters, for app: AppIdentity) throws -> KeychainInterface.Item
    {
        let query = try KeychainQuery(request.attributes).checkedForAdd()
        let itemClass = query.itemClass
        var attributes = query.attributes
        attributes["agrp"] = .string(try accessGroup(query.attributes, of: app))
        attributes["sync"] = .number(query.synchronizable == true ? 1 : 0)
        for attribute in itemClass.attributes where attributes[attribute.key] == nil {
            if let absent = attribute.absent { attributes[attribute.key] = absent }
        }
        let control =
            try query.accessControl
            ?? AccessControl(protection: query.accessibility ?? .whenUnlocked, flags: [])
        let date = now().timeIntervalSinceReferenceDate
        attributes["cdat"] = .date(date)
        attributes["mdat"] = .date(date)
        let identityTag = ItemCipher.identityTag(attributes, in: itemClass, key: lookupKey)
        let row = try store.write { writer in
            if let existing = try writer.row(identityTag: identityTag), let rowID = existing.rowID {
                // KC-31: a row that can never be opened again is replaced. KC-32: whether it can is decided without asking anybody.
                guard try isGone(existing, accessGroup: attributes.accessGroup) else { throw Status.duplicateItem }
                try writer.delete(rowID: rowID)
            }
            let row = try seal(
                attributes, control: control, data: query.data, itemClass: itemClass, identifier: .random(), rowID: nil)
            try writer.save(row)
            return row
        }
        let item = OpenItem(row: row, attributes: attributes, control: control, data: query.data)
        return item.result(for: query)
    }

    // MARK: search

    private func copyMatching(_ request: KeychainInterface.CopyMatching.Parameters, for app: AppIdentity) throws
        -> [KeychainInterface.Item]
    {
        let query = try KeychainQuery(request.query).checkedForSearch()
        let found = try search(query, for: app, context: request.context)
        guard !found.isEmpty else { throw Status.itemNotFound }
        return found.map { $0.result(for: query) }
    }

    /// Rows to open in one turn of the enclave.
    private static let chunk = 256
    /// Most bytes of secrets that one call gives: they and their base64 are in memory at once.
    private static let resultBytes = 32 << 20

    /// Searches, in `writer`'s transaction where what is found is to be written again.
    private func search(
        _ query: KeychainQuery, for app: AppIdentity, context: String?, in writer: KeychainStore.KeychainWriter? = nil
    ) throws -> [OpenItem] {
        let limit = query.limit ?? .max
        guard limit > 0 else { return [] }
        var found: [OpenItem] = []
        var gone: [ItemRow] = []
        var unreadable: [ItemRow] = []
        var needed: [KeychainInterface.ConstrainedOperation] = []
        var blocked = 0
        var bytes = 0
        var candidates: [OpenItem] = []

        func openCandidates() throws {
            let opened = try open(candidates, withData: query.returnsData, for: app, context: context)
            for (item, state) in zip(candidates, opened) {
                switch state {
                case .open(let data):
                    var item = item
                    item.data = data
                    bytes += data?.count ?? 0
                    guard bytes <= Self.resultBytes else { throw Status.allocate }
                    found.append(item)
                case .gone: gone.append(item.row)
                case .locked: throw Status.interactionNotAllowed
                case .authenticationNeeded:
                    // AC-41: Skip leaves it out.
                    if query.authenticationUI == .skip { continue }
                    blocked += 1
                    let operation = KeychainInterface.ConstrainedOperation(
                        accessControl: item.control, operation: .useItem)
                    if !needed.contains(operation) { needed.append(operation) }
                }
            }
            candidates = []
        }

        func visit(_ row: ItemRow) throws -> Bool {
            switch try openMetadata(row) {
            case .gone: unreadable.append(row)
            case .open(let item):
                if matches(item, query, groups) { candidates.append(item) }
            }
            let missing = limit - found.count - blocked
            if candidates.count >= min(missing, Self.chunk) { try openCandidates() }
            // AC-23: a protected row that is reached first forces the prompt.
            return found.count + blocked < limit
        }
        let groups = try searchedGroups(query, of: app)
        let filter = try filter(query, for: app)
        if let writer { try writer.scan(filter, visit) } else { try store.read(filter, visit) }
        try openCandidates()
        // What cannot be cleaned up now stays, and stays absent.
        try? remove(gone: gone, unreadable: unreadable, in: writer)
        guard needed.isEmpty else {
            // AC-41, AC-42: nobody may be asked.
            if query.authenticationUI == .fail { throw Status.interactionNotAllowed }
            throw KeychainInterface.AuthenticationNeeded(operations: needed)
        }
        return found.count > limit ? Array(found.prefix(limit)) : found
    }

    /// KC-16: what can never be opened again is absent, and goes.
    ///
    /// Where only our metadata keys say so they are asked for anew first: they may be of a moment ago.
    private func remove(gone: [ItemRow], unreadable: [ItemRow], in writer: KeychainStore.KeychainWriter?) throws {
        guard !gone.isEmpty || !unreadable.isEmpty else { return }
        guard let writer else {
            return try store.write { try remove(gone: gone, unreadable: unreadable, in: $0) }
        }
        if !unreadable.isEmpty { try refreshKeys() }
        for row in gone { try writer.delete(row) }
        for row in unreadable {
            if case .gone = try openMetadata(row) { try writer.delete(row) }
        }
    }

    // MARK: update

    private func update(_ request: KeychainInterface.Update.Parameters, for app: AppIdentity) throws {
        var query = try KeychainQuery(request.query).checkedForChange(isUpdate: true)
        query.returnsData = true
        let changes = try Changes(request.attributes, of: query, groups: accessGroups(of: app))
        let date = now().timeIntervalSinceReferenceDate
        // Found and written in one transaction: what another call does to the same rows comes before or after.
        try store.write { writer in
            let found = try search(query, for: app, context: request.context, in: writer)
            guard !found.isEmpty else { throw Status.itemNotFound }
            for item in found {
                let (attributes, control, data) = try changes.applied(to: item, now: date)
                let row = try seal(
                    attributes, control: control, data: data, itemClass: item.row.itemClass,
                    identifier: item.row.identifier, rowID: item.row.rowID)
                if row.identityTag != item.row.identityTag, let other = try writer.row(identityTag: row.identityTag),
                    let rowID = other.rowID
                {
                    guard try isGone(other, accessGroup: attributes.accessGroup) else { throw Status.duplicateItem }
                    try writer.delete(rowID: rowID)
                }
                try writer.save(row)
            }
        }
    }

    // MARK: delete

    /// Asks nobody and opens nothing, so it works while locked (KC-36, AC-24).
    private func delete(_ request: KeychainInterface.Delete.Parameters, for app: AppIdentity) throws {
        let query = try KeychainQuery(request.query).checkedForChange(isUpdate: false)
        let filter = try filter(query, for: app)
        let looksInside = query.needsMetadata
        let groups = try searchedGroups(query, of: app)
        let count = try store.write { writer in
            var rows: [Int64] = []
            try writer.scan(filter) { row in
                guard let rowID = row.rowID else { return true }
                if looksInside, case .open(let item) = try openMetadata(row), !matches(item, query, groups) {
                    return true
                }
                rows.append(rowID)
                return true
            }
            for rowID in rows { try writer.delete(rowID: rowID) }
            return rows.count
        }
        if count == 0 { throw Status.itemNotFound }
    }

    // MARK: access groups

    /// In order; the first is the default (KC-40, KC-41).
    private func accessGroups(of app: AppIdentity) -> [String] { app.accessGroups }

    private func accessGroup(_ attributes: [String: AttributeValue], of app: AppIdentity) throws(Status) -> String {
        let groups = accessGroups(of: app)
        guard case .string(let asked)? = attributes["agrp"] else { return groups[0] }
        // KC-42
        guard groups.contains(asked) else { throw .missingEntitlement }
        return asked
    }

    private func searchedGroups(_ query: KeychainQuery, of app: AppIdentity) throws(Status) -> [String] {
        query.attributes["agrp"] == nil ? accessGroups(of: app) : [try accessGroup(query.attributes, of: app)]
    }

    func filter(_ query: KeychainQuery, for app: AppIdentity) throws(Status) -> RowFilter {
        let groups = try searchedGroups(query, of: app)
        let itemClass = query.itemClass
        var filter = RowFilter(
            itemClass: itemClass, identifier: query.persistentReference,
            accessGroupTags: groups.compactMap { tag("agrp", .string($0), in: itemClass) },
            accessibility: query.accessibility, tags: [:])
        for (key, value) in query.attributes where key != "agrp" {
            if let tag = tag(key, value, in: itemClass) { filter.tags[key] = tag }
        }
        // KC-33: only what does not synchronise, unless it is said or a persistent reference names the row.
        if let synchronizable = query.synchronizable, query.persistentReference == nil {
            filter.tags["sync"] = tag("sync", .number(synchronizable ? 1 : 0), in: itemClass)
        }
        return filter
    }

    private func tag(_ key: String, _ value: AttributeValue, in itemClass: ItemClass) -> Data? {
        guard let attribute = itemClass.attribute(key), attribute.hasTag else { return nil }
        return ItemCipher.tag(attribute, value, in: itemClass, key: lookupKey)
    }

    // MARK: rows

    private enum OpenedMetadata {
        case open(OpenItem)
        case gone
    }

    /// - Throws: `.interactionNotAllowed` where the class is locked (KC-15, KC-20).
    private func openMetadata(_ row: ItemRow) throws(Status) -> OpenedMetadata {
        let (key, isDestroyed) = metadataKeys.withLock {
            ($0.open[row.accessibility], $0.destroyed.contains(row.accessibility))
        }
        guard let key else {
            if isDestroyed { return .gone }
            throw .interactionNotAllowed
        }
        guard var attributes = ItemCipher.openMetadata(row.metadata, classKey: key, binding: row.binding),
            case .accessControl(let control)? = attributes.removeValue(forKey: "accc"),
            control.protection == row.accessibility
        else { return .gone }
        return .open(OpenItem(row: row, attributes: attributes, control: control, data: nil))
    }

    /// Holds the attributes themselves against the query: a tag may have been tampered with, a date has none.
    private func matches(_ item: OpenItem, _ query: KeychainQuery, _ groups: [String]) -> Bool {
        guard groups.contains(item.attributes.accessGroup) else { return false }
        return query.attributes.allSatisfy { key, value in
            guard let attribute = item.row.itemClass.attribute(key) else { return false }
            guard let kept = item.attributes[key] else { return attribute.comparable(value).isEmpty }
            return attribute.comparable(kept) == attribute.comparable(value)
        }
    }

    private enum OpenedSecret {
        case open(Data?)
        case gone, locked, authenticationNeeded
    }

    /// Opens items in one turn of the enclave.
    ///
    /// An unconstrained item of which only attributes are wanted needs none.
    private func open(_ items: [OpenItem], withData: Bool, for app: AppIdentity, context: String?) throws
        -> [OpenedSecret]
    {
        let asked = items.indices.filter { withData || items[$0].control.isConstrained }
        var opened = [OpenedSecret](repeating: .open(nil), count: items.count)
        guard !asked.isEmpty else { return opened }
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
        for (index, answer) in zip(asked, reply.items) {
            let row = items[index].row
            switch (answer.state, answer.key) {
            case (.open, let key?):
                if !withData || row.secret == nil {
                    opened[index] = .open(nil)
                } else if let secret = row.secret,
                    let data = ItemCipher.openSecret(secret, key: SymmetricKey(data: key), binding: row.binding)
                {
                    opened[index] = .open(data)
                } else {
                    opened[index] = .gone
                }
            case (.locked, _): opened[index] = .locked
            case (.authenticationNeeded, _): opened[index] = .authenticationNeeded
            case (.gone, _), (.open, nil): opened[index] = .gone
            }
        }
        return opened
    }

    /// Whether a row can never be opened again, as far as can be told without asking anybody (KC-31, KC-32).
    private func isGone(_ row: ItemRow, accessGroup: String) throws -> Bool {
        guard let metadata = try? openMetadata(row) else { return false }
        if case .gone = metadata { return true }
        let binding = EnclaveInterface.ItemBinding(accessGroup: accessGroup, item: row.binding.bytes)
        let reply = try enclave.call(
            EnclaveInterface.UnwrapKeys.self,
            .init(items: [.init(wrappedKey: row.wrappedKey, binding: binding)], app: "", context: nil))
        guard let opened = reply.items.first else { throw Status.internalError }
        if let key = opened.key, let secret = row.secret {
            return ItemCipher.openSecret(secret, key: SymmetricKey(data: key), binding: row.binding) == nil
        }
        return opened.state == .gone
    }

    /// Makes a row of attributes and data, under fresh keys.
    private func seal(
        _ attributes: [String: AttributeValue], control: AccessControl, data: Data?, itemClass: ItemClass,
        identifier: ItemIdentifier, rowID: Int64?
    ) throws -> ItemRow {
        let binding = ItemCipher.Binding(
            itemClass: itemClass, identifier: identifier, version: ItemIdentifier.random().bytes)
        let itemKey = SymmetricKey(size: .bits256)
        let wrappedKey: Data
        do {
            wrappedKey = try enclave.call(
                EnclaveInterface.WrapKey.self,
                .init(
                    accessControl: control,
                    binding: .init(accessGroup: attributes.accessGroup, item: binding.bytes),
                    key: unsafe itemKey.withUnsafeBytes { unsafe Data($0) })
            ).wrappedKey
        } catch let error as RemoteError {
            throw error.as(EnclaveInterface.NotWrapped.self).map { Status(rawValue: $0.status) } ?? .internalError
        }
        guard let metadataKey = metadataKeys.withLock({ $0.open[control.protection] }) else {
            throw Status.interactionNotAllowed
        }
        var metadata = attributes
        metadata["accc"] = .accessControl(control)
        var tags: [String: Data] = [:]
        for (key, value) in attributes { tags[key] = tag(key, value, in: itemClass) }
        return ItemRow(
            rowID: rowID, itemClass: itemClass, identifier: identifier, version: binding.version,
            accessibility: control.protection,
            identityTag: ItemCipher.identityTag(attributes, in: itemClass, key: lookupKey),
            metadata: try ItemCipher.sealMetadata(metadata, classKey: metadataKey, binding: binding),
            wrappedKey: wrappedKey,
            secret: try data.map { try ItemCipher.sealSecret($0, key: itemKey, binding: binding) }, tags: tags)
    }
}

extension KeychainQuery {
    /// Whether it asks for what only decrypted attributes tell.
    fileprivate var needsMetadata: Bool {
        attributes.keys.contains { key in
            guard let attribute = itemClass.attribute(key) else { return false }
            return !attribute.hasTag
        }
    }
}

extension [String: AttributeValue] {
    var accessGroup: String {
        if case .string(let group)? = self["agrp"] { group } else { "" }
    }
}

extension Status {
    /// Section 10 of the primary-key table.
    fileprivate init(_ error: DatabaseError) {
        switch error.resultCode {
        case .SQLITE_CONSTRAINT: self = .duplicateItem
        case .SQLITE_NOMEM: self = .allocate
        case .SQLITE_IOERR, .SQLITE_FULL: self = .io
        default: self = .notAvailable
        }
    }
}
