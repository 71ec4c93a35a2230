import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneTransport

@testable import TouchstoneAuthentication
@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost
@testable import TouchstoneKeychain
@testable import TouchstoneTesting

/// An event loop reads the requests of many connections: it never waits for the enclave.
@Suite(.timeLimit(.minutes(10))) struct EventLoopTests {
    /// An enclave that answers some calls only when the test lets it.
    private final class SlowEnclave: Sendable {
        let wasAsked = Mutex(false)
        let mayAnswer = Gate()
        /// Whether contexts are made at once all the same.
        let makesContexts = Mutex(false)
        /// The context that is made when calls are answered; nil: a call for one is refused.
        let laterContext = Mutex<String?>(nil)
        let endedContexts = Mutex<Set<String>>([])

        /// An answer like any other: what it says is not what this is about.
        func answer<Reply>() throws -> Reply {
            wasAsked.withLock { $0 = true }
            mayAnswer.wait()
            throw EnclaveInterface.NotKept()
        }
    }

    /// Says when a request was read, which an event loop does.
    private final class WatchedChannel: VarlinkChannel {
        private let channel: any VarlinkChannel
        private let count = Mutex(0)
        var requestsRead: Int { count.withLock { $0 } }

        init(_ channel: any VarlinkChannel) { self.channel = channel }

        func send(_ frame: Data) throws(TransportError) {
            try channel.send(frame)
            count.withLock { $0 += 1 }
        }

        func receive() throws(TransportError) -> Data { try channel.receive() }
        func waitUntilReadable() { channel.waitUntilReadable() }
        func close() { channel.close() }
    }

    enum Request: CaseIterable, Sendable {
        case search, signature, inspection
        case context, policy, accessControl, question, environment, password, passwordQuestion, invalidation

        func make(_ client: VarlinkClient) throws {
            switch self {
            case .search:
                let query: KeychainInterface.Dictionary = [.`class`: .string("genp"), .returnData: .boolean(true)]
                _ = try client.call(KeychainInterface.CopyMatching.self, .init(query: query))
            case .signature: _ = try client.call(KeyInterface.Sign.self, .init(key: Data(), data: Data(count: 32)))
            case .inspection: _ = try client.call(KeyInterface.Inspect.self, .init(key: Data()))
            case .context: _ = try client.call(AuthenticationInterface.CreateContext.self, .init())
            case .policy:
                _ = try client.call(
                    AuthenticationInterface.EvaluatePolicy.self,
                    .init(
                        context: EventLoopTests.context, policy: .deviceOwnerAuthentication, options: .init(reason: "a")
                    ))
            case .accessControl:
                _ = try client.call(
                    AuthenticationInterface.EvaluateAccessControl.self,
                    .init(
                        context: EventLoopTests.context,
                        accessControl: AccessControl(protection: .whenUnlocked, flags: .userPresence),
                        operation: .useItem, options: .init(reason: "a")))
            case .question:
                _ = try client.call(
                    AuthenticationInterface.CanEvaluatePolicy.self,
                    .init(context: nil, policy: .deviceOwnerAuthentication))
            case .environment: _ = try client.call(AuthenticationInterface.GetEnvironment.self, Empty())
            case .password:
                _ = try client.call(
                    AuthenticationInterface.SetCredential.self, .init(context: EventLoopTests.context, credential: nil))
            case .passwordQuestion:
                _ = try client.call(
                    AuthenticationInterface.IsCredentialSet.self, .init(context: EventLoopTests.context))
            case .invalidation:
                _ = try client.call(
                    AuthenticationInterface.InvalidateContext.self, .init(context: EventLoopTests.context))
            }
        }
    }

    /// A context of the app's that is there from the beginning.
    private static let context = "context"

    private let enclave = SlowEnclave()
    private let keychain: KeychainService
    private let apps: @Sendable (AppIdentity, _ process: Int32) -> LoopbackEndpoint
    private let channel: WatchedChannel
    private let client: VarlinkClient

    init() throws {
        let (storage, root) = (MemoryStorage(), MemoryRoot())
        try storage.replace(Enclave.create(isSimulated: true, biometryType: .none, root: root))
        let host = try EnclaveHost(storage: storage, root: root, clock: ManualClock(), newPasscodeCost: { .minimum })
        let whole = EnclaveService(host: host).interface
        let slow: [VarlinkHandler] = [
            .method(EnclaveInterface.UnwrapKeys.self) { [enclave] _, _ in try enclave.answer() },
            .method(EnclaveInterface.Sign.self) { [enclave] _, _ in try enclave.answer() },
            .method(EnclaveInterface.InspectKey.self) { [enclave] _, _ in try enclave.answer() },
            .method(EnclaveInterface.NoteObservation.self) { [enclave] _, _ in try enclave.answer() },
            .method(EnclaveInterface.GetFacts.self) { [enclave] _, _ in try enclave.answer() },
            .method(EnclaveInterface.Preflight.self) { [enclave] _, _ in try enclave.answer() },
            .method(EnclaveInterface.SetCredential.self) { [enclave] _, _ in try enclave.answer() },
            .method(EnclaveInterface.IsCredentialSet.self) { [enclave] _, _ in try enclave.answer() },
            .method(EnclaveInterface.InvalidateContext.self) { [enclave] request, _ in
                _ = enclave.endedContexts.withLock { $0.insert(request.context) }
                return try enclave.answer()
            },
            .method(EnclaveInterface.CreateContext.self) { [enclave] _, _ in
                if enclave.makesContexts.withLock({ $0 }) { return .init(context: "another") }
                guard let later = enclave.laterContext.withLock({ $0 }) else { return try enclave.answer() }
                enclave.wasAsked.withLock { $0 = true }
                enclave.mayAnswer.wait()
                return .init(context: later)
            },
        ]
        let interface = VarlinkInterface(
            name: whole.name, description: Array(whole.description.utf8),
            handlers: whole.handlers.filter { handler in !slow.contains { $0.name == handler.name } } + slow)
        let endpoint = { @Sendable (app: AppIdentity, process: Int32, interfaces: [VarlinkInterface]) in
            LoopbackEndpoint(
                router: VarlinkRouter(info: .init(product: "test", version: "1"), interfaces: interfaces),
                peer: Peer(processID: process, userID: getuid(), identify: { app }))
        }
        let calls = endpoint(FileDevice.app, getpid(), [interface])
        let services = EnclaveClient(calls: try calls.client(), events: try calls.client())
        let (contexts, broker) = (ContextOwners(), ScriptedBroker())
        let keychain = try KeychainService(
            store: KeychainStore(), enclave: services, contexts: contexts, broker: broker)
        let keys = KeyService(
            enclave: services, contexts: contexts, broker: broker, refusals: RefusalNotes(enclave: services))
        contexts.add(Self.context, of: FileDevice.app)
        let authentication = AuthenticationService(
            enclave: services, ownerID: getuid(), contexts: contexts, refusals: RefusalNotes(enclave: services),
            report: { _ in }, now: { 0 }, schedule: AuthenticationService.byTheMachinesTime,
            holdsBackCancelledApps: false)
        self.keychain = keychain
        apps = { endpoint($0, $1, [keychain.interface, keys.interface] + authentication.interfaces) }
        channel = WatchedChannel(try apps(FileDevice.app, getpid()).connect())
        client = VarlinkClient(channel)
    }

    @Test("A call that the enclave keeps waiting is read and left to another thread", arguments: Request.allCases)
    func loopIsFree(_ request: Request) throws {
        let item: KeychainInterface.Dictionary = [.`class`: .string("genp"), .valueData: .data(Data("a".utf8))]
        _ = try client.call(KeychainInterface.Add.self, .init(attributes: item))
        // Of what was just added the key is known.
        keychain.openedKeys.forgetAll()
        let isOver = Mutex(false)
        defer {
            enclave.mayAnswer.open()
            eventually { isOver.withLock { $0 } }
        }
        Thread.detachNewThread { [client] in
            #expect(throws: (any Error).self) { try request.make(client) }
            isOver.withLock { $0 = true }
        }
        eventually { enclave.wasAsked.withLock { $0 } }
        eventually { channel.requestsRead == 2 }
        #expect(!isOver.withLock { $0 })
    }

    @Test("EV-50: A connection that ends does not wait for the enclave to end its contexts")
    func endingIsFree() throws {
        enclave.makesContexts.withLock { $0 = true }
        defer { enclave.mayAnswer.open() }
        _ = try client.call(AuthenticationInterface.CreateContext.self, .init())
        let isClosed = Mutex(false)
        Thread.detachNewThread { [channel] in
            channel.close()
            isClosed.withLock { $0 = true }
        }
        eventually { enclave.wasAsked.withLock { $0 } }
        eventually { isClosed.withLock { $0 } }
    }

    @Test("EV-50: A context that is made while its connection ends is ended, too")
    func madeAmidTheEnd() throws {
        enclave.makesContexts.withLock { $0 = true }
        _ = try client.call(AuthenticationInterface.CreateContext.self, .init())
        enclave.makesContexts.withLock { $0 = false }
        enclave.laterContext.withLock { $0 = "later" }
        Thread.detachNewThread { [client] in
            _ = try? client.call(AuthenticationInterface.CreateContext.self, .init())
        }
        eventually { enclave.wasAsked.withLock { $0 } }
        channel.close()
        enclave.mayAnswer.open()
        eventually { enclave.endedContexts.withLock { $0 } == ["another", "later"] }
    }

    @Test("An agent's request is read and left to another thread, as are all of the owner's")
    func ownersAreFree() throws {
        defer { enclave.mayAnswer.open() }
        Thread.detachNewThread { [client] in
            try? client.stream(AgentInterface.Subscribe.self, .init(version: AgentInterface.version)) { _ in false }
        }
        eventually { enclave.wasAsked.withLock { $0 } }
        eventually { channel.requestsRead == 1 }
    }

    @Test("DEC-579: an app's reads have a thread for each core; the rest wait in a list, and another app's is answered")
    func threads() throws {
        let item: KeychainInterface.Dictionary = [.`class`: .string("genp"), .valueData: .data(Data("a".utf8))]
        _ = try client.call(KeychainInterface.Add.self, .init(attributes: item))
        // Of what was just added the key is known.
        keychain.openedKeys.forgetAll()
        let ended = Mutex(0)
        let (count, share) = (80, Turns.Limits.asking.perApp)
        defer {
            enclave.mayAnswer.open()
            eventually { ended.withLock { $0 } == count }
        }
        for _ in 0..<count {
            let client = try apps(FileDevice.app, getpid()).client()
            Thread.detachNewThread {
                #expect(throws: (any Error).self) { try Request.search.make(client) }
                ended.withLock { $0 += 1 }
            }
        }
        eventually { keychain.reads.waiting == count - share }
        var other = FileDevice.app
        other.identifier = "another"
        let error = #expect(throws: RemoteError.self) {
            try apps(other, getpid()).client().call(
                KeychainInterface.CopyMatching.self, .init(query: [.`class`: .string("inet")]))
        }
        #expect(error?.as(KeychainInterface.Failed.self)?.status == Status.itemNotFound.rawValue)
        #expect(keychain.reads.waiting == count - share)
    }

    @Test("DEC-590: all calls that have a thread leave some of the system's 255 to agents and prompts")
    func threadsInAll() {
        // Changes, reads, uses of keys, searches.
        let keychain = [Turns.Limits.calls, .asking, .asking, KeychainService.searchLimits]
        #expect(keychain.reduce(AuthenticationService.Limits.calls.total) { $0 + $1.total } <= 255 - 32)
    }

    /// Searches of one app for all items, of so many processes; each waits for the enclave when it has a turn.
    private func search(processes: Int, each count: Int, _ body: () throws -> Void) throws {
        let item: KeychainInterface.Dictionary = [.`class`: .string("genp"), .valueData: .data(Data("a".utf8))]
        _ = try client.call(KeychainInterface.Add.self, .init(attributes: item))
        keychain.openedKeys.forgetAll()
        let all: KeychainInterface.Dictionary = [
            .`class`: .string("genp"), .matchLimit: .matchLimitAll, .returnData: .boolean(true),
        ]
        let ended = Mutex(0)
        defer {
            enclave.mayAnswer.open()
            eventually { ended.withLock { $0 } == processes * count }
        }
        for number in 0..<processes * count {
            let client = try apps(FileDevice.app, Int32(1 + number % processes)).client()
            Thread.detachNewThread {
                #expect(throws: (any Error).self) {
                    try client.call(KeychainInterface.CopyMatching.self, .init(query: all))
                }
                ended.withLock { $0 += 1 }
            }
        }
        try body()
    }

    @Test(
        "DEC-111: of one process four searches are under way, of one app 16; the rest wait in a list",
        arguments: [(processes: 1, underWay: 4), (5, 16)])
    func searches(processes: Int, underWay: Int) throws {
        try search(processes: processes, each: 6) {
            eventually { keychain.searches.waiting == 6 * processes - underWay }
            // Nobody else waits for them.
            let error = #expect(throws: RemoteError.self) {
                try client.call(KeychainInterface.CopyMatching.self, .init(query: [.`class`: .string("inet")]))
            }
            #expect(error?.as(KeychainInterface.Failed.self)?.status == Status.itemNotFound.rawValue)
            #expect(keychain.searches.waiting == 6 * processes - underWay)
        }
    }
}
