import Foundation
import NIOCore

/// One thing that the page is told: a name, and a JSON text.
struct PageEvent: Sendable {
    let json: Data
    /// As it goes over the wire.
    let frame: ByteBuffer

    init(_ name: String, _ json: Data) {
        self.json = json
        var frame = ByteBuffer()
        frame.writeString("event: \(name)\ndata: ")
        // A line break ends a field; in JSON it is only ever space between values.
        frame.writeBytes(json.map { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") ? UInt8(ascii: " ") : $0 })
        frame.writeString("\n\n")
        self.frame = frame
    }
}

/// The tabs that show the page, each with a stream of its own.
///
/// What is published goes to all; what is kept under a key goes to a tab that opens later, too. A tab that does not read gets nothing more
/// once much waits for it: its stream ends, and its browser opens another when it reads again.
final class Tabs: @unchecked Sendable {
    struct Tab {
        let number: Int
        let events: AsyncStream<PageEvent>
    }

    private struct Open {
        let continuation: AsyncStream<PageEvent>.Continuation
        var waitingBytes = 0
    }

    // Unchecked: everything below is touched under this lock, which threads wait on.
    private let condition = NSCondition()
    private var tabs: [Int: Open] = [:]
    private var next = 0
    private var kept: [(key: String, events: [PageEvent])] = []
    private var isPoked = false
    /// When the last one left.
    private var left: ContinuousClock.Instant
    private let patience: Duration

    /// - Parameter patience: How long a page that nobody shows any more still counts: one that is reloaded leaves for a moment.
    init(patience: Duration = .seconds(3)) {
        self.patience = patience
        left = .now - patience
    }

    func open() -> Tab {
        condition.withLock {
            let (events, continuation) = AsyncStream.makeStream(of: PageEvent.self)
            next += 1
            tabs[next] = Open(continuation: continuation)
            for event in kept.flatMap(\.events) { send(event, to: next) }
            condition.broadcast()
            return Tab(number: next, events: events)
        }
    }

    func close(_ number: Int) {
        condition.withLock { remove(number) }
    }

    /// The tab, or the kernel for it, has taken an event.
    func written(_ event: PageEvent, to number: Int) {
        condition.withLock { tabs[number]?.waitingBytes -= event.frame.readableBytes }
    }

    /// Publishes, and keeps the `limit` newest under `key`, after what was kept before, as far as they are not too large.
    func publish(_ event: PageEvent, keptAs key: String, limit: Int = 1) {
        condition.withLock {
            let place = kept.firstIndex { $0.key == key } ?? kept.endIndex
            if place == kept.endIndex { kept.append((key, [])) }
            var bytes = 0
            // A tab that opens is told all that is kept, and must be able to take it.
            kept[place].events = (kept[place].events + [event]).suffix(limit).reversed().prefix { event in
                bytes += event.frame.readableBytes
                return bytes <= Self.maximumKeptBytes
            }.reversed()
            for number in tabs.keys { send(event, to: number) }
        }
    }

    func forget(_ key: String) {
        condition.withLock { kept.removeAll { $0.key == key } }
    }

    /// The newest that is kept under `key`.
    func newest(_ key: String) -> Data? {
        condition.withLock { kept.first { $0.key == key }?.events.last?.json }
    }

    /// Waits until a tab is there.
    func waitUntilWatched() {
        condition.withLock { while tabs.isEmpty { condition.wait() } }
    }

    /// Whether a tab is there, or one may be on its way back.
    var isWatched: Bool {
        condition.withLock { !tabs.isEmpty || left + patience > .now }
    }

    /// Ends a ``pause(_:)``, or the next one.
    func poke() {
        condition.withLock {
            isPoked = true
            condition.broadcast()
        }
    }

    /// Waits so long, or until somebody pokes; where no tab is there, no longer than one is waited for.
    func pause(_ seconds: Double) {
        condition.withLock {
            let limit = Date(timeIntervalSinceNow: tabs.isEmpty ? min(seconds, patience / .seconds(1)) : seconds)
            while !isPoked, condition.wait(until: limit) {}
            isPoked = false
        }
    }

    private func send(_ event: PageEvent, to number: Int) {
        guard let tab = tabs[number] else { return }
        let waitingBytes = tab.waitingBytes + event.frame.readableBytes
        guard waitingBytes <= Self.maximumWaitingBytes else {
            remove(number)
            return
        }
        tabs[number]?.waitingBytes = waitingBytes
        tab.continuation.yield(event)
    }

    private func remove(_ number: Int) {
        guard let tab = tabs.removeValue(forKey: number) else { return }
        tab.continuation.finish()
        guard tabs.isEmpty else { return }
        left = .now
        // Who pauses looks again in time to see that nobody comes back.
        isPoked = true
        condition.broadcast()
    }

    /// Bytes that may wait for one tab.
    static let maximumWaitingBytes = 4 << 20
    /// Bytes that are kept under one key, of which there are fewer than ten.
    static let maximumKeptBytes = 256 << 10
}
