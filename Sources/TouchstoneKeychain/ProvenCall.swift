import Synchronization
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneTransport

/// What the owner has to prove before a call can go on.
struct WantedProof: Hashable {
    var accessControl: AccessControl
    var operation: AccessControlOperation
    /// What it opens, for the owner to read; nil where that is no item of the keychain.
    var items: AgentInterface.ItemNames?

    /// Whether one proof is enough for both.
    func isSame(as other: WantedProof) -> Bool {
        (accessControl, operation) == (other.accessControl, other.operation)
    }
}

extension AgentInterface.ItemNames {
    private static let mostNames = 5

    /// One item.
    init(_ attributes: [AttributeKey: AttributeValue]) {
        self.init(names: Self.name(attributes).map { [$0] } ?? [], count: 1)
    }

    mutating func add(_ others: AgentInterface.ItemNames) {
        names = Array((names + others.names).prefix(Self.mostNames))
        count += others.count
    }

    /// Its label, else its service or server with its account; nil where it has no such word.
    private static func name(_ attributes: [AttributeKey: AttributeValue]) -> String? {
        let word = { (key: AttributeKey) -> String? in
            guard case .string(let text)? = attributes[key], !text.isEmpty else { return nil }
            return text
        }
        if let label = word(.label) { return label }
        let words = [word(.service) ?? word(.server), word(.account)].compactMap { $0 }
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }
}

/// Thrown by a call that cannot go on without these proofs; nothing of it was done.
struct ProofNeeded: Error {
    var proofs: [WantedProof]
    /// How the call goes on once they are given; nil: from its beginning.
    var goOn: (@Sendable () -> Void)?
}

/// The owner was asked, or nobody may ask them, and the proof was not given.
struct ProofNotGiven: Error {
    var failed: AuthenticationInterface.Failed
    var accessControl: AccessControl
}

/// A call of an app's that has the owner asked as often as it takes (AC-40).
///
/// No thread waits for the owner. Between two attempts the call is this value and nothing else: no turn, no transaction, no row.
struct ProvenCall<M: VarlinkMethod>: Sendable {
    let call: VarlinkCall<M>
    let proofs: CallProofs
    /// Makes the call from its beginning.
    let attempt: @Sendable (ProvenCall<M>) -> Void

    /// Makes the call for the first time.
    static func begin(
        _ call: VarlinkCall<M>, _ proofs: CallProofs, _ attempt: @escaping @Sendable (ProvenCall<M>) -> Void
    ) {
        attempt(ProvenCall(call: call, proofs: proofs, attempt: attempt))
    }

    var connection: VarlinkConnection { call.connection }

    /// Has the owner asked, and goes on; `fail` takes why it cannot.
    func wait(for needed: ProofNeeded, _ fail: @escaping @Sendable (any Error) -> Void) {
        proofs.gather(needed.proofs) { result in
            switch result {
            case .success: if let goOn = needed.goOn { goOn() } else { attempt(self) }
            case .failure(let error): fail(error)
            }
        }
    }
}

/// The proofs of one call: on the context that the app named, or on one of its own that ends with it.
final class CallProofs: Sendable {
    private let broker: any ProofBroker
    private let connection: VarlinkConnection
    private let options: AuthenticationInterface.Options?
    private let keyLabel: String?
    private let largeRequests: LargeRequests?
    private let state: Mutex<State>

    private struct State {
        var context: String?
        var isOwn = false
        var rounds = 0
        var place: LargeRequests.Place?
    }

    /// Times that the owner is asked for one call; a call that never has enough is given up then.
    private static let maximumRounds = 20

    /// - Parameters:
    ///   - broker: Asks the owner.
    ///   - connection: Who calls.
    ///   - context: The context that the call names.
    ///   - options: What the prompt says; nil: nobody may be asked.
    ///   - keyLabel: What the app calls the key.
    ///   - largeRequests: Bounds how many large requests wait for a person; nil where none is large.
    init(
        _ broker: any ProofBroker, for connection: VarlinkConnection, context: String?,
        options: AuthenticationInterface.Options?, keyLabel: String? = nil, largeRequests: LargeRequests? = nil
    ) {
        self.broker = broker
        self.connection = connection
        self.options = options
        self.keyLabel = keyLabel
        self.largeRequests = largeRequests
        state = Mutex(State(context: context))
    }

