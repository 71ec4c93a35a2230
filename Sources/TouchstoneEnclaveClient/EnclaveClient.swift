internal import Foundation
internal import Synchronization
package import TouchstoneCore
package import TouchstoneEnclaveInterface
package import TouchstoneTransport

/// The services' way to the enclave: calls, events, and answers that come as events.
package final class EnclaveClient: Sendable {
    /// One event; where it has a ticket, it is the answer to the call that was given that ticket.
    package typealias Event = EnclaveInterface.WatchEvents.Reply

    private let calls: VarlinkClient
    private let events: VarlinkClient
    private let tickets = Mutex(Tickets())

    private enum Limits {
        /// Answers that wait for their tickets; far more than there are calls at a time.
        static let early = 4096
    }

    private struct Tickets {
        /// Who waits, by the ticket.
        var waiting: [String: @Sendable (Event?) -> Void] = [:]
        /// Calls under way that may be given a ticket.
        var asking = 0
        /// Answers that overtook the ticket that they are for; empty whenever nobody asks.
        var early: [String: Event] = [:]
        var isLost = false
    }

    /// Both are connections to one enclave; `events` is for `watch` alone.
    package init(calls: VarlinkClient, events: VarlinkClient) {
        self.calls = calls
        self.events = events
    }

    /// - Throws: `RemoteError`, the enclave's answer; `TransportError` where it is gone.
    package func call<M: VarlinkMethod>(
        _ method: M.Type, _ parameters: M.Parameters, isTraced: Bool = true
    ) throws -> M.Reply {
        try calls.call(method, parameters, isTraced: isTraced)
    }

    /// Makes a call that may be answered later.
    ///
    /// - Parameters:
    ///   - ask: Makes the call, and returns the ticket that it was given; nil where it was answered at once.
    ///   - answer: Called exactly once where there is a ticket, on any thread: with its event, or with nil where the enclave is gone.
    /// - Returns: Whether there is a ticket.
    /// - Throws: What `ask` throws; then `answer` is never called.
    @discardableResult
    package func awaitAnswer(
        to ask: () throws -> String?, _ answer: @escaping @Sendable (Event?) -> Void
    ) rethrows -> Bool {
        tickets.withLock { $0.asking += 1 }
        do {
            let ticket = try ask()
            asked(ticket, answer)
            return ticket != nil
        } catch {
            asked(nil, answer)
            throw error
        }
    }

    /// No lock is held over a call: an answer that comes before its ticket is known is kept until it is.
    private func asked(_ ticket: String?, _ answer: @escaping @Sendable (Event?) -> Void) {
        let (early, isLost) = tickets.withLock { tickets -> (Event?, Bool) in
            tickets.asking -= 1
            defer { if tickets.asking == 0 { tickets.early = [:] } }
            guard let ticket else { return (nil, false) }
            if let early = tickets.early.removeValue(forKey: ticket) { return (early, false) }
            if !tickets.isLost { tickets.waiting[ticket] = answer }
            return (nil, tickets.isLost)
        }
        if early != nil || isLost { answer(early) }
    }

    /// Has `handle` told each event, one after the other, until the enclave is gone; then whoever waits for an answer, and `lost`.
    ///
    /// Returns once the enclave has begun to tell them: what is asked before that could wait for an answer that nobody hears.
    package func watch(_ handle: @escaping @Sendable (Event) -> Void, lost: @escaping @Sendable () -> Void) {
        let isWatching = DispatchGroup()
        isWatching.enter()
        let thread = Thread { [self] in
            var isFirst = true
            try? events.stream(EnclaveInterface.WatchEvents.self, Empty()) { event in
                if isFirst { isWatching.leave() }
                isFirst = false
                handle(event)
                if event.ticket != nil { answer(event) }
                return true
            }
            if isFirst { isWatching.leave() }
            close()
            lost()
        }
        thread.start()
        isWatching.wait()
    }

    /// Ends both connections: whoever waits for an answer hears that the enclave is gone.
    package func close() {
        let waiting = tickets.withLock { tickets in
            tickets.isLost = true
            defer { tickets.waiting = [:] }
            return tickets.waiting.values
        }
        calls.close()
        events.close()
        for answer in waiting { answer(nil) }
    }

    private func answer(_ event: Event) {
        guard let ticket = event.ticket else { return }
        let answer = tickets.withLock { tickets in
            let answer = tickets.waiting.removeValue(forKey: ticket)
            // Nobody can be about to wait for it where nobody asks.
            if answer == nil, tickets.asking > 0, tickets.early.count < Limits.early { tickets.early[ticket] = event }
            return answer
        }
        answer?(event)
    }
}
