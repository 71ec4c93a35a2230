import BridgeCore
import Synchronization

/// Whether a program still waits for an answer.
final class Waiting: Sendable {
    private let flag = Atomic(true)
    private let client: BusClient
    private let end: ContinuousClock.Instant

    /// - Parameters:
    ///   - client: Who waits.
    ///   - longest: After how many seconds it does not any more.
    init(_ client: BusClient, longest: Double) {
        self.client = client
        end = .now + .seconds(longest)
    }

    /// Looks at the client's process, too: one that executes another program is not answered (BR-11).
    var isOn: Bool { flag.load(ordering: .relaxed) && .now < end && client.isThere }

    func stop() { flag.store(false, ordering: .relaxed) }
}

/// A question that several calls of one program wait for: the owner is asked once, for as long as one of them waits (BR-26).
final class Question<Answer: Sendable>: Sendable {
    private let waiting: Mutex<[Waiting]>
    private let answer = Mutex<Task<Result<Answer, BridgeFailure>, Never>?>(nil)

    /// The process that asked it first; nil where nobody knows it.
    let asker: ClientProcess?

    /// - Parameters:
    ///   - first: Who asks it.
    ///   - asker: The process.
    init(_ first: Waiting, of asker: ClientProcess?) {
        waiting = Mutex([first])
        self.asker = asker
    }

    /// Whether anybody still waits.
    var isWaitedOn: Bool {
        waiting.withLock { waiting in
            waiting.removeAll { !$0.isOn }
            return !waiting.isEmpty
        }
    }

    /// Joins it; false where it is being taken down.
    func join(_ other: Waiting) -> Bool {
        waiting.withLock { waiting in
            waiting.removeAll { !$0.isOn }
            guard !waiting.isEmpty else { return false }
            waiting.append(other)
            return true
        }
    }

    /// Begins to ask.
    func start(_ body: @escaping @Sendable () async -> Result<Answer, BridgeFailure>) {
        answer.withLock { $0 = Task { await body() } }
    }

    var result: Result<Answer, BridgeFailure> {
        get async { await answer.withLock { $0 }?.value ?? .failure(.clientGone) }
    }
}
