import BridgeCore
import Crypto
import Foundation
import SSHAgentProtocol
import Synchronization
import Testing
import TouchstoneDevice

@testable import SSHAgent

@Suite struct AgentTests {
    /// An agent with one key, its owner, and what the command lines of its clients name.
    private final class Bench: Sendable {
        struct Words {
            var host: String?
            var knownHosts = ""
            var lines: [String] = []
        }

        let words: Mutex<Words>
        let owner: OwnersDevice
        let agent: Agent
        let blob: [UInt8]
        let client: Client

        /// - Parameter change: What is not as usual in the key's settings: an approval is reused, and other hosts may ask.
        /// - Throws: What stands in the way of the device's socket.
        init(_ change: (inout KeySettings) -> Void = { _ in }) throws {
            let point = P256.Signing.PrivateKey().publicKey.x963Representation
            var key = KeyRecord(name: "key", key: Data([0]), publicKey: point, protection: .userPresence)
            (key.settings.loginReuse, key.settings.messageReuse, key.settings.forwarding) = (300, 300, .ask)
            change(&key.settings)
            blob = try #require(P256Key.blob(point: Array(point)))
            owner = try OwnersDevice(keys: [key])
            owner.state.withLock { ($0.approves, $0.wish) = (true, .init(key: 0)) }
            let process = try #require(ClientProcess(processID: getpid()))
            client = .known(process, executable: try #require(process.executable))
            let words = Words()
            self.words = Mutex(words)
            let place = Place()
            agent = Agent(
                device: try Device(named: owner.name), manager: process.executable,
                log: { line in place.bench?.words.withLock { $0.lines.append(line) } },
                host: { _ in place.bench?.words.withLock { $0.host } },
                knownHosts: { KnownHosts(place.bench?.words.withLock { $0.knownHosts } ?? "") })
            place.set(self)
        }

        /// Where the agent's closures find the bench.
        private final class Place: Sendable {
            private let found = Mutex<WeakBench>(WeakBench())
            private struct WeakBench: Sendable { weak var bench: Bench? }
            var bench: Bench? { found.withLock { $0.bench } }
            func set(_ bench: Bench) { found.withLock { $0.bench = bench } }
        }

        var prompts: [OwnersDevice.Prompt] { owner.state.withLock { $0.prompts } }
        var lines: [String] { words.withLock { $0.lines } }

        func connect() -> Connection { Connection(bench: self) }

        func manage(_ request: ManagementRequest) throws -> ManagementAnswer? {
            let contents = Array(try JSONEncoder().encode(request))
            let answer = connect().ask(.extension(name: ManagementRequest.name, contents: contents))
            guard case .extensionAnswer(let bytes) = answer else { return nil }
            return try JSONDecoder().decode(ManagementAnswer.self, from: Data(bytes))
        }

        var settings: KeySettings? {
            get throws {
                guard case .keys(let keys)? = try manage(.list) else { return nil }
                return keys.first?.settings
            }
        }

        func revoke(_ server: Server) {
            let line = "@revoked elsewhere.example ssh-ed25519 \(Data(server.blob).base64EncodedString())\n"
            words.withLock { $0.knownHosts = line }
        }
    }

    private final class Connection {
        let bench: Bench
        var bindings = SessionBindings()
        var refused = 0

        init(bench: Bench) { self.bench = bench }

        func ask(_ request: AgentRequest) -> AgentAnswer {
            bench.agent.answer(request, of: bench.client, &bindings, &refused) { true }
        }

        func bind(_ server: Server, _ session: UInt8, forwarding: Bool = false) throws {
            let contents = try server.binding(Array(repeating: session, count: 32), forwarding: forwarding)
            #expect(ask(.extension(name: SessionBindings.name, contents: contents)) == .success)
        }

        func signs(_ data: [UInt8]) -> Bool {
            if case .signature = ask(.sign(key: bench.blob, data: data, flags: 0)) { true } else { false }
        }

        /// A login in the last session that was bound.
        func signsIn(as user: String = "root") throws -> Bool {
            let last = try #require(bindings.all.last)
            return signs(login(last.sessionID, user: user, key: bench.blob, host: last.hostKey.blob))
        }
    }

