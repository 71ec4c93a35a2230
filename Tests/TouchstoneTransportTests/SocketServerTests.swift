import Foundation
import Glibc
import Testing
import TouchstoneCore

@testable import TouchstoneSocketServer
@testable import TouchstoneTransport

/// What one connection does to itself, and that it does it to itself only.
@Suite struct SocketServerTests {
    private static let beginning = #"{"method":"test.Probe.Echo","parameters":{"text":""#
    private static let end = #""}}"#

    private func request(ofBytes count: Int) -> String {
        Self.beginning + String(repeating: "x", count: count - Self.beginning.utf8.count - Self.end.utf8.count)
            + Self.end
    }

    // MARK: sizes

    @Test func theLargestMessageIsAnswered() throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let reply = try server.connect().call(request(ofBytes: VarlinkLimits.maximumRequestBytes))
            #expect(reply.parameter("text")?.utf8.count ?? 0 > VarlinkLimits.maximumRequestBytes - 100)
        }
    }

    @Test func oneByteMoreClosesTheConnection() throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            client.send(frame: request(ofBytes: VarlinkLimits.maximumRequestBytes + 1))
            #expect(client.isClosedByServer())
        }
    }

    @Test func aMessageWithoutEndClosesTheConnectionAtTheLimit() throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            client.send(Array(repeating: UInt8(ascii: "x"), count: VarlinkLimits.maximumRequestBytes + 1))
            #expect(client.isClosedByServer())
        }
    }

    // MARK: descriptors

    /// One that takes an hour to close: a TCP socket whose peer reads nothing, and that waits until it has.
    private final class LingeringSocket {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        private let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)

        init() throws {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    bind(listener, address, length) == 0 && listen(listener, 1) == 0
                        && getsockname(listener, address, &length) == 0 && connect(descriptor, address, length) == 0
                }
            }
            try #require(isConnected)
            var patience = linger(l_onoff: 1, l_linger: 3600)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &patience, socklen_t(MemoryLayout<linger>.size))
            let bytes = [UInt8](repeating: 0, count: 1 << 16)
            while send(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT)) > 0 {}
        }

        /// From here on nobody waits for it any more.
        deinit { Glibc.close(listener) }

        /// Sends it along with some bytes; only the receiver has it then.
        func goWith(_ text: String, to client: RawClient, flags: Int32 = 0) {
            var control: [UInt8] = []
            withUnsafeBytes(of: (20 as Int, SOL_SOCKET, Int32(SCM_RIGHTS), descriptor, 0 as Int32)) {
                control += $0
            }
            var bytes = Array(text.utf8)
            let sent = bytes.withUnsafeMutableBytes { bytes in
                control.withUnsafeMutableBytes { control in
                    var part = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                    return withUnsafeMutablePointer(to: &part) { part in
                        var message = msghdr()
                        (message.msg_iov, message.msg_iovlen) = (part, 1)
                        (message.msg_control, message.msg_controllen) = (control.baseAddress, control.count)
                        return sendmsg(client.descriptor, &message, flags)
                    }
                }
            }
            #expect(sent == bytes.count)
            // Where the receiver was faster, this is the close that takes an hour.
            let descriptor = descriptor
            Thread.detachNewThread { Glibc.close(descriptor) }
        }
    }

    /// One that lingers until the test has ended.
    private func keptLingering(_ all: inout [LingeringSocket]) throws -> LingeringSocket {
        let one = try LingeringSocket()
        all.append(one)
        return one
    }

    @Test func aDescriptorThatTakesAnHourToCloseHoldsUpNobodyAndEndsItsConnection() throws {
        var lingering: [LingeringSocket] = []
        defer { lingering = [] }
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            for beginning in ["", request(ofBytes: 100) + "\0"] {
                // Enough for each loop, several times.
                for _ in 0..<8 {
                    let client = try server.connect()
                    client.send(Array(beginning.utf8))
                    if !beginning.isEmpty { _ = try client.receive() }
                    try keptLingering(&lingering).goWith(request(ofBytes: 100) + "\0", to: client)
                    #expect(client.isClosedByServer())
                }
            }
        }
    }

    @Test func norDoesOneWithAByteOutOfBandOrInWhatNobodyHasReadYet() throws {
        var lingering: [LingeringSocket] = []
        defer { lingering = [] }
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            for _ in 0..<8 {
                let client = try server.connect()
                #expect(try client.echo("known") == "known")
                try keptLingering(&lingering).goWith("x", to: client, flags: Int32(MSG_OOB))
                client.send(frame: request(ofBytes: 100))
                #expect(client.isClosedByServer())
            }
            for _ in 0..<8 {
                let client = try server.connect()
                // Too large, so that the server ends the connection before it reads the rest.
                client.send(Array(repeating: UInt8(ascii: "x"), count: VarlinkLimits.maximumSmallRequestBytes + 1))
                try keptLingering(&lingering).goWith("y", to: client)
                client.close()
            }
        }
    }

    @Test func norDoesOneWhereTheServerListensBeforeItLooks() throws {
        var lingering: [LingeringSocket] = []
        defer { lingering = [] }
        let server = try ProbeServer(beforeItLooks: { _ in })
        for beginning in ["", "early"] {
            for _ in 0..<8 {
                let client = try server.connect()
                client.send(Array(beginning.utf8))
                try keptLingering(&lingering).goWith(request(ofBytes: 100) + "\0", to: client)
                #expect(client.isClosedByServer())
            }
        }
        // What comes before it looks is answered so: the second is in time.
        let client = try server.connect()
        var text: String?
        let limit = Date(timeIntervalSinceNow: longestWaitSeconds)
        while text != "newcomer", Date() < limit { text = try client.echo("newcomer") }
        #expect(text == "newcomer")
    }

    // MARK: ends

    @Test func whoTakesNothingAnyMoreIsDisconnected() throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            #expect(try client.echo("known") == "known")
            shutdown(client.descriptor, Int32(SHUT_RD))
            client.send(frame: request(ofBytes: 100))
            var entry = pollfd(fd: client.descriptor, events: 0, revents: 0)
            #expect(poll(&entry, 1, Int32(longestWaitSeconds * 1000)) == 1 && entry.revents & Int16(POLLHUP) != 0)
        }
    }

    @Test func whoIsDisconnectedWhileItsNextMessageWaitsKeepsNoTurn() throws {
        let server = try ProbeServer()
        // More than the turns of one app. The first message is malformed at its end, and the next one has begun by then.
        let first = request(ofBytes: VarlinkLimits.maximumRequestBytes - 1) + "x\0"
        let next = Self.beginning + String(repeating: "y", count: VarlinkLimits.maximumSmallRequestBytes * 2)
        for _ in 0..<40 {
            let client = try server.connect()
            client.send(Array((first + next).utf8))
            #expect(client.isClosedByServer())
        }
        let reply = try server.connect().call(request(ofBytes: VarlinkLimits.maximumRequestBytes))
        #expect(reply.error == nil)
    }

    // MARK: time

    @Test func halfAMessageThenSilenceClosesTheConnectionAfterTheDeadline() throws {
        let server = try ProbeServer { $0.partialMessageTimeout = 0.2 }
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            let started = ContinuousClock.now
            client.send(Array(Self.beginning.utf8))
            #expect(client.isClosedByServer())
            #expect(ContinuousClock.now - started >= .milliseconds(190))
        }
    }

    @Test func halfAMessageBehindAWholeOneHasTheSameDeadline() throws {
        let server = try ProbeServer { $0.partialMessageTimeout = 0.2 }
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            client.send(Array((request(ofBytes: 100) + "\0" + Self.beginning).utf8))
            #expect(try client.receive().error == nil)
            #expect(client.isClosedByServer())
        }
    }

    @Test func aMessageThatTricklesInHasTheSameDeadline() throws {
        let server = try ProbeServer { $0.partialMessageTimeout = 0.2 }
        try server.besideAnotherClient { neighbour in
            let client = try server.connect()
            client.send(Array(Self.beginning.utf8))
            let limit = ContinuousClock.now + .seconds(300)
            var isOpen = true
            while isOpen, ContinuousClock.now < limit {
                try neighbour.waitForAnotherAnswer()
                isOpen = client.send([UInt8(ascii: "x")])
            }
            #expect(!isOpen, "each byte gave it another deadline")
        }
    }

    @Test func anIdleConnectionHasNoDeadline() throws {
        let server = try ProbeServer { $0.partialMessageTimeout = 0.05 }
        let idle = try server.connect()
        let half = try server.connect()
        #expect(try idle.echo("first") == "first")
        half.send(Array(Self.beginning.utf8))
        #expect(half.isClosedByServer())
        #expect(try idle.echo("second") == "second")
    }

    // MARK: places

    @Test func aProcessHasSoManyConnectionsAndNoMore() throws {
        let server = try ProbeServer { $0.connections.perProcess = 3 }
        let neighbour = try Neighbour(server)
        defer { neighbour.stop() }
        try neighbour.waitForAnotherAnswer()
        let (second, third) = (try server.connect(), try server.connect())
        #expect(try second.echo("2") == "2")
        #expect(try third.echo("3") == "3")
        #expect(try server.connect().isClosedByServer())
        try neighbour.waitForAnotherAnswer()
        #expect(neighbour.failure == nil)
        second.close()
        let limit = Date(timeIntervalSinceNow: longestWaitSeconds)
        var isServed = false
        while !isServed, Date() < limit { isServed = (try? server.connect().echo("next")) == "next" }
        #expect(isServed)
        #expect(try third.echo("still") == "still")
    }

    @Test func whoAsksNothingKeepsNobodyOut() throws {
        let server = try ProbeServer { $0.connections.unknown = 48 }
        let idle = try server.crowd(100, ofWhichStay: 48)
        #expect(try server.connect().echo("newcomer") == "newcomer")
        #expect(try #require(idle.last { $0.isOpen }).echo("the newest") == "the newest")
    }

    @Test func whoseAppIsKnownKeepsItsPlace() throws {
        let server = try ProbeServer { $0.connections.unknown = 48 }
        let known = try server.connect()
        #expect(try known.echo("who") == "who")
        let idle = try server.crowd(100, ofWhichStay: 48)
        #expect(try #require(idle.last { $0.isOpen }).echo("the newest") == "the newest")
        #expect(try known.echo("still") == "still")
    }

    @Test func anAppHasSoManyConnectionsAndNoMore() throws {
        let server = try ProbeServer { $0.connections.perApp = 2 }
        let clients = try (0..<3).map { _ in try server.connect() }
        #expect(try clients[0].echo("who") == "who")
        #expect(try clients[1].echo("who") == "who")
        clients[2].send(frame: #"{"method":"test.Probe.Echo","parameters":{"text":"who"}}"#)
        // The probe answers whoever asks; what counts is that nobody is named, and that it ends.
        _ = try? clients[2].receive()
        #expect(clients[2].isClosedByServer())
        _ = try server.peers.wait(for: 3)
        #expect(server.peers.all.last.flatMap { $0 } == nil, "it is nobody whom we know")
        #expect(try clients[0].echo("still") == "still")
    }

    @Test(arguments: [true, false])
    func someOfThePlacesAreTheOwnersProgramsAlone(isOwners: Bool) throws {
        let server = try ProbeServer {
            // Four for those that are known, of which two are kept back.
            $0.connections.total = 8
            $0.connections.unknown = 4
            $0.connections.reserved = 2
            $0.connections.isOwners = { _ in isOwners }
        }
        let clients = try (0..<3).map { _ in try server.connect() }
        for client in clients { client.send(frame: #"{"method":"test.Probe.Echo","parameters":{"text":"who"}}"#) }
        _ = try server.peers.wait(for: 3)
        #expect(server.peers.all.count { $0 != nil } == (isOwners ? 3 : 2))
    }

    @Test(
        "DEC-072: the owner's programs are beside touchstoned, or in the bin of its installation",
        arguments: ["/usr", "/usr/local", "/home/me/.local"])
    func ownersPrograms(prefix: String) {
        func isOwners(_ path: String, evidence: AppIdentity.Evidence = .executable) -> Bool {
            let app = AppIdentity(
                identifier: AppIdentifier(path), evidence: evidence, name: "App", processID: 1, userID: 1)
            return OwnersPrograms.contains(app, daemons: "\(prefix)/libexec/touchstone")
        }
        for name in ["touchstone", "touchstone-agent", "touchstone-sync"] { #expect(isOwners("\(prefix)/bin/\(name)")) }
        #expect(isOwners("\(prefix)/libexec/touchstone/touchstone-simulator"))
        for path in [
            "\(prefix)/bin/python3", "\(prefix)/bin/touchstone-x", "/opt/bin/touchstone", "\(prefix)/touchstone",
            "\(prefix)/libexec/touchstone/system/touchstone-ssh-agent", "touchstone",
        ] { #expect(!isOwners(path), "\(path)") }
        #expect(!isOwners("\(prefix)/bin/touchstone", evidence: .flatpak))
    }

    @Test func programsInTheFolderOfABuildAreTheOwners() {
        func isOwners(_ path: String, _ daemons: String?) -> Bool {
            let app = AppIdentity(
                identifier: AppIdentifier(path), evidence: .executable, name: "App", processID: 1, userID: 1)
            return OwnersPrograms.contains(app, daemons: daemons)
        }
        #expect(isOwners("/src/.build/debug/touchstone-agent", "/src/.build/debug"))
        #expect(!isOwners("/src/bin/touchstone", "/src/.build/debug"))
        #expect(!isOwners("/usr/bin/touchstone", "/src/.build/debug"))
        #expect(!isOwners("/usr/bin/touchstone", nil))
    }

    @Test("A process has 128 connections where nothing else is said, and no more") func aProcessHasSoMany() throws {
        let server = try ProbeServer { $0.connections.unknown = 1000 }
        let clients = try server.crowd(140, ofWhichStay: 128)
        #expect(clients.count { $0.isOpen } == 128)
    }

    @Test func aConnectionThatAsksNothingEnds() throws {
        let server = try ProbeServer { $0.connections.silence = 0.2 }
        let silent = try server.connect()
        // On a busy machine one may be ended before it could ask.
        var asking = try server.connect()
        let limit = Date(timeIntervalSinceNow: longestWaitSeconds)
        while (try? asking.echo("first")) != "first", Date() < limit { asking = try server.connect() }
        #expect(silent.isClosedByServer())
        #expect(try asking.echo("second") == "second")
    }

    // MARK: order and number

    @Test func pipelinedRequestsAreAnsweredInOrder() throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            let frames = (0..<1000).map { #"{"method":"test.Probe.Echo","parameters":{"text":"\#($0)"}}"# + "\0" }
            let sender = Thread { client.send(Array(frames.joined().utf8)) }
            sender.start()
            for number in 0..<1000 { #expect(try client.receive().parameter("text") == "\(number)") }
        }
    }

    @Test func requestsBehindOneThatWaitsAreAnsweredAfterIt() throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            client.send(frame: #"{"method":"test.Probe.Wait"}"#)
            for number in 0..<VarlinkLimits.maximumPipelinedRequests {
                client.send(frame: #"{"method":"test.Probe.Echo","parameters":{"text":"\#(number)"}}"#)
            }
            try server.calls.wait()[0].reply(Empty())
            #expect(try client.receive().parameter("text") == nil)
            for number in 0..<VarlinkLimits.maximumPipelinedRequests {
                #expect(try client.receive().parameter("text") == "\(number)")
            }
        }
    }

    @Test func anAnswerFromAnotherThreadIsNotOvertaken() throws {
        let server = try ProbeServer()
        let client = try server.connect()
        let rounds = 500
        let answering = Thread {
            for round in 1...rounds { (try? server.calls.wait(for: round))?[round - 1].reply(Empty()) }
        }
        answering.start()
        var overtaken = 0
        for round in 0..<rounds {
            client.send(frame: #"{"method":"test.Probe.Wait"}"#)
            client.send(frame: #"{"method":"test.Probe.Echo","parameters":{"text":"\#(round)"}}"#)
            if try client.receive().parameter("text") != nil { overtaken += 1 }
            _ = try client.receive()
        }
        #expect(overtaken == 0)
    }

    @Test func tooManyRequestsBehindOneThatWaitsCloseTheConnection() throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            client.send(frame: #"{"method":"test.Probe.Wait"}"#)
            for _ in 0...VarlinkLimits.maximumPipelinedRequests {
                client.send(frame: #"{"method":"test.Probe.Echo","parameters":{"text":"x"}}"#)
            }
            #expect(client.isClosedByServer())
            _ = try server.closes.wait()
            // An answer that comes now is nobody's.
            try server.calls.wait()[0].reply(Empty())
        }
    }

    @Test("DEC-589: what waits behind one that waits has the bytes of a small request", arguments: [2, 3])
    func bytesBehindOneThatWaits(count: Int) throws {
        let server = try ProbeServer()
        let client = try server.connect()
        client.send(frame: #"{"method":"test.Probe.Wait"}"#)
        _ = try server.calls.wait()
        for _ in 0..<count { client.send(frame: request(ofBytes: 32 << 10)) }
        guard count == 2 else { return #expect(client.isClosedByServer()) }
        try server.calls.wait()[0].reply(Empty())
        for _ in 0...count { _ = try client.receive() }
    }

    @Test func aClientThatReadsNoRepliesIsReadNoFurther() throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            let frame = Array((request(ofBytes: 64 << 10) + "\0").utf8)
            let count = 256
            var flood: [UInt8] = []
            for _ in 0..<count { flood += frame }
            let taken = client.push(flood, patienceMilliseconds: 500)
            #expect(taken < flood.count / 2, "the server keeps what its client does not read")
            // Read, it goes on where it stopped, and nothing is lost.
            let rest = Array(flood[taken...])
            let sender = Thread { client.send(rest) }
            sender.start()
            for _ in 0..<count { #expect(try client.receive().error == nil) }
        }
    }

    // MARK: vanishing

    @Test func aClientThatVanishesWhileItsCallWaitsRunsItsCloseHandler() throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            client.send(frame: #"{"method":"test.Probe.Wait"}"#)
            let call = try server.calls.wait()[0]
            client.close()
            _ = try server.closes.wait()
            call.reply(Empty())
        }
    }

    @Test func aClientThatVanishesAmidItsMessageIsForgotten() throws {
        let server = try ProbeServer { $0.connections.perProcess = 8 }
        try server.besideAnotherClient { _ in
            for _ in 0..<100 {
                let client = try server.connect()
                client.send(Array(Self.beginning.utf8))
                client.close()
                // Its place is free again as soon as the server has seen it go.
                var isServed = false
                let limit = Date(timeIntervalSinceNow: longestWaitSeconds)
                while !isServed, Date() < limit { isServed = (try? server.connect().echo("next")) == "next" }
                #expect(isServed)
            }
        }
    }
}
