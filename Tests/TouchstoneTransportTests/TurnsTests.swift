import Foundation
import Synchronization
import Testing
import TouchstoneCore

@testable import TouchstoneTransport

/// Who works when, and who waits.
@Suite struct TurnsTests {
    /// Takes turns, and notes who has one.
    private final class Taken: Sendable {
        let turns: Turns
        private let begun = Mutex<[(name: String, turn: Turn?)]>([])
        private let places = Mutex<[String: Turns.Place]>([:])
        let idle = Events<Void>()

        init(_ limits: Turns.Limits) {
            turns = Turns(limits, whenIdle: { [idle] in idle.append(()) })
        }

        @discardableResult
        func take(_ name: String, process: Int32 = 0, app: AppIdentifier = "", cost: Int = 0) -> Bool {
            turns.take(
                for: .init(process: process, app: app), cost: cost,
                placed: { place in places.withLock { $0[name] = place } },
                { turn in self.begun.withLock { $0.append((name, turn)) } })
        }

        /// Who has begun, in this order.
        var all: [String] { begun.withLock { $0.map(\.name) } }

        func end(_ name: String) {
            begun.withLock { $0.first { $0.name == name }?.turn }?.end()
        }

        func leave(_ name: String) { places.withLock { $0[name] }?.leave() }
    }

    @Test(
        "A process has so many at a time, an app so many, all so many; the others wait for these, and not behind each other"
    )
    func limits() {
        let taken = Taken(.init(total: 5, perProcess: 2, perApp: 3))
        for number in 1...3 { taken.take("a1-\(number)", process: 1, app: "a") }
        for number in 1...2 { taken.take("a2-\(number)", process: 2, app: "a") }
        #expect(taken.all == ["a1-1", "a1-2", "a2-1"])
        for process: Int32 in 3...5 { taken.take("b\(process)", process: process, app: "b") }
        #expect(taken.all == ["a1-1", "a1-2", "a2-1", "b3", "b4"])
        taken.end("a2-1")
        // Of a process that has as many as it may, none goes on; of another of the same app, one does, or another app's.
        #expect(taken.all.count == 6 && taken.turns.waiting == 2)
        for name in ["a1-1", "a1-2", "b3", "b4"] { taken.end(name) }
        #expect(Set(taken.all) == ["a1-1", "a1-2", "a1-3", "a2-1", "a2-2", "b3", "b4", "b5"])
    }

    @Test("KC-42: an app whose name is another spelling of the same characters has turns of its own")
    func spellings() {
        let taken = Taken(.init(total: 4, perApp: 1))
        taken.take("one", app: "caf\u{e9}")
        taken.take("same", app: "caf\u{e9}")
        taken.take("other", app: "cafe\u{301}")
        #expect(taken.all == ["one", "other"])
        taken.end("other")
        #expect(taken.all == ["one", "other"])
        taken.end("one")
        #expect(taken.all == ["one", "other", "same"])
    }

    @Test("An app with a hundred that wait keeps another waiting for one of them")
    func oneAfterTheOther() {
        let taken = Taken(.init(total: 1))
        for number in 0..<100 { taken.take("a\(number)", app: "a") }
        for name in ["b0", "b1", "c0"] { taken.take(name, app: AppIdentifier(String(name.prefix(1)))) }
        for _ in 0..<6 { taken.end(taken.all.last ?? "") }
        #expect(taken.all == ["a0", "a1", "b0", "c0", "a2", "b1", "a3"])
    }

    @Test("An app that always comes again does not keep one that waits from its turn") func newcomers() {
        let taken = Taken(.init(total: 1))
        taken.take("a0", app: "a")
        taken.take("b0", app: "b")
        taken.take("c0", app: "c")
        for number in 0..<20 {
            let last = taken.all.last ?? ""
            taken.take("\(last.prefix(1))\(number + 1)", app: AppIdentifier(String(last.prefix(1))))
            taken.end(last)
        }
        #expect(taken.all.map { $0.prefix(1) }.joined().hasPrefix("abcabcabcabc"))
    }