    let first = Server(), second = Server(), third = Server()

    @Test("SA-2: another host does not lock the agent, and programs of here do") func locking() throws {
        let bench = try Bench()
        let (here, there) = (bench.connect(), bench.connect())
        try there.bind(first, 1, forwarding: true)
        #expect(there.ask(.lock(passphrase: [1])) == .failure)
        #expect(here.ask(.identities) != .identities([]))
        #expect(here.ask(.lock(passphrase: [1])) == .success)
        #expect(there.ask(.unlock(passphrase: [1])) == .failure)
        #expect(here.ask(.identities) == .identities([]))
        #expect(here.ask(.unlock(passphrase: [1])) == .success)
    }

    @Test("BR-29: of a connection's refusals the first has a line, and the others one at its end") func log() throws {
        let bench = try Bench()
        let path = "\(NSTemporaryDirectory())/\(UUID().uuidString.prefix(8)).sock"
        let listener = try ClientListener(path: path)
        defer { unlink(path) }
        let ended = Mutex(0)
        // It accepts until the process ends.
        Thread.detachNewThread {
            listener.run { connection in
                bench.agent.serve(connection)
                ended.withLock { $0 += 1 }
            }
        }
        let frame = string([13] + string(bench.blob) + string("anything") + [0, 0, 0, 0])
        for (number, count) in [1, 20].enumerated() {
            do {
                let service = try ServiceConnection(path: path)
                for _ in 0..<count {
                    let answer = try service.exchange(frame, longest: 64) { $0.count < 5 ? .unknown : .bytes(5) }
                    #expect(answer == [0, 0, 0, 1, 5])
                }
            }
            let end = ContinuousClock.now + .seconds(60)
            while ended.withLock({ $0 }) == number, .now < end { Thread.sleep(forTimeInterval: 0.01) }
        }
        #expect(bench.lines.count == 3 && bench.lines.last == "refused 19 more requests of the same connection")
    }

