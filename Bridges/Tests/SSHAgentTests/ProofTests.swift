import BridgeCore
import Crypto
import Foundation
import SSHAgentProtocol
import Testing
import TouchstoneDevice

@testable import SSHAgent

@Suite struct ProofTests {
    /// A generator that gives the same each time; SSH_SEED begins elsewhere, so that a full run can be made in parts.
    private struct Steps: RandomNumberGenerator {
        var state = ProcessInfo.processInfo.environment["SSH_SEED"].flatMap(UInt64.init) ?? 42

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 32 | state << 32
        }
    }

    /// What a connection was bound to, as the rules say, apart from the code that is tested.
    private struct Bound {
        var all: [(host: Int, id: UInt8, isForwarding: Bool)] = []
        var isTainted = false, isForwarded = false

        mutating func bind(_ host: Int, _ id: UInt8, _ isForwarding: Bool, isForged: Bool) {
            if isForwarding { isForwarded = true }
            let same = all.first { $0.id == id }
            if isForged
                || same.map({ $0.host != host || $0.isForwarding != isForwarding }) ?? (all.last?.isForwarding == false)
            {
                isTainted = true
            } else if same == nil, !isTainted {
                all.append((host, id, isForwarding))
            }
        }

        var origins: [Int] { isTainted ? [] : all.filter(\.isForwarding).map(\.host) }
    }

    // As many as take some seconds where nothing is optimized, always the same. SSH_SEQUENCES=1000000 is a full run.
    private static let sequences =
        ProcessInfo.processInfo.environment["SSH_SEQUENCES"].flatMap(Int.init) ?? 2000

    @Test("SA-42: no sequence of messages has a signature that the owner did not approve") func proof() throws {
        var steps = Steps()
        let servers = [Server(), Server()]
        let points = (0..<2).map { _ in P256.Signing.PrivateKey().publicKey.x963Representation }
        var keys = (0..<2).map {
            KeyRecord(name: "key\($0)", key: Data([UInt8($0)]), publicKey: points[$0], protection: .userPresence)
        }
        // One asks each time and for programs of here only; one is reused, also by other hosts.
        keys[0].settings.loginReuse = 0
        (keys[1].settings.loginReuse, keys[1].settings.messageReuse, keys[1].settings.forwarding) = (300, 300, .ask)
        let blobs = try points.map { try #require(P256Key.blob(point: Array($0))) }
        let owner = try OwnersDevice(keys: keys)
        let process = try #require(ClientProcess(processID: getpid()))
        let client = Client.known(process, executable: try #require(process.executable))
        var bindings: [[UInt8]] = []
        for number in 0..<8 {
            let id = Array(repeating: UInt8(number & 1), count: 32)
            bindings.append(try servers[number >> 1 & 1].binding(id, forwarding: number & 4 != 0))
        }
        var (asked, reused, refused) = (0, 0, 0)
        // Refusals are half of it, and nobody reads them here.
        func begin() throws -> Agent { Agent(device: try Device(named: owner.name), manager: nil) { _ in } }
        var agent = try begin()
        for sequence in 0..<Self.sequences {
            if sequence % 200 == 0 { agent = try begin() }
            var (connection, bound, refusals) = (SessionBindings(), Bound(), 0)
            for _ in 0..<Int.random(in: 1...5, using: &steps) {
                let (key, host, id) = (
                    Int.random(in: 0...1, using: &steps), Int.random(in: 0...1, using: &steps),
                    UInt8.random(in: 0...1, using: &steps)
                )
                let request: AgentRequest
                var wish: OwnersDevice.Wish?
                switch Int.random(in: 0..<8, using: &steps) {
                case 0...2:
                    let isForwarding = Bool.random(using: &steps)
                    let isForged = Int.random(in: 0..<8, using: &steps) == 0
                    var contents = bindings[Int(id) | host << 1 | (isForwarding ? 4 : 0)]
                    if isForged { contents[contents.count - 2] ^= 1 }
                    bound.bind(host, id, isForwarding, isForged: isForged)
                    request = .extension(name: SessionBindings.name, contents: contents)
                case 3...5:
                    let namesHost = Bool.random(using: &steps)
                    let user = Bool.random(using: &steps) ? "root" : "git"
                    let data = login(
                        Array(repeating: id, count: 32), user: user, key: blobs[key],
                        host: namesHost ? servers[host].blob : nil)
                    request = .sign(key: blobs[key], data: data, flags: 0)
                    if bound.isTainted || bound.all.isEmpty {
                        wish = .init(key: key, destination: nil, user: user, origins: bound.origins)
                    } else if let last = bound.all.last, !last.isForwarding, last.id == id,
                        namesHost ? last.host == host : bound.all.count == 1
                    {
                        wish = .init(key: key, destination: "\(last.host)", user: user, origins: bound.origins)
                    }
                case 6:
                    let namespace = ["git", "file", "mail"].randomElement(using: &steps) ?? ""
                    request = .sign(key: blobs[key], data: message(namespace), flags: 0)
                    if namespace != "mail" {
                        wish = .init(key: key, destination: namespace, user: nil, origins: bound.origins)
                    }
                default: request = .identities
                }
                if bound.isForwarded, key == 0 { wish = nil }
                let approves = Bool.random(using: &steps)
                owner.state.withLock { ($0.wish, $0.approves, $0.signatures) = (wish, approves, []) }
                let answer = agent.answer(request, of: client, &connection, &refusals) { true }
                let signatures = owner.state.withLock { $0.signatures }
                let isSigned = if case .signature = answer { true } else { false }
                let context = "sequence \(sequence): \(request) \(bound) \(signatures)"
                guard isSigned else {
                    // The twin: what the owner approves is signed.
                    if wish != nil, approves { Issue.record("nothing is signed in \(context)") }
                    if wish != nil { refused += 1 }
                    if !signatures.isEmpty { Issue.record("a signature for nobody in \(context)") }
                    continue
                }
                guard let wish, signatures.count == 1, signatures[0].isWished else {
                    Issue.record("another signature in \(context)")
                    continue
                }
                if signatures[0].wasAsked { asked += 1 } else { reused += 1 }
                let isKnown = wish.destination != nil && (!bound.isForwarded || !wish.origins.isEmpty)
                if !signatures[0].wasAsked, !isKnown || wish.key == 0 { Issue.record("reused in \(context)") }
            }
        }
        #expect(asked > 100 && reused > 100 && refused > 100, "\(asked) \(reused) \(refused)")
    }
}
