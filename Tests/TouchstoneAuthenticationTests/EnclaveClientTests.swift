import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneTransport

@testable import TouchstoneTesting

/// Answers of the enclave that come as events, whichever is first: the event, or the ticket that it is for.
@Suite(.timeLimit(.minutes(10))) struct EnclaveClientTests {
    /// An enclave that only tells events.
    private final class Enclave: Sendable {
        private let watching = Mutex<VarlinkCall<EnclaveInterface.WatchEvents>?>(nil)
        private let endpoint = Mutex<LoopbackEndpoint?>(nil)
        /// How many events the client has taken.
        private let taken = Counter()

        final class Counter: @unchecked Sendable {
            // Unchecked: `count` is touched only under `condition`.
            private let condition = NSCondition()
            private var count = 0

            func add() {
                condition.withLock {
                    count += 1
                    condition.broadcast()
                }
            }

            func wait(for wanted: Int) {
                condition.withLock {
                    while count < wanted { condition.wait() }
                }
            }
        }

        func client(lost: @escaping @Sendable () -> Void = {}) throws -> EnclaveClient {
            let handler = VarlinkHandler.deferred(EnclaveInterface.WatchEvents.self) { [self] _, call in
                watching.withLock { $0 = call }
                call.continue(.init(outcome: .progress))
            }
            let endpoint = LoopbackEndpoint(
                router: VarlinkRouter(
                    info: .init(product: "test", version: "1"),
                    interfaces: [.init(name: EnclaveInterface.name, description: [], handlers: [handler])]),
                peer: Peer(processID: getpid(), userID: getuid(), identify: { nil }))
            self.endpoint.withLock { $0 = endpoint }
            let client = EnclaveClient(calls: try endpoint.client(), events: try endpoint.client())
            client.watch { [taken] _ in
                taken.add()
            } lost: {
                lost()
            }
            return client
        }

        /// Tells an event, and returns once the client is done with it: it has begun with the next.
        func tell(_ ticket: String) {
            for event in [EnclaveClient.Event(ticket: ticket, outcome: .succeeded), .init(outcome: .progress)] {
                watching.withLock { $0 }?.continue(event)
            }
            let all = told.add(2, ordering: .relaxed).newValue
            taken.wait(for: all + 1)
        }

        private let told = Atomic(0)

        func end() { endpoint.withLock { $0 }?.stop() }
    }

    /// What whoever waited was told.
    private final class Told: Sendable {
        let outcomes = Mutex<[EnclaveInterface.Outcome?]>([])
        let isTold = Gate()

        func take(_ event: EnclaveClient.Event?) {
            outcomes.withLock { $0.append(event?.outcome) }
            isTold.open()
        }
    }

    @Test("An answer that comes after its ticket reaches whoever waits, once")
    func later() throws {
        let (enclave, told) = (Enclave(), Told())
        let client = try enclave.client()
        #expect(client.awaitAnswer(to: { "ticket" }, told.take))
        enclave.tell("another")
        #expect(told.outcomes.withLock { $0.isEmpty })
        enclave.tell("ticket")
        enclave.tell("ticket")
        #expect(told.outcomes.withLock { $0 } == [.succeeded])
    }

    @Test("An answer that overtakes its ticket is kept for whoever asks, and for nobody who asks later")
    func earlier() throws {
        let (enclave, told, other) = (Enclave(), Told(), Told())
        let client = try enclave.client()
        enclave.tell("old")
        client.awaitAnswer(
            to: {
                enclave.tell("ticket")
                enclave.tell("unwanted")
                return "ticket"
            }, told.take)
        #expect(told.outcomes.withLock { $0 } == [.succeeded])
        for ticket in ["old", "unwanted"] { client.awaitAnswer(to: { ticket }, other.take) }
        #expect(other.outcomes.withLock { $0.isEmpty }, "they were told before anybody asked for them")
    }

    @Test("Whoever waits hears that the enclave is gone, and so does who asks afterwards")
    func gone() throws {
        let (enclave, told, late, lost) = (Enclave(), Told(), Told(), Gate())
        let client = try enclave.client { lost.open() }
        client.awaitAnswer(to: { "ticket" }, told.take)
        enclave.end()
        lost.wait()
        #expect(told.outcomes.withLock { $0 } == [nil])
        client.awaitAnswer(to: { "late" }, late.take)
        #expect(late.outcomes.withLock { $0 } == [nil])
    }

    @Test("A call that is answered at once, or fails, leaves nobody waiting")
    func atOnce() throws {
        let (enclave, told) = (Enclave(), Told())
        let client = try enclave.client()
        #expect(!client.awaitAnswer(to: { nil }, told.take))
        #expect(throws: CocoaError.self) {
            try client.awaitAnswer(to: { throw CocoaError(.featureUnsupported) }, told.take)
        }
        enclave.tell("ticket")
        client.close()
        #expect(told.outcomes.withLock { $0.isEmpty })
    }
}
