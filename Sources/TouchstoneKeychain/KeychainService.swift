package import Foundation
import GRDB
import Synchronization
import TouchstoneCore
package import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
package import TouchstoneTransport

/// `io.touchstone.Keychain`: items, queries, access groups; ciphertext only.
///
/// What wants the owner it cannot open without the enclave.
///
/// > Source: sections 5 and 6 of the rules, sections 3 to 8 of the primary-key table.
package final class KeychainService: Sendable {
    let store: KeychainStore
    let enclave: EnclaveClient
    let contexts: ContextOwners
    private let broker: any ProofBroker
    private let largeRequests = LargeRequests()
    private let refusals: RefusalNotes
    let lookupKey: LookupKey
    let metadataKeys = Mutex(MetadataKeys())
    let openedKeys = OpenedKeys()
    /// Of items that are still to be added.
    let spareKeys = SpareKeys(maximumKinds: 64, maximumOfKind: 16)
    /// Of items that are changed again.
    let spareKeysOfItems = SpareKeys(maximumKinds: 512, maximumOfKind: 4)
    let rememberedReads: RememberedReads
    let rewrapping: Rewrapping
    private let recorder: ItemRecorder
    private let refreshing = NSLock()
    private let erasing = NSLock()
    let now: @Sendable () -> Date
    /// Calls that have a thread: what the enclave or the disk keeps waiting.
    let calls = Turns(.calls)
    /// Searches that have a thread, until it is known whether they find one item or more.
    let reads = Turns(.asking)
    /// Searches under way.
    let searches = Turns(KeychainService.searchLimits)
    /// Large results of searches.
    let results: Turns

    /// `afterLargeResults` is called when large results were given, and nobody waits for another.
    ///
    /// - Throws: what the enclave or the store throw.
    package init(
        store: KeychainStore, enclave: EnclaveClient, contexts: ContextOwners, broker: any ProofBroker,
        refusals: RefusalNotes? = nil,
        afterLargeResults: (@Sendable () -> Void)? = nil, now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        self.store = store
        self.enclave = enclave
        self.contexts = contexts
        self.broker = broker
        self.refusals = refusals ?? RefusalNotes(enclave: enclave)
        self.now = now
        rewrapping = Rewrapping(store)
        rememberedReads = RememberedReads(store.version)
        results = Turns(Self.resultLimits, whenIdle: afterLargeResults)
        recorder = ItemRecorder(enclave)
        lookupKey = LookupKey(try enclave.call(EnclaveInterface.GetLookupKey.self, Empty()).key)
        try store.record(with: recorder)
        store.observe(openedKeys)
        try refreshKeys()
    }

    /// Returns once what was wrapped anew so far is in its rows, or was given up.
    package func settleRewrapping() { rewrapping.settle() }

    package var interface: VarlinkInterface {
        VarlinkInterface(
            name: KeychainInterface.name, description: KeychainInterface.file,
            handlers: [
                .deferred(KeychainInterface.Add.self) { [self] request, call in
                    write(call, request.context, request.options) {
                        .init(item: try $0.add(request, for: $1, context: $2))
                    }
                },
                .deferred(
                    KeychainInterface.CopyMatching.self, recalling: { [self] in recalled($0, on: $1) }
                ) { [self] request, call in
                    ProvenCall.begin(call, proofs(of: call, request.context, request.options)) { [self] call in
                        call.connection.perform(inTurnOf: reads) { [self] _ in copyMatching(request, call) }
                    }
                },
                .deferred(KeychainInterface.Update.self) { [self] request, call in
                    write(call, request.context, request.options) {
                        try $0.update(request, for: $1, context: $2)
                        return Empty()
                    }
                },
                .deferred(KeychainInterface.Delete.self) { [self] request, call in
                    write(call, nil, nil) { service, app, _ in
                        try service.delete(request, for: app)
                        return Empty()
                    }
                },
            ])
    }

    /// To be called whenever the device was locked, unlocked or erased, or its passcode changed; not within a write.
    ///
    /// Deletes the items of a device that was erased (PC-02) before any of the new one is added: until then no class is open. Where that
    /// fails the next call tries again.
    package func refreshKeys() throws {
        // Where it fails nothing is protected by it yet, and the next call tries again.
        defer { try? recordItems() }
        guard try readKeys() else { return }
        erasing.lock()
        defer { erasing.unlock() }
        guard try readKeys() else { return }
        try store.eraseItems()
        recorder.forget()
        _ = try enclave.call(EnclaveInterface.ConfirmErasure.self, Empty())
        try readKeys()
    }

    /// Has the enclave record the rows with an access control that are there, once in a device's life: it is new, or older than this record.
    ///
    /// Of the latter's rows nobody knows which they are until every class has been open.
    private func recordItems() throws {
        guard !recorder.isRecorded else { return }
        let isAllKnown = metadataKeys.withLock { keys in
            Accessibility.allCases.allSatisfy { keys.open[$0] != nil || keys.destroyed.contains($0) }
        }
        guard isAllKnown else { return }
        // A lock may come while this goes on; then it is done again after the next unlock.
        var wasLocked = false
        try store.markGuardedRows { row in
            do throws(Refusal) {
                guard case .open(let item) = try openMetadata(row) else { return false }
                return item.control.isConstrained
            } catch {
                wasLocked = true
                return false
            }
        }
        guard !wasLocked else { return }
        _ = try store.compareItems(takes: true)
    }

    /// - Returns: Whether the items are still those of a device that was erased.
    @discardableResult
    func readKeys() throws -> Bool {
        // One after the other, so that an older answer never stands over a newer one.
        refreshing.lock()
        defer { refreshing.unlock() }
        let keys: MetadataKeys
        let reply: EnclaveInterface.GetMetadataKeys.Reply
        do {
            reply = try enclave.call(EnclaveInterface.GetMetadataKeys.self, Empty())
            keys = MetadataKeys(reply)
        } catch {
            // Which classes are open is not known.
            openedKeys.forgetAll()
            forgetSpareKeys()
            throw error
        }
        metadataKeys.withLock { $0 = keys }
        forgetSpareKeys()
        openedKeys.forgetAll(but: Set(keys.open.keys), generation: keys.generation)
        return reply.isErasurePending
    }

    private func forgetSpareKeys() {
        spareKeys.forgetAll()
        spareKeysOfItems.forgetAll()
    }

    private func proofs<M: VarlinkMethod>(
        of call: VarlinkCall<M>, _ context: String?, _ options: AuthenticationInterface.Options?
    ) -> CallProofs {
        CallProofs(broker, for: call.connection, context: context, options: options, largeRequests: largeRequests)
    }

    /// Answers on the connection's own thread: a write waits for the disk, and for other writes.
    ///
    /// `body` takes the app and the context that the call is made on.
    private func write<M: VarlinkMethod>(
        _ call: VarlinkCall<M>, _ context: String?, _ options: AuthenticationInterface.Options?,
        _ body: @escaping @Sendable (KeychainService, AppIdentity, String?) throws -> M.Reply
    ) {
        ProvenCall.begin(call, proofs(of: call, context, options)) { [self] call in
            call.connection.perform(inTurnOf: calls) { [self] _ in
                answer(call) { try body(self, call.connection.identity(), call.proofs.context) }
            }
        }
    }

    /// Gives what `body` returns as the answer, and waits until it is taken where that is asked for; nil is one that comes later.
    ///
    /// Where the owner's proof is needed it is had first, and the call goes on.
    func answer<M: VarlinkMethod>(_ call: ProvenCall<M>, isWaited: Bool = false, _ body: () throws -> M.Reply?) {
        do {
            guard let reply = try reporting(to: call.connection, call.proofs.context, body) else { return }
            isWaited ? call.call.replyWhenTaken(reply) : call.call.reply(reply)
        } catch let needed as ProofNeeded {
            call.wait(for: needed) { [self] error in answer(call) { throw error } }
        } catch let error as any VarlinkError {
            call.call.fail(error)
        } catch {
            call.call.drop()
        }
    }

    /// Turns whatever went wrong into the one answer a client gets.
    private func reporting<R>(
        to connection: VarlinkConnection, _ context: String?, _ body: () throws -> R
    ) throws -> R {
        do {
            return try body()
        } catch let refusal as Refusal {
            note(refusal, of: try connection.identity(), context)
            throw KeychainInterface.Failed(refusal)
        } catch let error as ProofNotGiven {
            throw KeychainInterface.Failed(error.failed, error.accessControl)
        } catch let status as Status where status == .missingEntitlement {
            // KC-42: there is no other.
            let app = try connection.identity()
            refusals.note(.foreignAccessGroup, of: app, for: contexts.client(of: context, of: app))
            throw KeychainInterface.Failed(status, .foreignAccessGroup)
        } catch let refused as RefusedKey {
            throw KeychainInterface.Failed(refused)
        } catch let status as Status {
            throw KeychainInterface.Failed(status)
        } catch let error as DatabaseError {
            throw KeychainInterface.Failed(Status(error))
        } catch is TransportError {
            throw KeychainInterface.Failed(.notAvailable, .deviceNotWorking)
        }
    }

    /// Has the log tell of it.
    func note(_ refusal: Refusal, of app: AppIdentity, _ context: String?) {
        refusals.note(
            refusal.cause, of: app, for: contexts.client(of: context, of: app), refusal.accessControl?.requirement)
    }

    // MARK: access groups

    /// In order; the first is the default (KC-40, KC-41).
    func accessGroups(of app: AppIdentity) -> [AccessGroup] { app.accessGroups }

    func accessGroup(_ attributes: [AttributeKey: AttributeValue], of app: AppIdentity) throws(Status) -> AccessGroup {
        let groups = accessGroups(of: app)
        guard case .string(let asked)? = attributes[.accessGroup] else { return groups[0] }
        // KC-42
        guard groups.contains(AccessGroup(asked)) else { throw .missingEntitlement }
        return AccessGroup(asked)
    }

    func searchedGroups(_ query: KeychainQuery, of app: AppIdentity) throws(Status) -> [AccessGroup] {
        // KC-40: every app may look into the group of tokens, and nobody adds to it. No token is here that has items.
        if query.attributes[.accessGroup] == .string(Self.tokenGroup.rawValue) { return [Self.tokenGroup] }
        return query.attributes[.accessGroup] == nil
            ? accessGroups(of: app) : [try accessGroup(query.attributes, of: app)]
    }

    /// The value of `kSecAttrAccessGroupToken`.
    private static var tokenGroup: AccessGroup { "com.apple.token" }

    func filter(_ query: KeychainQuery, for app: AppIdentity) throws(Status) -> RowFilter {
        let groups = try searchedGroups(query, of: app)
        let itemClass = query.itemClass
        var filter = RowFilter(
            itemClass: itemClass, identifier: query.persistentReference,
            accessGroupTags: groups.compactMap { tag(.accessGroup, .string($0.rawValue), in: itemClass) },
            accessibility: query.accessibility, tags: [:])
        for (key, value) in query.attributes where key != .accessGroup {
            if let tag = tag(key, value, in: itemClass) { filter.tags[key] = tag }
        }
        // KC-33: only what does not synchronise, unless it is said or a persistent reference names the row.
        if let synchronizable = query.synchronizable, query.persistentReference == nil {
            filter.tags[.synchronizable] = tag(.synchronizable, .number(synchronizable ? 1 : 0), in: itemClass)
        }
        return filter
    }

    /// Tags of all attributes that have one.
    func tags(of attributes: [AttributeKey: AttributeValue], in itemClass: ItemClass) -> [AttributeKey: Data] {
        ItemCipher.tags(of: attributes, in: itemClass, key: lookupKey)
    }

    func tag(_ key: AttributeKey, _ value: AttributeValue, in itemClass: ItemClass) -> Data? {
        guard let attribute = itemClass.attribute(key), attribute.hasTag else { return nil }
        return ItemCipher.tag(attribute, value, in: itemClass, key: lookupKey)
    }
}

extension Status {
    /// Section 10 of the primary-key table.
    init(_ error: DatabaseError) {
        switch error.resultCode {
        case .SQLITE_CONSTRAINT: self = .duplicateItem
        case .SQLITE_NOMEM: self = .allocate
        case .SQLITE_IOERR: self = .io
        case .SQLITE_FULL: self = .diskFull
        case .SQLITE_READONLY: self = .readOnly
        default: self = .notAvailable
        }
    }
}
