import Crypto
import Dispatch
import Foundation
import Synchronization
import TouchstoneCore
package import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
package import TouchstoneTransport

/// `io.touchstone.Inspector`: what goes on inside a simulated device, for its owner to look at.
///
/// Whether something could be opened the enclave says; nothing is opened for it, and nobody is asked.
package final class InspectorService: Sendable {
    private let store: KeychainStore
    private let keychain: KeychainService
    private let enclave: EnclaveClient
    private let trace: MessageTrace
    package let isSimulated: Bool
    private let ownerID: UInt32
    /// Carries what watchers are told, in the order in which it happened.
    private let queue = DispatchQueue(label: "io.touchstone.inspector")
    private let state = Mutex(State())

    private struct State {
        var watchers: [ObjectIdentifier: Watcher] = [:]
        var itemsRevision = 0
        var isTelling = false
    }

    private struct Watcher: Sendable {
        var call: VarlinkCall<InspectorInterface.Watch>
        var told: InspectorInterface.Watch.Reply?
    }

    enum Limits {
        static let watchers = 16
        /// What happens within so long of one another is told once.
        static let pause = DispatchTimeInterval.milliseconds(30)
    }

    /// `trace` sees the messages; of a device that is not simulated nobody is told them.
    ///
    /// - Throws: what the enclave throws.
    package init(
        store: KeychainStore, keychain: KeychainService, enclave: EnclaveClient, trace: MessageTrace, ownerID: UInt32
    ) throws {
        self.store = store
        self.keychain = keychain
        self.enclave = enclave
        self.trace = trace
        self.ownerID = ownerID
        isSimulated = try enclave.call(EnclaveInterface.GetFacts.self, .init(app: "")).facts.isSimulated
        if isSimulated { store.observe { [weak self] in self?.changed() } }
    }

    package var interface: VarlinkInterface {
        VarlinkInterface(
            name: InspectorInterface.name, description: InspectorInterface.file,
            ownerID: ownerID,
            handlers: [
                owner(InspectorInterface.ListItems.self) { [self] request, call, owner in
                    call.reply(try items(after: request.after, owner))
                },
                owner(InspectorInterface.Watch.self) { [self] _, call, owner in
                    guard call.wantsMore else { throw VarlinkServiceError.ExpectedMore() }
                    try watch(call, owner)
                },
                owner(InspectorInterface.WatchMessages.self) { [self] _, call, owner in
                    guard call.wantsMore else { throw VarlinkServiceError.ExpectedMore() }
                    try watchMessages(call, owner)
                },
            ])
    }

    /// To be called after anything that may have changed which keys are where, or what can be opened.
    package func changed() {
        let isFirst = state.withLock { state in
            state.itemsRevision += 1
            guard !state.watchers.isEmpty, !state.isTelling else { return false }
            state.isTelling = true
            return true
        }
        if isFirst { queue.asyncAfter(deadline: .now() + Limits.pause) { [self] in tellWatchers() } }
    }

    /// A method for the owner of a simulated device, on the connection's own thread.
    private func owner<M: VarlinkMethod>(
        _ method: M.Type, _ body: @escaping @Sendable (M.Parameters, VarlinkCall<M>, IsOwner) throws -> Void
    ) -> OwnerHandler {
        .deferred(method) { [self] request, call, owner in
            do {
                guard isSimulated else { throw DeviceInterface.NotSimulated() }
                try body(request, call, owner)
            } catch {
                call.answer(.failure(error))
            }
        }
    }

    // MARK: keys

    private func watch(_ call: VarlinkCall<InspectorInterface.Watch>, _ owner: IsOwner) throws {
        let key = ObjectIdentifier(call.connection)
        let isTaken = state.withLock { state in
            guard state.watchers.count < Limits.watchers else { return false }
            state.watchers[key] = Watcher(call: call)
            return true
        }
        guard isTaken else { throw DeviceInterface.Refused(.busy) }
        call.connection.onClose { [weak self] in
            self?.state.withLock { _ = $0.watchers.removeValue(forKey: key) }
        }
        queue.async { [self] in tellWatchers() }
    }

    private func tellWatchers() {
        let (watchers, revision) = state.withLock { state in
            state.isTelling = false
            return (state.watchers, state.itemsRevision)
        }
        guard !watchers.isEmpty, let keys = try? classKeys() else { return }
        let now = InspectorInterface.Watch.Reply(keys: keys, itemsRevision: revision)
        for (key, watcher) in watchers where watcher.told?.keys != keys || watcher.told?.itemsRevision != revision {
            guard watcher.call.connection.isReading else {
                watcher.call.drop()
                continue
            }
            state.withLock { $0.watchers[key]?.told = now }
            watcher.call.continue(now)
        }
    }

    private func classKeys() throws -> [InspectorInterface.ClassKey] {
        let reply = try enclave.call(EnclaveInterface.InspectClassKeys.self, Empty(), isTraced: false)
        let metadataKeys = keychain.metadataKeys.withLock { Set($0.open.keys) }
        return Accessibility.allCases.map { protection in
            .init(
                protection: protection, state: reply.keys[protection.rawValue] ?? .absent,
                hasMetadataKey: metadataKeys.contains(protection))
        }
    }

    // MARK: messages

    private func watchMessages(_ call: VarlinkCall<InspectorInterface.WatchMessages>, _ owner: IsOwner) throws {
        let lost = Mutex(0)
        let number = trace.watch { messages, lostBefore in
            let isReading = call.connection.isReading
            let lostNow = lost.withLock { lost in
                lost += lostBefore
                if !isReading { lost += messages.count }
                defer { if isReading { lost = 0 } }
                return lost
            }
            if isReading { call.continue(.init(messages: messages, lost: lostNow)) }
        }
        guard let number else { throw DeviceInterface.Refused(.busy) }
        call.connection.onClose { [trace] in trace.unwatch(number) }
        // Whoever has this answer misses nothing that comes after it.
        call.continue(.init(messages: [], lost: 0))
    }

    // MARK: items

    private func items(after row: Int64?, _ owner: IsOwner) throws -> InspectorInterface.ListItems.Reply {
        let page = try store.page(after: row ?? 0)
        let wasUnlocked = try enclave.call(
            EnclaveInterface.InspectClassKeys.self, Empty(), isTraced: false
        ).wasUnlockedSinceBoot
        var items: [InspectorInterface.Item] = []
        var wrapped: [(index: Int, item: EnclaveInterface.WrappedItem)] = []
        var privateKeys: [(index: Int, key: Data)] = []
        for row in page {
            var item = InspectorInterface.Item(
                row: row.rowID, itemClass: row.item?.itemClass.rawValue, protection: row.item?.accessibility,
                availability: .damaged)
            defer { items.append(item) }
            guard let kept = row.item else { continue }
            item.attributeBytes = kept.metadata.count
            item.valueBytes = kept.secret?.count
            item.wrappedKeyBytes = kept.wrappedKey.count
            guard let opened = try? keychain.openMetadata(kept) else {
                item.availability = wasUnlocked ? .locked : .notUnlockedSinceBoot
                continue
            }
            guard case .open(var open) = opened else {
                // Its class has another key since, or none.
                if kept.accessibility == .whenPasscodeSetThisDeviceOnly { item.availability = .passcodeRemoved }
                continue
            }
            let key = EnclaveKeyAttributes.take(from: &open.attributes)
            item.accessGroup = open.attributes.accessGroup
            item.flags = key?.control.flags ?? open.control.flags
            item.protection = key?.control.protection ?? kept.accessibility
            item.isEnclaveKey = key != nil
            let wrappedKey = EnclaveInterface.WrappedItem(
                wrappedKey: kept.wrappedKey,
                binding: .init(accessGroup: open.attributes.accessGroup, item: kept.binding.bytes))
            if key != nil {
                if let blob = try privateKey(of: kept, wrappedKey) { privateKeys.append((items.count, blob)) }
            } else {
                wrapped.append((items.count, wrappedKey))
            }
        }
        let prospects = try enclave.call(
            EnclaveInterface.InspectItems.self,
            .init(items: wrapped.map(\.item), privateKeys: privateKeys.map(\.key)), isTraced: false)
        guard prospects.items.count == wrapped.count, prospects.privateKeys.count == privateKeys.count else {
            throw Status.internalError
        }
        for (index, prospect) in zip(
            wrapped.map(\.index) + privateKeys.map(\.index), prospects.items + prospects.privateKeys)
        {
            items[index].availability = prospect.availability
            items[index].obstacle = prospect.obstacle
        }
        return .init(items: items, next: page.last?.rowID)
    }

    /// The sealed blob of a private key, which any app of its group is given; nil where it does not open.
    private func privateKey(of row: ItemRow, _ wrappedKey: EnclaveInterface.WrappedItem) throws -> Data? {
        let opened = try enclave.call(
            EnclaveInterface.UnwrapKeys.self, .init(items: [wrappedKey], app: "", context: nil), isTraced: false
        ).items.first
        guard let key = opened?.key, let secret = row.secret else { return nil }
        return ItemCipher.openSecret(secret, key: SymmetricKey(data: key), binding: row.binding)
    }
}
