import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneInterfaces

@testable import TouchstoneTransport

/// The trace of messages by itself: bounds, and nothing while nobody watches.
@Suite(.timeLimit(.minutes(20))) struct MessageTraceTests {
    private let trace = MessageTrace()
    private static let route = MessageTrace.Route(caller: .app, callee: .touchstoned)

    private final class Watcher: Sendable {
        let told = Mutex((messages: [InspectorInterface.Message](), lost: 0))

        /// Holds the trace's queue up until the test lets it go.
        let gate = NSCondition()
        let isOpen: Mutex<Bool>

        init(isOpen: Bool = true) { self.isOpen = Mutex(isOpen) }

        func take(_ messages: [InspectorInterface.Message], _ lost: Int) {
            gate.withLock { while !isOpen.withLock({ $0 }) { gate.wait() } }
            told.withLock { $0 = ($0.messages + messages, $0.lost + lost) }
        }

        func open() {
            gate.withLock {
                isOpen.withLock { $0 = true }
                gate.broadcast()
            }
        }

        func wait(for total: Int) throws {
            let limit = Date(timeIntervalSinceNow: longestWaitSeconds)
            while told.withLock({ $0.messages.count + $0.lost }) < total {
                guard Date() < limit else { throw WaitedTooLong() }
                usleep(500)
            }
        }
    }

    @Test("While nobody watches nothing is told, nor asked; the first watcher hears what comes then")
    func nobodyWatches() throws {
        let asked = Mutex(0)
        func route() -> MessageTrace.Route {
            asked.withLock { $0 += 1 }
            return Self.route
        }
        #expect(trace.called("a.B", route(), bytes: 1) == nil)
        trace.streamed("a.B", route(), bytes: 1)
        #expect(asked.withLock { $0 } == 0)
        let watcher = Watcher()
        let number = try #require(trace.watch { watcher.take($0, $1) })
        let call = trace.called("a.C", route(), bytes: 7)
        #expect(call != nil)
        trace.answered(call, "a.C", route(), outcome: "ok", bytes: 9)
        try watcher.wait(for: 2)
        let messages = watcher.told.withLock { $0.messages }
        #expect(messages.map(\.method) == ["a.C", "a.C"])
        #expect(messages.map(\.bytes) == [7, 9])
        #expect(messages.map(\.outcome) == [nil, "ok"])
        #expect(messages[0].call == messages[1].call)
        #expect(messages[0].from == .app && messages[1].from == .touchstoned)
        #expect(messages[0].duration == nil && messages[1].duration != nil)
        trace.unwatch(number)
        #expect(trace.called("a.D", route(), bytes: 1) == nil)
        #expect(asked.withLock { $0 } == 2)
    }

    @Test("What comes faster than it is told is counted, and what is told is in order")
    func bounded() throws {
        let watcher = Watcher(isOpen: false)
        _ = try #require(trace.watch { watcher.take($0, $1) })
        let count = 3 * MessageTrace.Limits.waiting
        for _ in 0..<count { trace.streamed("a.B", Self.route, bytes: 1) }
        watcher.open()
        trace.streamed("a.last", Self.route, bytes: 1)
        try watcher.wait(for: count)
        let (messages, lost) = watcher.told.withLock { $0 }
        #expect(lost > 0)
        #expect(messages.map(\.sequence) == messages.map(\.sequence).sorted())
        #expect(Set(messages.map(\.sequence)).count == messages.count)
    }

    @Test("Every watcher is told; there is an end to how many")
    func watchers() throws {
        let watchers = (0..<MessageTrace.Limits.watchers).map { _ in Watcher() }
        let numbers = try watchers.map { watcher in try #require(trace.watch { watcher.take($0, $1) }) }
        #expect(trace.watch { _, _ in } == nil)
        trace.streamed("a.B", Self.route, bytes: 1)
        for watcher in watchers { try watcher.wait(for: 1) }
        trace.unwatch(numbers[0])
        #expect(trace.watch { _, _ in } != nil)
    }

    @Test("An application identifier of any length is told in 200 characters")
    func longIdentifier() throws {
        let watcher = Watcher()
        _ = try #require(trace.watch { watcher.take($0, $1) })
        let name = AppIdentifier(String(repeating: "x", count: 10_000))
        trace.streamed("a.B", .init(caller: .app, callee: .touchstoned, app: { name }), bytes: 1)
        try watcher.wait(for: 1)
        #expect(watcher.told.withLock { $0.messages.first?.app?.utf8.count } == 200)
    }
}
