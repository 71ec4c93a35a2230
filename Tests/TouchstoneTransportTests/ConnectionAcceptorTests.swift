import CTouchstoneSystem
import Foundation
import Glibc
import Synchronization
import Testing
import TouchstoneCore

@testable import TouchstoneSocketServer
@testable import TouchstoneTransport

/// What counts on a connection that was made before anybody looked who makes it (DEC-055).
@Suite struct ConnectionAcceptorTests {
    private static func echo(_ text: String) -> String {
        #"{"method":"test.Probe.Echo","parameters":{"text":"\#(text)"}}"#
    }

    private static let again = "io.touchstone.SendAgain"
    private static let refusal = "org.varlink.service.PermissionDenied"

    /// A server, and a client that connected and sent so much before the server looked.
    private static func early(
        _ text: String, _ configure: @escaping (inout SocketServer.Configuration) -> Void = { _ in }
    ) throws -> (server: ProbeServer, client: RawClient) {
        var client: RawClient?
        let server = try ProbeServer(
            configure,
            beforeItLooks: { path in
                client = try RawClient(path: path)
                client?.send(Array(text.utf8))
            })
        return (server, try #require(client))
    }

    @Test("AT: what was sent before the server looked is not carried out, each message answered so; what comes then is")
    func earlyMessages() throws {
        let (server, client) = try Self.early("\(Self.echo("who"))\0\(Self.echo("who"))\0")
        #expect(try client.receive().error == Self.again)
        #expect(try client.receive().error == Self.again)
        #expect(server.peers.all.isEmpty)
        #expect(try client.echo("who") == "who")
        #expect(try server.peers.wait().count == 1)
        #expect(try server.peers.wait()[0]?.processID == getpid())
    }

    @Test("A server that ends while programs connect ends whole", arguments: [false, true])
    func endsAmidConnections(listensBefore: Bool) throws {
        for _ in 0..<20 {
            let clients = DispatchGroup()
            let (answered, over) = (Events<Void>(), Events<Void>())
            do {
                let server = try listensBefore ? ProbeServer(beforeItLooks: { _ in }) : ProbeServer()
                let path = server.path
                try withExtendedLifetime(server) {
                    for _ in 0..<4 {
                        clients.enter()
                        Thread.detachNewThread {
                            while over.all.isEmpty, let client = try? RawClient(path: path) {
                                client.send(Array("\(Self.echo("here"))\0".utf8))
                                if (try? client.receive()) != nil { answered.append(()) }
                            }
                            clients.leave()
                        }
                    }
                    _ = try answered.wait()
                }
            }
            over.append(())
            clients.wait()
        }
    }

    @Test("AT: a message that began before the server looked is early to its end", arguments: [1, 20, 57])
    func halfAnEarlyMessage(_ early: Int) throws {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        #expect(touchstone_pass_credentials(ends[0]) == 0)
        let peer = Peer(processID: getpid(), userID: getuid(), identify: { nil })
        var connection = WaitingConnection(socket: ends[0], peer: peer, early: early)
        let first = Array("\(Self.echo("who"))\0".utf8)
        let after = Array("\(Self.echo("after"))\0".utf8)
        for part in [first[..<1], first[1...], after[...]] {
            #expect(Array(part).withUnsafeBytes { send(ends[1], $0.baseAddress, $0.count, 0) } == part.count)
        }
        // In parts, as they may come.
        var steps: [WaitingConnection.Step] = []
        while steps.last != .began, steps.count < 1000 { steps.append(connection.read(7, 10)) }
        #expect(!steps.contains(.ended))
        #expect(after.starts(with: connection.beginning.prefix(7)))
        #expect(connection.deadline == nil || connection.beginning.contains(0))
        let client = SocketChannel(descriptor: dup(ends[1]))
        #expect(try client.receive() == VarlinkServiceError.SendAgain.frame)
        client.close()
    }

    @Test func aMessageAfterTheServerLookedIsAnsweredAtOnce() throws {
        let (server, client) = try Self.early("")
        // Answered behind the accept of the first: so that one was looked at.
        let other = try server.connect()
        if try other.call(Self.echo("x")).error == Self.again { #expect(try other.echo("x") == "x") }
        #expect(try client.echo("who") == "who")
        #expect(try server.peers.wait()[0]?.processID == getpid())
    }

    @Test("AT: a message of another process on the connection is refused, and the connection ends")
    func anotherProcess() throws {
        let (server, client) = try Self.early("\(Self.echo("a"))\0")
        #expect(try client.receive().error == Self.again)
        let other = Process()
        other.executableURL = URL(fileURLWithPath: "/usr/bin/printf")
        other.arguments = [Self.echo("who") + #"\0"#]
        other.standardOutput = FileHandle(fileDescriptor: client.descriptor, closeOnDealloc: false)
        try other.run()
        #expect(try client.receive().error == Self.refusal)
        #expect(client.isClosedByServer())
        #expect(server.peers.all.isEmpty)
    }

    @Test("AT: the end of a message that another process sends is refused, too")
    func endByAnotherProcess() throws {
        let (server, client) = try Self.early("\(Self.echo("a"))\0")
        #expect(try client.receive().error == Self.again)
        client.send(Array(Self.echo("who").utf8))
        let other = Process()
        other.executableURL = URL(fileURLWithPath: "/usr/bin/printf")
        other.arguments = [#"\0"#]
        other.standardOutput = FileHandle(fileDescriptor: client.descriptor, closeOnDealloc: false)
        try other.run()
        #expect(try client.receive().error == Self.refusal)
        #expect(client.isClosedByServer())
        #expect(server.peers.all.isEmpty)
    }

    @Test("DEC-072: who asks nothing ends, also if the server listened before it looked") func silence() throws {
        let (server, client) = try Self.early("") { $0.connections.silence = 0.2 }
        #expect(client.isClosedByServer())
        withExtendedLifetime(server) {}
    }

    @Test("DEC-072: who asks nothing keeps nobody out, also if the server listened before it looked")
    func crowd() throws {
        let server = try ProbeServer({ $0.connections.unknown = 48 }, beforeItLooks: { _ in })
        let known = try server.connect()
        if try known.call(Self.echo("who")).error == Self.again { #expect(try known.echo("who") == "who") }
        let idle = try server.crowd(100, ofWhichStay: 48)
        #expect(idle.count { $0.isOpen } == 48)
        #expect(try known.echo("still") == "still")
        let newcomer = try server.connect()
        if try newcomer.call(Self.echo("new")).error == Self.again { #expect(try newcomer.echo("new") == "new") }
    }

    @Test func halfAMessageHasADeadline() throws {
        for isEarly in [true, false] {
            let half = #"{"method":"#
            let (server, client) = try Self.early(isEarly ? half : "") { $0.partialMessageTimeout = 0.2 }
            if !isEarly { client.send(Array(half.utf8)) }
            #expect(client.isClosedByServer())
            withExtendedLifetime(server) {}
        }
    }

    @Test("A message may be as large as any, and no larger")
    func sizes() throws {
        // What comes before the program is known may be larger, and has the deadline.
        let (server, client) = try Self.early("\(Self.echo("a"))\0") { $0.partialMessageTimeout = 30 }
        #expect(try client.receive().error == Self.again)
        let text = String(repeating: "x", count: VarlinkLimits.maximumRequestBytes - Self.echo("").utf8.count)
        #expect(try client.echo(text) == text)
        let other = try server.connect()
        other.send(Array(repeating: UInt8(ascii: "x"), count: VarlinkLimits.maximumRequestBytes + (64 << 10)))
        #expect(other.isClosedByServer())
        #expect(try client.echo("still") == "still")
    }

    @Test("Who waits to be looked at counts, and is counted no longer when it leaves")
    func connectionsAreCounted() throws {
        let (server, first) = try Self.early("") { $0.connections.perProcess = 2 }
        let second = try server.connect()
        #expect(try server.connect().isClosedByServer())
        first.close()
        let limit = Date(timeIntervalSinceNow: longestWaitSeconds)
        var answer: [String: Any]?
        while answer == nil, Date() < limit { answer = try? server.connect().call(Self.echo("third")) }
        #expect(answer != nil)
        withExtendedLifetime(second) {}
    }

    @Test("A channel of this library sends again by itself, each message once, and whoever uses it notices nothing")
    func channelsSendAgain() throws {
        var channel: (any VarlinkChannel)?
        let server = try ProbeServer(beforeItLooks: { path in
            channel = try SocketEndpoint(path: path).connect()
            try channel?.send(Data(Self.echo("first").utf8))
            try channel?.send(Data(Self.echo("second").utf8))
        })
        let client = try #require(channel)
        for text in ["first", "second"] {
            let reply = try JSONSerialization.jsonObject(with: client.receive()) as? [String: Any]
            #expect(reply?.parameter("text") == text)
        }
        #expect(try VarlinkClient(client).call(Probe.Echo.self, .init(text: "third")).text == "third")
        withExtendedLifetime(server) {}
    }

    @Test("A server that only ever wants it again gets it once more, and no oftener; nor does one that answered before")
    func noEndlessRepetition() throws {
        for hasAnswered in [false, true] {
            var ends: [Int32] = [0, 0]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
            let (server, client) = (SocketChannel(descriptor: ends[0]), SocketChannel(descriptor: ends[1]))
            try client.send(Data("message".utf8))
            #expect(try server.receive() == Data("message".utf8))
            if hasAnswered {
                try server.send(Data("answer".utf8))
                #expect(try client.receive() == Data("answer".utf8))
            } else {
                try server.send(VarlinkServiceError.SendAgain.frame)
            }
            try server.send(VarlinkServiceError.SendAgain.frame)
            #expect(try client.receive() == VarlinkServiceError.SendAgain.frame)
            client.close()
            if !hasAnswered { #expect(try server.receive() == Data("message".utf8)) }
            #expect(throws: TransportError.closed) { try server.receive() }
        }
    }
}
