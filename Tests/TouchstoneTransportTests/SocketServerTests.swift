import Foundation
import Glibc
import Testing
import TouchstoneCore

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
            let limit = ContinuousClock.now + .seconds(3)
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

    @Test func oneThousandIdleConnectionsLeaveRoomForAnother() throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        try #require(limit.rlim_max >= 4096)
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let idle = try (0..<1000).map { _ in try server.connect() }
            #expect(try server.connect().echo("one more") == "one more")
            #expect(try idle.first?.echo("first") == "first")
            #expect(try idle.last?.echo("last") == "last")
        }
    }

    @Test func moreConnectionsThanTheLimitAreClosedAndTheOthersGoOn() throws {
        let server = try ProbeServer { $0.maximumConnections = 3 }
        let neighbour = try Neighbour(server)
        defer { neighbour.stop() }
        let (second, third) = (try server.connect(), try server.connect())
        #expect(try second.echo("2") == "2")
        #expect(try third.echo("3") == "3")
        #expect(try server.connect().isClosedByServer())
        try neighbour.waitForAnotherAnswer()
        #expect(neighbour.failure == nil)
        #expect(try third.echo("still") == "still")
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
        let server = try ProbeServer { $0.maximumConnections = 8 }
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