    @Test("BR-25, SA-16: an approval for one name of a host is not good for another one") func names() throws {
        let bench = try Bench()
        let connection = bench.connect()
        try connection.bind(first, 1)
        bench.words.withLock { $0.host = "first.example" }
        for _ in 0..<2 { #expect(try connection.signsIn()) }
        #expect(bench.prompts.count == 1)
        bench.words.withLock { $0.host = "github.com" }
        #expect(try connection.signsIn())
        #expect(bench.prompts.count == 2)
        // The fact is the name. What is known of it stands beside the key.
        let (claim, record) = (bench.prompts[0].facts, bench.prompts[1].facts)
        #expect(claim["host"] == "“first.example”")
        #expect(claim["hostKey"]?.hasSuffix(", checked, named by its command line") == true)
        #expect(record["host"] == "first.example")
        #expect(record["hostKey"]?.contains(", checked, known since ") == true)
        #expect(record["hostKey"]?.hasSuffix("now called “github.com”") == true)
    }

    @Test("SA-22: what the owner changes while a prompt is up stays changed") func settings() throws {
        let bench = try Bench { $0.host = "first.example" }
        var changed = try #require(try bench.settings)
        changed.namespaces = ["git"]
        let settings = changed
        bench.owner.state.withLock { state in
            state.during = { _ = try? bench.manage(.set(name: "key", settings: settings)) }
        }
        bench.words.withLock { $0.host = "first.example" }
        let connection = bench.connect()
        try connection.bind(first, 1)
        #expect(try connection.signsIn())
        let now = try #require(try bench.settings)
        let key = try #require(HostKey(blob: first.blob))
        #expect(now.namespaces == ["git"])
        #expect(now.pins == [key.fingerprint])
    }

    @Test("BR-25: users whose names are shown alike share no approval") func users() throws {
        let bench = try Bench()
        let connection = bench.connect()
        try connection.bind(first, 1)
        let (a, z) = (String(repeating: "a", count: 40), String(repeating: "z", count: 40))
        for user in ["\(a)1\(z)", "\(a)2\(z)", "e\u{0301}", "\u{E9}"] { #expect(try connection.signsIn(as: user)) }
        #expect(bench.prompts.count == 4)
        #expect(try connection.signsIn(as: "\(a)1\(z)"))
        #expect(bench.prompts.count == 4)
        #expect(try connection.signsIn(as: "root, with your consent"))
        #expect(bench.prompts.last?.reason.hasSuffix(" as “root, with your consent”") == true)
    }

    @Test("SA-24: a far end neither takes another host's name nor uses its approval") func hops() throws {
        let bench = try Bench()
        let honest = bench.connect()
        bench.words.withLock { $0.host = "second.example" }
        try honest.bind(second, 1, forwarding: true)
        try honest.bind(third, 2)
        for _ in 0..<2 { #expect(try honest.signsIn()) }
        #expect(bench.prompts.map(\.reason) == ["asked by a program on “second.example”: \(Self.wish)"])
        // The first host has the second one's signature for a session of its own.
        let hostile = bench.connect()
        bench.words.withLock { $0.host = "first.example" }
        try hostile.bind(first, 1, forwarding: true)
        try hostile.bind(second, 3, forwarding: true)
        try hostile.bind(third, 2)
        #expect(try hostile.signsIn())
        #expect(bench.prompts.last?.reason == "asked through “first.example”: \(Self.wish)")
        // And what was approved for the first host is not approved for those behind it.
        let nearer = bench.connect()
        try nearer.bind(first, 1, forwarding: true)
        try nearer.bind(third, 2)
        #expect(try nearer.signsIn())
        #expect(bench.prompts.count == 3)
        // The twin.
        #expect(try hostile.signsIn())
        #expect(bench.prompts.count == 3)
    }

    private static let wish = "sign in to a host that is not known yet as “root”"

    @Test("SA-16: a revoked key is refused under each name, and in each place") func revoked() throws {
        let bench = try Bench()
        let (near, far) = (bench.connect(), bench.connect())
        try near.bind(first, 1)
        try far.bind(second, 2, forwarding: true)
        try far.bind(first, 3)
        bench.revoke(first)
        bench.words.withLock { $0.host = "first.example" }
        #expect(try near.signsIn() == false)
        #expect(try far.signsIn() == false)
        bench.words.withLock { $0.host = nil }
        #expect(try near.signsIn() == false)
        bench.revoke(second)
        #expect(try far.signsIn() == false)
        #expect(!far.signs(message("git")))
        #expect(bench.prompts.isEmpty)
        // The twin: another key is revoked.
        bench.revoke(third)
        #expect(try near.signsIn())
        #expect(try far.signsIn())
        #expect(far.signs(message("git")))
    }

    @Test("BR-29: after a cancel another host waits, however it calls itself") func cancels() throws {
        let bench = try Bench()
        bench.owner.state.withLock { ($0.approves, $0.cancels) = (false, true) }
        for server in [second, third] {
            let far = bench.connect()
            try far.bind(first, 1, forwarding: true)
            try far.bind(server, 2, forwarding: true)
            try far.bind(server, 3)
            #expect(try far.signsIn() == false)
        }
        #expect(bench.prompts.count == 1)
        // The twin: programs of here are asked for.
        bench.owner.state.withLock { $0.approves = true }
        let here = bench.connect()
        try here.bind(third, 1)
        #expect(try here.signsIn())
        #expect(bench.prompts.count == 2)
    }

    @Test("BR-29: a cancelled unlock counts") func unlocks() throws {
        let bench = try Bench()
        bench.owner.state.withLock { ($0.isLocked, $0.approves) = (true, false) }
        let connection = bench.connect()
        for _ in 0..<2 { #expect(!connection.signs(message("git"))) }
        #expect(bench.owner.state.withLock { $0.unlocks } == 1)
        // The twin: another wish has the owner asked.
        bench.owner.state.withLock { $0.approves = true }
        try connection.bind(first, 1)
        #expect(try connection.signsIn())
        #expect(bench.owner.state.withLock { $0.unlocks } == 2 && bench.prompts.count == 1)
    }
}
