import Foundation
import Glibc
import Synchronization
import Testing
import TouchstoneCore
import TouchstonePeers

@testable import TouchstoneSocketServer
@testable import TouchstoneTransport

/// A service with one method of each kind.
enum Probe {
    static let name = "test.Probe"

    enum Echo: VarlinkMethod {
        static let name = "test.Probe.Echo"
        struct Nested: MessageCodable {
            var flag: Bool
            init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                flag = try json.value("flag")
            }
            func write(to json: inout JSONOutput) throws { try ["flag": flag].write(to: &json) }
        }
        struct Parameters: MessageCodable {
            var text: String
            var number: Int64?
            var real: Double?
            var nested: Nested?
            var names: [String: Int]?
            var bytes: Data?
            init(text: String, number: Int64? = nil) {
                self.text = text
                self.number = number
            }
            init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                text = try json.value("text")
                number = try json.valueIfPresent("number")
                real = try json.valueIfPresent("real")
                nested = try json.valueIfPresent("nested")
                names = try json.valueIfPresent("names")
                bytes = try json.valueIfPresent("bytes")
            }
            func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(text, for: "text")
                try json.write(number, for: "number")
                try json.write(real, for: "real")
                try json.write(nested, for: "nested")
                try json.write(names, for: "names")
                try json.write(bytes, for: "bytes")
                json.endObject()
            }
        }
        struct Reply: MessageCodable {
            var text: String
            var number: Int64?
            init(text: String, number: Int64? = nil) {
                self.text = text
                self.number = number
            }
            init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                text = try json.value("text")
                number = try json.valueIfPresent("number")
            }
            func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(text, for: "text")
                try json.write(number, for: "number")
                json.endObject()
            }
        }
    }

    /// Takes large requests; answers with the length of the text.
    enum Take: VarlinkMethod {
        static let name = "test.Probe.Take"
        static var takesLargeRequests: Bool { true }
        typealias Parameters = Reply
        struct Reply: MessageCodable {
            var text: String
            init(text: String) { self.text = text }
            init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                text = try json.value("text")
            }
            func write(to json: inout JSONOutput) throws { try ["text": text].write(to: &json) }
        }
    }

    /// Answers when the test says so.
    enum Wait: VarlinkMethod {
        static let name = "test.Probe.Wait"
        typealias Parameters = Empty
        typealias Reply = Empty
    }

    /// Called with `more`.
    enum Count: VarlinkMethod {
        static let name = "test.Probe.Count"
        struct Parameters: MessageCodable {
            var to: Int
            init(to: Int) { self.to = to }
            init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                to = try json.value("to")
            }
            func write(to json: inout JSONOutput) throws { try ["to": to].write(to: &json) }
        }
        struct Reply: MessageCodable {
            var number: Int
            init(number: Int) { self.number = number }
            init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                number = try json.value("number")
            }
            func write(to json: inout JSONOutput) throws { try ["number": number].write(to: &json) }
        }
    }
}

/// A list that threads wait for.
final class Events<Element: Sendable>: @unchecked Sendable {
    // Unchecked: every access is under `condition`.
    private let condition = NSCondition()
    private var elements: [Element] = []

    var all: [Element] { condition.withLock { elements } }

    func append(_ element: Element) {
        condition.withLock {
            elements.append(element)
            condition.broadcast()
        }
    }

    /// Waits until there are `count`.
    func wait(for count: Int = 1) throws -> [Element] {
        try condition.withLock {
            let limit = Date(timeIntervalSinceNow: longestWaitSeconds)
            while elements.count < count {
                guard condition.wait(until: limit) else { throw WaitedTooLong() }
            }
            return elements
        }
    }
}

struct WaitedTooLong: Error {}

/// Longest wait for something that a machine does; only a failing test takes so long.
let longestWaitSeconds = 90.0

/// A socket server of the probe in a directory of its own.
final class ProbeServer: Sendable {
    let path: String
    let calls = Events<VarlinkCall<Probe.Wait>>()
    let closes = Events<Void>()
    let peers = Events<AppIdentity?>()
    /// What the daemon's log would say.
    let reports = Events<String>()
    private let directory: URL
    private let server: SocketServer

