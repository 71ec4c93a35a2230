import Foundation
import Synchronization
import Testing
import TouchstoneCore

@testable import TouchstoneTransport

/// Messages of more than 1 MiB: which may be, and how many at a time.
@Suite struct LargeMessageTests {
    private static func frame(_ method: String, ofBytes count: Int) -> String {
        let beginning = #"{"method":"\#(method)","parameters":{"text":""#
        let end = #""}}"#
        return beginning + String(repeating: "x", count: count - beginning.utf8.count - end.utf8.count) + end
    }

    /// Bytes of the text of a message to `Take` of so many bytes.
    private static func textBytes(_ count: Int) -> Int {
        count - #"{"method":"test.Probe.Take","parameters":{"text":""}}"#.utf8.count
    }

    // MARK: turns

    /// Who has a turn.
    private final class Taken: Sendable {
        let turns = Turns(VarlinkLimits.largeTurns)
        private let begun = Mutex<[(process: Int32, turn: Turn?)]>([])

        func take(_ process: Int32) {
            turns.take(for: .init(process: process, app: "\(process)")) { turn in
                self.begun.withLock { $0.append((process, turn)) }
            }
        }

        /// The processes that have begun, in this order.
        var all: [Int32] { begun.withLock { $0.map(\.process) } }

        func end(_ index: Int) {
            // Outside of the lock: whoever is next begins at once.
            _ = begun.withLock { $0[index].turn.take() }
        }
    }

    @Test("Two have a turn at a time, one of each app, and the apps come one after the other") func order() {
        let turns = Taken()
        for process: Int32 in [1, 1, 2, 1, 3, 3] { turns.take(process) }
        #expect(turns.all == [1, 2])
        turns.end(1)
        // Two of app 1 are before it, which has one.
        #expect(turns.all == [1, 2, 3])
        turns.end(0)
        #expect(turns.all == [1, 2, 3, 1])
        turns.end(2)
        #expect(turns.all == [1, 2, 3, 1, 3])
        turns.end(3)
        #expect(turns.all == [1, 2, 3, 1, 3, 1])
        turns.end(4)
        turns.end(5)
        turns.take(4)
        #expect(turns.all.last == 4)
    }

    @Test("A process has so many messages that wait, and another process still may") func ofOneProcess() {
        let turns = Taken()
        for process: Int32 in [1, 2] { turns.take(process) }
        for _ in 0..<VarlinkLimits.maximumLargeMessagesThatWait {
            #expect(turns.turns.take(for: .init(process: 3)) { _ in })
        }
        #expect(!turns.turns.take(for: .init(process: 3)) { _ in })
        #expect(turns.turns.take(for: .init(process: 4)) { _ in })
    }

    @Test("DEC-589: however many processes an app is, others' large messages have every second turn") func byApp() {
        let turns = Turns(VarlinkLimits.largeTurns)
        let begun = Mutex<[(app: AppIdentifier, turn: Turn?)]>([])
        func take(_ process: Int32, _ app: AppIdentifier) {
            turns.take(for: .init(process: process, app: app)) { turn in begun.withLock { $0.append((app, turn)) } }
        }
        for process: Int32 in 1...40 { take(process, "greedy") }
        #expect(begun.withLock { $0.count } == 1)
        take(100, "other")
        #expect(begun.withLock { $0.last?.app } == "other")
        take(101, "third")
        // Outside of the lock: whoever is next begins at once.
        for index in [0, 2] { _ = begun.withLock { $0.indices.contains(index) ? $0[index].turn.take() : nil } }
        #expect(begun.withLock { $0.contains { $0.app == "third" } })
        withExtendedLifetime(begun.withLock { $0 }) {}
    }

    // MARK: the socket

    /// A request that is answered when the test says so.
    private static func wait(ofBytes count: Int) -> String {
        let beginning = #"{"method":"test.Probe.Wait","parameters":{},"pad":""#
        return beginning + String(repeating: "x", count: count - beginning.utf8.count - 2) + #""}"#
    }

    @Test("DEC-589: of one process eight requests of more than 64 KiB are held at a time; small ones do not wait")
    func medium() throws {
        let server = try ProbeServer()
        let clients = try (0..<10).map { _ in try server.connect() }
        for client in clients { client.send(frame: Self.wait(ofBytes: 200 << 10)) }
        _ = try server.calls.wait(for: 8)
        let other = try server.connect()
        #expect(try other.echo("small") == "small")
        let small = try server.connect()
        small.send(frame: Self.wait(ofBytes: 64 << 10))
        let calls = try server.calls.wait(for: 9)
        #expect(server.calls.all.count == 9)
        // Each that is answered lets one more in.
        for call in calls { call.reply(.init()) }
        for call in try server.calls.wait(for: 11)[9...] { call.reply(.init()) }
        for client in clients + [small] { _ = try client.receive() }
    }