    @Test("A process has so many that wait; where one leaves there is room, and it never begins") func leaving() {
        let taken = Taken(.init(total: 1, waitingPerProcess: 2))
        for name in ["first", "second", "third"] { #expect(taken.take(name, process: 1)) }
        #expect(!taken.take("fourth", process: 1))
        #expect(taken.take("other", process: 2))
        taken.leave("second")
        // Harmless where it has begun, and when repeated.
        taken.leave("second")
        taken.leave("first")
        #expect(taken.take("fifth", process: 1))
        for name in ["first", "third", "other", "fifth"] { taken.end(name) }
        #expect(taken.all == ["first", "third", "other", "fifth"])
        #expect(taken.turns.waiting == 0)
    }

    @Test("Where the first leaves that waits for room, those behind it have theirs") func leavingRoom() {
        let taken = Taken(.init(budget: 100))
        taken.take("a", app: "a", cost: 60)
        taken.take("large", app: "b", cost: 100)
        taken.take("small", app: "c", cost: 10)
        #expect(taken.all == ["a"])
        taken.leave("large")
        #expect(taken.all == ["a", "small"])
    }

    @Test(
        "Together they cost no more than there is; one that costs more goes alone, and nobody passes one that waits for room"
    )
    func budget() {
        let taken = Taken(.init(budget: 100))
        taken.take("a", app: "a", cost: 60)
        taken.take("b", app: "b", cost: 40)
        taken.take("c", app: "c", cost: 1)
        #expect(taken.all == ["a", "b"])
        taken.take("huge", app: "d", cost: 1000)
        taken.take("e", app: "e", cost: 1)
        taken.end("b")
        #expect(taken.all == ["a", "b", "c"])
        taken.end("a")
        #expect(taken.all == ["a", "b", "c"])
        taken.end("c")
        #expect(taken.all == ["a", "b", "c", "huge"])
        taken.end("huge")
        #expect(taken.all == ["a", "b", "c", "huge", "e"])
    }

    @Test("One app has half of it, or a single turn, and another still finds room") func share() {
        let taken = Taken(.init(budget: 100))
        for number in 0..<6 { taken.take("a\(number)", app: "a", cost: 20) }
        #expect(taken.all == ["a0", "a1"])
        taken.take("b0", app: "b", cost: 55)
        #expect(taken.all == ["a0", "a1", "b0"])
        taken.end("a0")
        #expect(taken.all == ["a0", "a1", "b0", "a2"])
    }

    @Test("When the last has ended, and nobody waits, that is told; a turn ends once") func idle() {
        let taken = Taken(.init(total: 1))
        taken.take("a")
        taken.take("b")
        taken.end("a")
        taken.end("a")
        #expect(taken.idle.all.isEmpty)
        taken.end("b")
        #expect(taken.idle.all.count == 1)
    }

    // MARK: connections

    /// A service whose answers wait for their turn.
    private final class Service: Sendable {
        let turns = Turns(.init(total: 1, perProcess: 1, waitingPerProcess: 3))
        let begun = Events<(call: VarlinkCall<Probe.Wait>, turn: Turn)>()
        let endpoint: LoopbackEndpoint

        init() {
            let (turns, begun) = (turns, begun)
            let interface = VarlinkInterface(
                name: Probe.name, description: Array("interface test.Probe\n".utf8),
                handlers: [
                    .deferred(Probe.Wait.self) { _, call in
                        let mayWait = call.connection.perform(inTurnOf: turns) { turn in begun.append((call, turn)) }
                        if !mayWait { call.fail(VarlinkServiceError.PermissionDenied()) }
                    },
                    .method(Probe.Echo.self) { request, _ in .init(text: request.text, number: nil) },
                ])
            endpoint = LoopbackEndpoint(
                router: VarlinkRouter(info: .init(product: "probe", version: "1"), interfaces: [interface]),
                peer: Peer(processID: 1, userID: 1, identify: { nil }))
        }

        /// Sends a request that waits for its turn.
        func ask() throws -> any VarlinkChannel {
            let channel = try endpoint.connect()
            try channel.send(Data(#"{"method":"test.Probe.Wait","parameters":{}}"#.utf8))
            return channel
        }
    }

    @Test("Who hangs up waits no more, and has not begun; the next one's turn comes") func hangingUp() throws {
        let service = Service()
        let first = try service.ask()
        _ = try service.begun.wait()
        let (second, third) = (try service.ask(), try service.ask())
        #expect(service.turns.waiting == 2)
        second.close()
        #expect(service.turns.waiting == 1)
        service.begun.all[0].call.reply(.init())
        service.begun.all[0].turn.end()
        #expect(try first.receive().starts(with: Data("{".utf8)))
        #expect(try service.begun.wait(for: 2).count == 2)
        service.begun.all[1].call.reply(.init())
        #expect(try third.receive().starts(with: Data("{".utf8)))
    }

    @Test("What waits takes no thread, and one too many is refused") func withoutThreads() throws {
        let service = Service()
        let waiting = try (0..<4).map { _ in try service.ask() }
        _ = try service.begun.wait()
        #expect(service.turns.waiting == 3)
        let refused = try service.ask()
        #expect(String(decoding: try refused.receive(), as: UTF8.self).contains("PermissionDenied"))
        #expect(service.begun.all.count == 1)
        let other = try service.endpoint.client()
        #expect(try other.call(Probe.Echo.self, .init(text: "hello")).text == "hello")
        for channel in waiting { channel.close() }
        #expect(service.turns.waiting == 0)
    }
}