    init(
        ownerID: UInt32 = getuid(), manifests directories: [AppManifests.Directory] = [],
        _ configure: (inout SocketServer.Configuration) -> Void = { _ in },
        beforeItLooks: ((_ path: String) throws -> Void)? = nil
    ) throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("ts-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        path = directory.appendingPathComponent("socket").path
        var configuration = SocketServer.Configuration()
        // Longer than an overloaded machine takes for a test; the tests of these limits set their own.
        configuration.connections.silence = 3600
        configuration.partialMessageTimeout = 3600
        configuration.unreadPartTimeout = 3600
        configure(&configuration)
        let (calls, closes, peers) = (calls, closes, peers)
        let interface = VarlinkInterface(
            name: Probe.name, description: Array("interface test.Probe\n".utf8),
            handlers: [
                .deferred(Probe.Echo.self) { request, call in
                    let answer = { @Sendable in call.reply(.init(text: request.text, number: request.number)) }
                    guard request.text == "who" else { return answer() }
                    do {
                        try call.connection.withToldIdentity {
                            peers.append($0)
                            answer()
                        }
                    } catch {
                        peers.append(nil)
                        answer()
                    }
                },
                .method(Probe.Take.self) { request, _ in .init(text: String(request.text.utf8.count)) },
                .deferred(Probe.Wait.self) { _, call in
                    call.connection.onClose { closes.append(()) }
                    calls.append(call)
                },
                .deferred(Probe.Count.self) { request, call in
                    guard call.wantsMore else { return call.fail(VarlinkServiceError.ExpectedMore()) }
                    for number in 1..<request.to { call.continue(.init(number: number)) }
                    call.reply(.init(number: request.to))
                },
            ])
        let router = VarlinkRouter(info: .init(product: "probe", version: "1"), interfaces: [interface])
        let identities = PeerIdentities(
            ownerID: ownerID, manifests: AppManifests(directories) { [reports] in reports.append($0) },
            readsElsewhere: true, report: { [reports] in reports.append($0) })
        guard let beforeItLooks else {
            server = try SocketServer(path: path, router: router, identities: identities, configuration: configuration)
            return
        }
        // As from systemd: it listens before anybody serves.
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = try #require(UnixAddress(path: path))
        try #require(address.withSockaddr { bind(listener, $0, $1) } == 0 && listen(listener, 64) == 0)
        try beforeItLooks(path)
        server = try SocketServer(
            listening: listener, router: router, identities: identities, configuration: configuration)
    }

    deinit {
        server.stop()
        try? FileManager.default.removeItem(at: directory)
    }

    func connect() throws -> RawClient { try RawClient(path: path) }

    /// Connections that ask nothing, once the server has seen all of them and has closed those that are too many.
    ///
    /// Its loops take them in turns, so that a later one may have its place before an earlier one.
    func crowd(_ count: Int, ofWhichStay places: Int) throws -> [RawClient] {
        let clients = try (0..<count).map { _ in try connect() }
        let limit = Date(timeIntervalSinceNow: longestWaitSeconds)
        while clients.count(where: \.isOpen) > places {
            guard Date() < limit else { throw WaitedTooLong() }
            usleep(1000)
        }
        return clients
    }

    /// Runs `body` while another client calls without pause, and holds that none of its calls was disturbed: each is answered, and
    /// one more of it and one of a newcomer when `body` is done.
    func besideAnotherClient(_ body: (borrowing Neighbour) throws -> Void) throws {
        let neighbour = try Neighbour(self)
        defer { neighbour.stop() }
        try neighbour.waitForAnotherAnswer()
        try body(neighbour)
        try neighbour.waitForAnotherAnswer()
        #expect(try connect().echo("newcomer") == "newcomer")
        neighbour.stop()
        #expect(neighbour.failure == nil)
    }
}

/// A client that behaves.
final class Neighbour: Sendable {
    private let state = Mutex((isStopped: false, answers: 0, failure: String?.none))
    private let client: RawClient

    init(_ server: ProbeServer) throws {
        client = try server.connect()
        Thread.detachNewThread { [self] in
            var number = 0
            while state.withLock({ !$0.isStopped }) {
                number += 1
                do {
                    guard try client.echo("neighbour \(number)") == "neighbour \(number)" else { throw WaitedTooLong() }
                    state.withLock { $0.answers += 1 }
                } catch {
                    state.withLock { state in
                        if !state.isStopped { state.failure = "call \(number): \(error)" }
                        state.isStopped = true
                    }
                }
            }
        }
    }

    func waitForAnotherAnswer() throws {
        let before = state.withLock { $0.answers }
        let limit = Date(timeIntervalSinceNow: longestWaitSeconds)
        // Two: the one under way may have been answered before.
        while state.withLock({ $0.answers < before + 2 && $0.failure == nil }) {
            guard Date() < limit else { throw WaitedTooLong() }
            usleep(1000)
        }
    }

