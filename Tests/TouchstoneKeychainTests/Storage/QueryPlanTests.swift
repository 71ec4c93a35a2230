import Foundation
import GRDB
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneEnclaveClient
import TouchstoneEnclaveHost
import TouchstoneInterfaces
import TouchstoneTransport

@testable import TouchstoneKeychain
@testable import TouchstoneTesting

/// The queries that apps make most are point queries: an index leads to the row, and no scan does.
@Suite(.timeLimit(.minutes(10))) struct QueryPlanTests {
    /// A keychain without the rest of a device.
    private struct Parts {
        let service: KeychainService
        let files = Result { try PrivateDirectory() }
        let queue: DatabaseQueue

        init() throws {
            let (storage, root) = (MemoryStorage(), MemoryRoot())
            try storage.replace(Enclave.create(isSimulated: true, biometryType: .none, root: root))
            let host = try EnclaveHost(
                storage: storage, root: root, clock: ManualClock(), newPasscodeCost: { .minimum })
            let router = VarlinkRouter(
                info: .init(product: "test", version: "1"), interfaces: [EnclaveService(host: host).interface])
            let peer = Peer(processID: getpid(), userID: getuid(), identify: { nil })
            let file = try files.get().url.appendingPathComponent("keychain.db")
            let enclave = LoopbackEndpoint(router: router, peer: peer)
            service = try KeychainService(
                store: KeychainStore(file: file),
                enclave: EnclaveClient(calls: enclave.client(), events: enclave.client()),
                contexts: ContextOwners(), broker: ScriptedBroker())
            queue = try DatabaseQueue(path: file.path)
        }

        /// SQLite's plan of a search, and of the same one with two access groups.
        func plan(_ query: KeychainInterface.Dictionary) throws -> String {
            let filter = try service.filter(KeychainQuery(query).checkedForSearch(), for: FileDevice.app)
            let shape = SearchShape(filter, .rows)
            return try plan(shape.sql, shape.values(filter))
        }

        func plan(_ sql: String, _ values: [StoreStatement.Value?]) throws -> String {
            try queue.read { database in
                var steps: [String] = []
                try StoreStatement("EXPLAIN QUERY PLAN \(sql)", in: database).forEachRow(values) { row in
                    if let step = row.text(3) { steps.append(step) }
                    return true
                }
                return steps.joined(separator: "; ")
            }
        }
    }

    private static let queries: [(name: String, query: KeychainInterface.Dictionary, index: String)] = [
        (
            "service and account", [.class: .string("genp"), .service: .string("s"), .account: .string("a")],
            "item_service"
        ),
        ("service", [.class: .string("genp"), .service: .string("s")], "item_service"),
        (
            "server and account", [.class: .string("inet"), .server: .string("s"), .account: .string("a")],
            "item_server"
        ),
        ("server", [.class: .string("inet"), .server: .string("s"), .port: .number(443)], "item_server"),
        ("account", [.class: .string("genp"), .account: .string("a")], "item_account"),
        ("account of inet", [.class: .string("inet"), .account: .string("a")], "item_account"),
        ("label", [.class: .string("genp"), .label: .string("l")], "item_label"),
        (
            "persistent reference", [.valuePersistentRef: .data(Data("genp".utf8) + Data(count: 16))],
            "sqlite_autoindex_item"
        ),
    ]

    /// Counts how often rows are read.
    private final class CountedRows: RowSource, Sendable {
        let store: KeychainStore
        let reads = Mutex(0)
        init(_ store: KeychainStore) { self.store = store }

        func scan(_ filter: RowFilter, _ body: (ItemRow) throws -> Bool) throws { try store.scan(filter, body) }
        func rowIDs(_ filter: RowFilter) throws -> [Int64] { try store.rowIDs(filter) }
        func rows(_ rowIDs: ArraySlice<Int64>, withSecrets: Bool) throws -> [ItemRow] {
            reads.withLock { $0 += 1 }
            return try store.rows(rowIDs, withSecrets: withSecrets)
        }
    }

    @Test("A search looks before each slice of rows whether anybody waits for it")
    func abandonedBetweenSlices() throws {
        let parts = try Parts()
        for number in 0..<600 {
            let item: KeychainInterface.Dictionary = [.class: .string("genp"), .account: .string("\(number)")]
            _ = try parts.service.add(.init(attributes: item, context: nil), for: FileDevice.app, context: nil)
        }
        let rows = CountedRows(parts.service.store)
        func search(_ isAbandoned: @escaping @Sendable () -> Bool) throws -> Search<CountedRows> {
            rows.reads.withLock { $0 = 0 }
            let all: KeychainInterface.Dictionary = [.class: .string("genp"), .matchLimit: .matchLimitAll]
            return try Search(
                KeychainQuery(all).checkedForSearch(), of: parts.service, for: FileDevice.app, context: nil, in: rows,
                isAbandoned: isAbandoned)
        }
        let wanted = try search { false }
        try wanted.decide()
        // 256 at a time.
        #expect(rows.reads.withLock { $0 } == 3)
        #expect(try wanted.next().count == 256)
        let deciding = try search { rows.reads.withLock { $0 > 0 } }
        #expect(throws: Abandoned.self) { try deciding.decide() }
        #expect(rows.reads.withLock { $0 } == 1)
        let handingOut = try search { rows.reads.withLock { $0 > 3 } }
        try handingOut.decide()
        _ = try handingOut.next()
        #expect(throws: Abandoned.self) { _ = try handingOut.next() }
        #expect(rows.reads.withLock { $0 } == 4)
    }

    @Test("Only what has a tag is looked for on the thread that asks") func takesOnly() throws {
        let parts = try Parts()
        func takesOnly(_ query: KeychainInterface.Dictionary) throws -> Bool {
            let search = try Search(
                KeychainQuery(query).checkedForSearch(), of: parts.service, for: FileDevice.app, context: nil,
                in: parts.service.store)
            return search.canTakeOnly
        }
        for (name, query, _) in Self.queries { #expect(try takesOnly(query), "\(name)") }
        #expect(try !takesOnly([.class: .string("genp"), .creationDate: .date(0)]))
        #expect(try !takesOnly([.class: .string("keys"), .matchValidOnDate: .date(0)]))
        #expect(try !takesOnly([.class: .string("inet"), .matchHostOrSubdomainOfHost: .string("h")]))
    }

    @Test("That one look finds the only match; a second match sends a search for one the way of many")
    func onlyMatch() throws {
        let parts = try Parts()
        func isHadAtOnce(_ query: KeychainInterface.Dictionary) throws -> Bool {
            let search = try Search(
                KeychainQuery(query).checkedForSearch(), of: parts.service, for: FileDevice.app, context: nil,
                in: parts.service.store)
            return if case .match(let match) = try search.only() { match != nil } else { false }
        }
        let item: KeychainInterface.Dictionary = [
            .class: .string("genp"), .service: .string("s"), .account: .string("a"),
        ]
        _ = try parts.service.add(.init(attributes: item, context: nil), for: FileDevice.app, context: nil)
        #expect(try isHadAtOnce(item))
        let other = item.merging([.account: .string("b")]) { $1 }
        _ = try parts.service.add(.init(attributes: other, context: nil), for: FileDevice.app, context: nil)
        #expect(try isHadAtOnce(item))
        #expect(try !isHadAtOnce([.class: .string("genp"), .service: .string("s")]))
    }

    @Test("A search uses its index and scans nothing", arguments: queries.map(\.name)) func usesIndex(name: String)
        throws
    {
        let parts = try Parts()
        let (_, query, index) = try #require(Self.queries.first { $0.name == name })
        let plan = try parts.plan(query)
        #expect(plan.hasPrefix("SEARCH item USING INDEX \(index)"), "\(plan)")
        #expect(!plan.contains("SCAN") && !plan.contains("TEMP"), "\(plan)")
    }

    @Test("The columns that the index does not narrow by are no obstacle: service and account are all used")
    func usesAllColumns() throws {
        let parts = try Parts()
        let plan = try parts.plan(Self.queries[0].query)
        #expect(
            plan.contains("class=? AND agrp=? AND svce=? AND acct=?") || plan.contains("agrp=? AND svce=? AND acct=?"))
    }

    @Test("The identity of an item is looked up by its unique index") func identity() throws {
        let plan = try Parts().plan("SELECT rowid FROM item WHERE identity = ?", [.blob(Data(count: 32))])
        #expect(plan.contains("sqlite_autoindex_item") && plan.contains("identity=?"), "\(plan)")
    }

    @Test("A query without an index is seen as a scan by this test") func scanIsSeen() throws {
        let plan = try Parts().plan("SELECT rowid FROM item WHERE icmt = ?", [.blob(Data(count: 16))])
        #expect(plan.contains("SCAN"), "\(plan)")
    }
}