    @Test("DEC-589: who stops in the middle of such a request has its place until the deadline, and not longer")
    func stopsInTheMiddleOfAMediumOne() throws {
        let server = try ProbeServer { $0.partialMessageTimeout = 0.3 }
        let stopped = try (0..<12).map { _ in try server.connect() }
        for client in stopped { client.send(Array(Self.wait(ofBytes: 200 << 10).utf8.dropLast(1 << 10))) }
        for client in stopped { #expect(client.isClosedByServer()) }
        let client = try server.connect()
        client.send(frame: Self.wait(ofBytes: 200 << 10))
        try server.calls.wait()[0].reply(.init())
        _ = try client.receive()
    }

    @Test("A large request of a method that takes them is answered, also behind others, and others go on meanwhile")
    func largeRequest() throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            client.send(frame: Self.frame("test.Probe.Echo", ofBytes: 100))
            client.send(frame: Self.frame("test.Probe.Take", ofBytes: 20 << 20))
            client.send(frame: Self.frame("test.Probe.Take", ofBytes: (1 << 20) + 1))
            _ = try client.receive()
            for count in [20 << 20, (1 << 20) + 1] {
                let length = try client.receive().parameter("text").flatMap { Int($0) }
                #expect(length == Self.textBytes(count))
            }
        }
    }

    @Test("A large request waits until what is before it is answered") func behindOneThatWaits() throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            client.send(frame: #"{"method":"test.Probe.Wait","parameters":{}}"#)
            let call = try server.calls.wait()[0]
            let sender = Thread { client.send(frame: Self.frame("test.Probe.Take", ofBytes: 8 << 20)) }
            sender.start()
            // Somebody else's large one is not held up by it.
            let other = try server.connect()
            other.send(frame: Self.frame("test.Probe.Take", ofBytes: 2 << 20))
            _ = try other.receive()
            call.reply(.init())
            _ = try client.receive()
            #expect(try client.receive().parameter("text") != nil)
        }
    }

    @Test(
        "A large request of any other method, or one that does not begin with its method, ends the connection",
        arguments: ["test.Probe.Echo", "test.Probe.Take2", "test.Probe"])
    func otherMethods(_ method: String) throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            client.send(frame: Self.frame(method, ofBytes: (1 << 20) + 1))
            #expect(client.isClosedByServer())
            let late = try server.connect()
            late.send(frame: #" {"x":1,"# + Self.frame("test.Probe.Take", ofBytes: 2 << 20).dropFirst())
            #expect(late.isClosedByServer())
        }
    }

    @Test("One byte more than the largest ends the connection") func tooLarge() throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            client.send(frame: Self.frame("test.Probe.Take", ofBytes: VarlinkLimits.maximumLargeRequestBytes + 1))
            #expect(client.isClosedByServer())
            let other = try server.connect()
            other.send(frame: Self.frame("test.Probe.Take", ofBytes: VarlinkLimits.maximumLargeRequestBytes))
            #expect(try other.receive().parameter("text") != nil)
        }
    }

    @Test("Whoever stops in the middle of a large message ends after the deadline, and the next has its turn")
    func stopsInTheMiddle() throws {
        let server = try ProbeServer { $0.partialMessageTimeout = 0.3 }
        let stopped = try (0..<3).map { _ in try server.connect() }
        for client in stopped {
            client.send(Array(Self.frame("test.Probe.Take", ofBytes: 3 << 20).utf8.dropLast(1 << 10)))
        }
        // On a busy machine this one may not keep the deadline either.
        var text: String?
        let limit = Date(timeIntervalSinceNow: longestWaitSeconds)
        while text == nil, Date() < limit {
            let client = try server.connect()
            client.send(frame: Self.frame("test.Probe.Take", ofBytes: 3 << 20))
            text = try? client.receive().parameter("text")
        }
        #expect(text != nil)
        for client in stopped { #expect(client.isClosedByServer()) }
    }

    // MARK: the text

    @Test("A long string is read like a short one, whatever is in it and wherever", arguments: 0..<24)
    func longStrings(_ offset: Int) throws {
        let plain = String(repeating: "a", count: offset)
        for special in [#"\""#, #"\\"#, "é", "€", "𝄞", #"\u00e9"#, "\u{7F}"] {
            let text = "\"\(plain)\(special)\(plain)\""
            #expect(try MessageDecoder.decode(String.self, from: Data(text.utf8)) == reference(text))
        }
        for wrong in ["\u{0}", "\u{1F}", "\n", #"\x"#] {
            let text = "\"\(plain)\(wrong)\(plain)\""
            #expect(throws: DecodingError.self) { try MessageDecoder.decode(String.self, from: Data(text.utf8)) }
        }
        let invalid = Data("\"\(plain)".utf8) + [0xFF] + Data("\(plain)\"".utf8)
        #expect(throws: DecodingError.self) { try MessageDecoder.decode(String.self, from: invalid) }
        #expect(throws: DecodingError.self) { try MessageDecoder.decode(String.self, from: Data("\"\(plain)".utf8)) }
    }

    private func reference(_ text: String) throws -> String {
        try JSONDecoder().decode(String.self, from: Data(text.utf8))
    }

    @Test("Long base64 is as strict as short", arguments: [64, 1 << 20]) func base64(_ count: Int) throws {
        var random = SystemRandomNumberGenerator()
        for more in 0..<3 {
            let data = Data((0..<count + more).map { _ in UInt8.random(in: 0...255, using: &random) })
            let text = try String(decoding: JSONOutput.encode(data), as: UTF8.self)
            #expect(text == "\"\(data.base64EncodedString())\"")
            #expect(try MessageDecoder.decode(Data.self, from: Data(text.utf8)) == data)
            let inside = String(text.dropFirst().dropLast())
            let wrong: [String] = [
                String(inside.dropLast()), inside + "=", "-" + String(inside.dropFirst()),
                " " + String(inside.dropFirst()),
                "=" + String(inside.dropFirst()), String(inside.prefix(8)) + "=" + String(inside.dropFirst(9)),
                String(inside.dropLast(3)) + "===", String(inside.prefix(4)) + "AA==" + inside,
            ]
            for text in wrong {
                #expect(throws: DecodingError.self, "\(text.prefix(16))...\(text.suffix(8))") {
                    try MessageDecoder.decode(Data.self, from: Data("\"\(text)\"".utf8))
                }
            }
        }
    }
}