    func stop() { state.withLock { $0.isStopped = true } }
    var failure: String? { state.withLock { $0.failure } }
}

/// A connection that sends whatever it is told to.
final class RawClient: @unchecked Sendable {
    // Unchecked: one thread at a time uses it.
    let descriptor: Int32
    private var received: [UInt8] = []

    enum Failure: Error { case cannotConnect(Int32), closed, silent }

    init(path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard var address = UnixAddress(path: path) else { throw Failure.cannotConnect(0) }
        guard address.withSockaddr({ Glibc.connect(descriptor, $0, $1) }) == 0 else {
            // Closed by `deinit`, which runs here too.
            throw Failure.cannotConnect(errno)
        }
        var limit = timeval(tv_sec: Int(longestWaitSeconds), tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close() }

    private var isClosed = false

    func close() {
        if !isClosed { Glibc.close(descriptor) }
        isClosed = true
    }

    /// Sends bytes as they are.
    ///
    /// Whether the peer still takes them.
    @discardableResult
    func send(_ bytes: some Collection<UInt8>) -> Bool {
        let bytes = Array(bytes)
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress! + offset, bytes.count - offset, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            offset += count
        }
        return true
    }

    @discardableResult
    func send(frame: String) -> Bool { send(Array(frame.utf8) + [0]) }

    /// Sends as much as the peer takes without waiting longer than `patience` for it.
    ///
    /// Returns how many bytes that was.
    func push(_ bytes: [UInt8], patienceMilliseconds: Int32) -> Int {
        var offset = 0
        while offset < bytes.count {
            var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&entry, 1, patienceMilliseconds) == 1 else { return offset }
            let count = bytes.withUnsafeBytes {
                Glibc.send(
                    descriptor, $0.baseAddress! + offset, bytes.count - offset,
                    Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count > 0 else { return offset }
            offset += count
        }
        return offset
    }

    /// The next reply.
    func receive() throws -> [String: Any] {
        var searched = 0
        while true {
            if let end = received.withUnsafeBytes({ Self.end(in: $0, from: searched) }) {
                let frame = Data(received[..<end])
                received.removeSubrange(...end)
                return try #require(try JSONSerialization.jsonObject(with: frame) as? [String: Any])
            }
            searched = received.count
            var chunk = [UInt8](repeating: 0, count: 1 << 16)
            let count = recv(descriptor, &chunk, chunk.count, 0)
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { throw Failure.silent }
            guard count > 0 else { throw Failure.closed }
            received += chunk[..<count]
        }
    }

    private static func end(in bytes: UnsafeRawBufferPointer, from offset: Int) -> Int? {
        guard let base = bytes.baseAddress, offset < bytes.count else { return nil }
        return memchr(base + offset, 0, bytes.count - offset).map { UnsafeRawPointer($0) - base }
    }

    /// Whether the server has not closed it, as far as this machine knows by now; nothing may have been sent on it.
    var isOpen: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) < 0 && errno == EAGAIN
    }

    /// Whether the server closes the connection, without another reply.
    func isClosedByServer() -> Bool {
        do {
            _ = try receive()
            return false
        } catch Failure.closed {
            return true
        } catch {
            return false
        }
    }

    func call(_ frame: String) throws -> [String: Any] {
        guard send(frame: frame) else { throw Failure.closed }
        return try receive()
    }

    func echo(_ text: String) throws -> String? {
        let reply = try call(#"{"method":"test.Probe.Echo","parameters":{"text":"\#(text)"}}"#)
        return (reply["parameters"] as? [String: Any])?["text"] as? String
    }
}

extension [String: Any] {
    var error: String? { self["error"] as? String }
    func parameter(_ name: String) -> String? { (self["parameters"] as? [String: Any])?[name] as? String }
}

/// How many descriptors this process may open, for a test that has a process of its own.
struct DescriptorLimit {
    private struct Refused: Error {}
    private let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    private var limit = rlimit()
    /// The lowest number that is free, and all above it are free too.
    private let first: Int32

    init() throws {
        guard getrlimit(kind, &limit) == 0 else { throw Refused() }
        let used = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
        let highest = used.max() ?? -1
        // What lies between others is taken for good.
        var number = dup(0)
        while number >= 0, number <= highest { number = dup(0) }
        guard number > highest else { throw Refused() }
        close(number)
        first = number
    }

    func leave(_ count: Int) {
        var few = limit
        few.rlim_cur = rlim_t(Int(first) + count)
        #expect(setrlimit(kind, &few) == 0)
    }
}
