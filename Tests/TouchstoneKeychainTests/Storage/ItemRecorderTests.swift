import Foundation
import GRDB
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneTransport

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost
@testable import TouchstoneKeychain
@testable import TouchstoneTesting

/// AC-10: what the enclave is told of the rows, where the database or the enclave does not do as it is asked.
@Suite(.timeLimit(.minutes(10))) struct ItemRecorderTests {
    private struct Failed: Error {}

    /// Prevents one transaction, at the last moment.
    private final class Preventing: TransactionObserver {
        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
        func databaseDidChange(with event: DatabaseEvent) {}
        func databaseWillCommit() throws { throw Failed() }
        func databaseDidCommit(_ database: Database) {}
        func databaseDidRollback(_ database: Database) {}
    }

    private final class Looks: Sendable {
        let fail = Mutex(false)
    }

    private let store: KeychainStore
    private let service: KeychainService
    private let looks = Looks()

    init() throws {
        let (storage, root) = (MemoryStorage(), MemoryRoot())
        try storage.replace(Enclave.create(isSimulated: true, biometryType: .none, root: root))
        let host = try EnclaveHost(storage: storage, root: root, clock: ManualClock(), newPasscodeCost: { .minimum })
        let whole = EnclaveService(host: host).interface
        let compare = VarlinkHandler.method(EnclaveInterface.CompareItems.self) { [looks] request, _ in
            if looks.fail.withLock({ $0 }) { throw EnclaveInterface.NotKept() }
            return .init(
                try host.compareItems(
                    request.items, isFirst: request.isFirst, isLast: request.isLast, takes: request.takes ?? false,
                    isPartial: request.isPartial ?? false))
        }
        let interface = VarlinkInterface(
            name: whole.name, description: Array(whole.description.utf8),
            handlers: whole.handlers.filter { $0.name != compare.name } + [compare])
        let endpoint = LoopbackEndpoint(
            router: VarlinkRouter(info: .init(product: "test", version: "1"), interfaces: [interface]),
            peer: Peer(processID: getpid(), userID: getuid(), identify: { nil }))
        store = try KeychainStore()
        service = try KeychainService(
            store: store, enclave: EnclaveClient(calls: endpoint.client(), events: endpoint.client()),
            contexts: ContextOwners(), broker: ScriptedBroker())
    }

    /// A row with an access control, as far as the recorder looks at it.
    private func row() -> ItemRow {
        ItemRow(
            itemClass: .genericPassword, identifier: .random(), version: ItemIdentifier.random().bytes,
            accessibility: .always, identityTag: ItemIdentifier.random().bytes, metadata: Data(), wrappedKey: Data(),
            tags: [:], isGuarded: true)
    }

    @Test("AC-10: after a commit that failed, and a look that failed, the next change looks first")
    func owedLook() throws {
        let rows = (0..<3).map { _ in row() }
        _ = try store.write { try $0.save(rows[0]) }
        #expect(try store.compareItems() == [])
        looks.fail.withLock { $0 = true }
        #expect(throws: Failed.self) {
            try store.write { writer in
                writer.database.add(transactionObserver: Preventing(), extent: .nextTransaction)
                try writer.save(rows[1])
            }
        }
        #expect(throws: RemoteError.self, "nobody knows what is there") { _ = try store.write { try $0.save(rows[2]) } }
        looks.fail.withLock { $0 = false }
        _ = try store.write { try $0.save(rows[2]) }
        #expect(try store.compareItems() == [])
        #expect(try store.count() == 2)
    }

    @Test("AC-10: a commit that failed, and a look that succeeds, leave what was there") func failedCommit() throws {
        let rows = (0..<2).map { _ in row() }
        _ = try store.write { try $0.save(rows[0]) }
        #expect(throws: Failed.self) {
            try store.write { writer in
                writer.database.add(transactionObserver: Preventing(), extent: .nextTransaction)
                try writer.save(rows[1])
            }
        }
        _ = try store.write { try $0.save(rows[1]) }
        #expect(try store.compareItems() == [])
    }
}