    deinit {
        let (context, isOwn) = state.withLock { ($0.context, $0.isOwn) }
        if isOwn, let context { broker.endContext(context) }
    }

    /// The context that the call is made on.
    var context: String? { state.withLock { $0.context } }

    /// Has the owner asked for all of these, one after the other.
    ///
    /// `done` is called on the connection's own thread with a success; with a failure on any thread, so that it is told at once. It is
    /// never called where the connection has closed.
    func gather(_ proofs: [WantedProof], _ done: @escaping @Sendable (Result<Void, any Error>) -> Void) {
        do {
            guard let options else {
                throw Refusal(.interactionNotAllowed, .interactionForbidden, proofs.first?.accessControl)
            }
            let rounds = state.withLock { state in
                state.rounds += 1
                return state.rounds
            }
            guard rounds <= Self.maximumRounds else { throw Self.tooManyRounds(proofs) }
            try releaseRequest()
            prove(proofs[...], options, done)
        } catch {
            done(.failure(error))
        }
    }

    private static func tooManyRounds(_ proofs: [WantedProof]) -> any Error {
        let failed = AuthenticationInterface.Failed(
            .authenticationFailed, "The device asked for the owner too often.", .tooManyRounds)
        return proofs.first.map { ProofNotGiven(failed: failed, accessControl: $0.accessControl) } ?? Status.authFailed
    }

    /// What a request keeps from others it gives back while a person is waited for.
    private func releaseRequest() throws {
        if connection.hasLargeTurn {
            guard let largeRequests else { return }
            let app = try connection.identity().identifier
            guard let place = largeRequests.take(for: app) else { throw Refusal(.allocate, .tooManyWait) }
            state.withLock { $0.place = place }
        }
        connection.endTurn()
    }

    private func prove(
        _ proofs: ArraySlice<WantedProof>, _ options: AuthenticationInterface.Options,
        _ done: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        guard let proof = proofs.first else {
            return done(.success(()))
        }
        broker.prove(
            proof.accessControl, for: proof.operation, keyLabel: keyLabel, items: proof.items, in: context,
            options: options, connection: connection
        ) { [self] context in
            state.withLock { state in
                state.context = context
                state.isOwn = true
            }
        } answer: { [self] result in
            switch result {
            case .success:
                // Whoever tells us brings the answers of others, too.
                connection.perform { [self] in prove(proofs.dropFirst(), options, done) }
            case .failure(let failed as AuthenticationInterface.Failed):
                done(.failure(ProofNotGiven(failed: failed, accessControl: proof.accessControl)))
            case .failure(let error): done(.failure(error))
            }
        }
    }
}

/// How many large requests are kept in memory while a person is waited for.
///
/// One app has at most half of the places, and the last place is for an app that has none: two apps do not keep a third out.
final class LargeRequests: Sendable {
    private static let maximum = 4
    private static let maximumOfOneApp = 2
    private let taken = Mutex<[AppIdentifier: Int]>([:])

    /// Ends with the object.
    final class Place: Sendable {
        private let requests: LargeRequests
        private let app: AppIdentifier

        fileprivate init(_ requests: LargeRequests, _ app: AppIdentifier) {
            (self.requests, self.app) = (requests, app)
        }

        deinit { requests.taken.withLock { [app] in $0.countDown(app) } }
    }

    /// nil where the app has as many as it may have.
    func take(for app: AppIdentifier) -> Place? {
        let isFree = taken.withLock { taken in
            let own = taken[app, default: 0]
            let free = Self.maximum - taken.values.reduce(0, +)
            guard own < Self.maximumOfOneApp, free >= (own == 0 ? 1 : 2) else { return false }
            taken[app] = own + 1
            return true
        }
        return isFree ? Place(self, app) : nil
    }
}
