package import Foundation
internal import Synchronization
package import TouchstoneCore

/// Who is at the other end, as the kernel says.
package struct Peer: Sendable {
    package let processID: Int32
    package let userID: UInt32
    /// Names the app; nil where it is nobody whom we know.
    package let identify: @Sendable () -> AppIdentity?
    /// Whether the process that connected still is there and runs the program that it ran then.
    package let isUnchanged: @Sendable () -> Bool
    /// How it came to run, as it is now; nil where nobody can tell.
    package let origin: @Sendable () -> ProcessOrigin?
    /// Whether `identify` and `origin` wait for another process: not to be called where others' requests are read.
    package let isAskedElsewhere: Bool
    /// Whether `identify` can answer now; where it cannot, the closure is called once it can.
    package let isReady: @Sendable (_ later: @escaping @Sendable () -> Void) -> Bool
    /// SHA-256 of what it executes, for an identity without it; nil where the file has to be read first, and then the closure is told.
    package let digest: @Sendable (_ later: @escaping @Sendable (Digest) -> Void) -> Digest?
    /// Looks at a process that it asks for as at a peer; nil where it is gone, began at another time, or is not of the device's user.
    ///
    /// It may wait for another process: not to be called where others' requests are read.
    package let client: @Sendable (ClientProcess) -> Peer?
    /// The programs to which root gave the owner's interface; nil: all of the owner's have it.
    package let ownerPrograms: OwnerPrograms?

    package init(
        processID: Int32, userID: UInt32, isAskedElsewhere: Bool = false,
        ownerPrograms: OwnerPrograms? = nil, isUnchanged: @escaping @Sendable () -> Bool = { true },
        isReady: @escaping @Sendable (_ later: @escaping @Sendable () -> Void) -> Bool = { _ in true },
        identify: @escaping @Sendable () -> AppIdentity?,
        digest: @escaping @Sendable (_ later: @escaping @Sendable (Digest) -> Void) -> Digest? = { _ in Digest() },
        origin: @escaping @Sendable () -> ProcessOrigin? = { nil },
        client: @escaping @Sendable (ClientProcess) -> Peer? = { _ in nil }
    ) {
        self.ownerPrograms = ownerPrograms
        self.processID = processID
        self.userID = userID
        self.isAskedElsewhere = isAskedElsewhere
        self.isUnchanged = isUnchanged
        self.isReady = isReady
        self.identify = identify
        self.digest = digest
        self.origin = origin
        self.client = client
    }

    /// Of an executable.
    package struct Digest: Sendable {
        /// Lowercase hex; nil for a file that cannot be read.
        package var value: String?

        package init(value: String? = nil) { self.value = value }
    }

    /// The same peer, which is nobody whom we know where `isWelcome` says no to its app.
    package func identifying(_ isWelcome: @escaping @Sendable (AppIdentity) -> Bool) -> Peer {
        Peer(
            processID: processID, userID: userID, isAskedElsewhere: isAskedElsewhere, ownerPrograms: ownerPrograms,
            isUnchanged: isUnchanged, isReady: isReady,
            identify: { [identify] in identify().flatMap { isWelcome($0) ? $0 : nil } }, digest: digest,
            origin: origin, client: client)
    }
}

/// One connection as a service has it: answers requests in the order they came, one at a time.
package final class VarlinkConnection: Sendable {
    package let peer: Peer
    /// No other connection of this process ever has it; more than 0.
    package let number = VarlinkConnection.numbers.add(1, ordering: .relaxed).newValue
    private static let numbers = Atomic(0)
    private let router: VarlinkRouter
    private let write: @Sendable (Data) -> Void
    private let writeThrough: @Sendable (Data) -> Bool
    private let reads: @Sendable () -> Bool
    private let disconnect: @Sendable () -> Void
    private let state = Mutex(State())
    /// A queue of its own, so that it gets a thread also where every shared one waits for a person.
    private let queue = DispatchQueue(label: "io.touchstone.connection")

    private struct State {
        var waiting: [Data] = []
        var isBusy = false
        /// Of the request that is being answered, until it is.
        var turn: Turn?
        var isTurnLarge = false
        /// The place of the request that is being answered among those that wait.
        var place: Turns.Place?
        var whenIdle: (@Sendable () -> Void)?
        var isClosed = false
        var closeHandlers: [UInt64: @Sendable () -> Void] = [:]
        var nextCloseHandler: UInt64 = 0
        var identity: AppIdentity?
    }

    /// `write` sends one frame, without its NUL, in the order of calls.
    ///
    /// `writeThrough` does as well, and waits until the peer, or the kernel for it, has taken the frame: false where it is gone.
    /// `reads` tells whether the peer takes what is written, or much of it waits.
    /// `disconnect` closes the transport, after which `closed()` must be called.
    package init(
        peer: Peer, router: VarlinkRouter, write: @escaping @Sendable (Data) -> Void,
        writeThrough: @escaping @Sendable (Data) -> Bool, reads: @escaping @Sendable () -> Bool = { true },
        disconnect: @escaping @Sendable () -> Void
    ) {
        self.peer = peer
        self.router = router
        self.write = write
        self.writeThrough = writeThrough
        self.reads = reads
        self.disconnect = disconnect
    }

    /// The app at the other end.
    ///
    /// - Throws: `PermissionDenied` where it is nobody whom we know.
    package func identity() throws(VarlinkServiceError.PermissionDenied) -> AppIdentity {
        if let identity = state.withLock({ $0.identity }) { return identity }
        guard let identity = peer.identify() else { throw .init() }
        state.withLock { $0.identity = identity }
        return identity
    }

    /// Calls `body` with the app at the other end as somebody is told of it: with the digest of its executable, where that can be read.
    ///
    /// At once where the digest is known. Else the file is read elsewhere, and `body` is called on the connection's own thread.
    ///
    /// - Throws: `PermissionDenied`, as ``identity()``; then `body` is never called.
    package func withToldIdentity(
        _ body: @escaping @Sendable (AppIdentity) -> Void
    ) throws(VarlinkServiceError.PermissionDenied) {
        let app = try identity()
        guard app.executableDigest == nil else { return body(app) }
        let tell = { @Sendable (digest: Peer.Digest) in
            var told = app
            told.executableDigest = digest.value
            body(told)
        }
        if let digest = peer.digest({ [self] digest in perform { tell(digest) } }) { tell(digest) }
    }

    /// The app at the other end, if it was looked at before.
    package var knownIdentity: AppIdentity? { state.withLock { $0.identity } }

    /// Runs `handler` when the connection closes, at once if it has.
    ///
    /// - Returns: What takes it back, for a handler that does not serve until the end.
    @discardableResult
    package func onClose(_ handler: @escaping @Sendable () -> Void) -> UInt64 {
        let (isClosed, number) = state.withLock { state in
            state.nextCloseHandler += 1
            if !state.isClosed { state.closeHandlers[state.nextCloseHandler] = handler }
            return (state.isClosed, state.nextCloseHandler)
        }
        if isClosed { handler() }
        return number
    }

    package func removeCloseHandler(_ number: UInt64) {
        state.withLock { $0.closeHandlers[number] = nil }
    }

    /// Takes one frame from the transport; one that needs a turn with it, while nothing else is being answered.
    package func receive(_ frame: Data, _ turn: Turn? = nil) {
        enum Next { case answer(isKnown: Bool), wait, drop }
        let next: Next = state.withLock { state in
            if state.isClosed { return .wait }
            if !state.isBusy {
                state.isBusy = true
                state.turn = turn
                state.isTurnLarge = turn != nil && frame.count > VarlinkLimits.maximumRequestBytes
                return .answer(isKnown: state.identity != nil)
            }
            let bytes = state.waiting.reduce(frame.count) { $0 + $1.count }
            // Within one process there are no turns. There a larger request may come before the answer to the last one has left.
            guard state.waiting.count < VarlinkLimits.maximumPipelinedRequests,
                state.waiting.isEmpty || bytes <= VarlinkLimits.maximumSmallRequestBytes
            else { return .drop }
            state.waiting.append(frame)
            return .wait
        }
        switch next {
        case .answer(let isKnown):
            let later = { @Sendable [self] in
                queue.async { [self] in if !isClosed { router.answer(frame, on: self) } }
            }
            guard isKnown || peer.isReady(later) else { break }
            // What takes its time is read where it holds up no other connection.
            if !isKnown && peer.isAskedElsewhere || turn != nil { later() } else { router.answer(frame, on: self) }
        case .wait: break
        case .drop: disconnect()
        }
    }

    /// Runs `body` once nothing is being answered, at once if nothing is; one at a time.
    package func whenIdle(_ body: @escaping @Sendable () -> Void) {
        let isIdle = state.withLock { state in
            // It holds this connection: nobody would let go of it after the end.
            if state.isBusy, !state.isClosed { state.whenIdle = body }
            return !state.isBusy
        }
        if isIdle { body() }
    }

    /// Whether the request that is being answered keeps others' large ones waiting.
    package var hasLargeTurn: Bool { state.withLock { $0.turn != nil && $0.isTurnLarge } }

    /// Lets others' requests have the turn of this one, which waits for a person, or is a stream.
    package func endTurn() {
        // Let go of outside of the lock: whoever is next begins at once.
        _ = state.withLock { $0.turn.take() }
    }

    /// Calls `body` with whose turn it would be: on the connection's own thread if the app has to be asked for first.
    ///
    /// It is never called if the peer is gone before.
    package func withParty(_ body: @escaping @Sendable (Turns.Party) -> Void) {
        if let app = knownIdentity { return body(.init(process: peer.processID, app: app.identifier)) }
        let later = { @Sendable [self] in
            queue.async { [self] in
                if !isClosed { body(.init(process: peer.processID, app: (try? identity())?.identifier ?? "")) }
            }
        }
        if peer.isReady(later) { later() }
    }

    /// Whether the peer is gone: nobody waits for what is being answered.
    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Tells that the transport is gone.
    package func closed() {
        let (handlers, place, _) = state.withLock { state in
            state.isClosed = true
            state.waiting = []
            defer { state.closeHandlers = [:] }
            return (state.closeHandlers.values, state.place.take(), state.whenIdle.take())
        }
        place?.leave()
        for handler in handlers { handler() }
    }

    package func close() {
        disconnect()
    }

    /// Whether the peer takes what it is sent: one that does not should be sent no more.
    package var isReading: Bool { reads() }

    /// Runs `body` on the connection's own thread, for an answer that takes its time.
    package func perform(_ body: @escaping @Sendable () -> Void) {
        queue.async(execute: body)
    }

    /// Runs `body` on the connection's own thread when it has a turn.
    ///
    /// It never runs if the peer is gone before. No thread waits for it.
    ///
    /// - Parameters:
    ///   - turns: Whose turn.
    ///   - cost: What it costs.
    ///   - body: Has the turn until it returns, or for as long as it keeps it.
    /// - Returns: Whether it may wait: false where the process has as many as it may have.
    @discardableResult
    package func perform(
        inTurnOf turns: Turns, cost: Int = 0, _ body: @escaping @Sendable (Turn) -> Void
    ) -> Bool {
        let app = (try? identity())?.identifier ?? ""
        return turns.take(
            for: .init(process: peer.processID, app: app), cost: cost,
            placed: { place in
                let isClosed = state.withLock { state in
                    state.place = place
                    return state.isClosed
                }
                if isClosed { place.leave() }
            },
            { [queue] turn in queue.async { withExtendedLifetime(turn) { body(turn) } } })
    }

    /// Runs `body`, which asks for the peer's origin, where its waiting holds up no other connection.
    package func performLook(_ body: @escaping @Sendable () -> Void) {
        peer.isAskedElsewhere ? queue.async(execute: body) : body()
    }

    /// Waits, so that it must not be called where others' requests are read.
    func sendThrough(_ frame: Data) -> Bool {
        state.withLock { !$0.isClosed } && writeThrough(frame)
    }

    func send(_ frame: Data) {
        if state.withLock({ !$0.isClosed }) { write(frame) }
    }

    /// Whether the peer still is who connected; if not, it is told so, and the connection ends.
    ///
    /// Asked when a request has been read and before anything is sent: who connects and then executes another program, or leaves the
    /// connection to another process and ends, is served neither as the one nor as the other.
    func isPeerUnchanged() -> Bool {
        if peer.isUnchanged() { return true }
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        typealias Refusal = VarlinkServiceError.PermissionDenied
        if isFirst, let frame = try? Frame.error(Refusal.name, Refusal()) {
            write(frame)
        }
        disconnect()
        return false
    }

    /// The request being answered is answered: takes up the next.
    func next() {
        // Let go of outside of the lock: whoever is next begins at once.
        _ = state.withLock { ($0.turn.take(), $0.place.take()) }
        let (frame, whenIdle): (Data?, (@Sendable () -> Void)?) = state.withLock { state in
            guard !state.waiting.isEmpty, !state.isClosed else {
                state.isBusy = false
                defer { state.whenIdle = nil }
                return (nil, state.whenIdle)
            }
            return (state.waiting.removeFirst(), nil)
        }
        whenIdle?()
        // Whoever gave the answer may be the one thread that all prompts wait for: what comes next is not its work.
        if let frame { queue.async { [self] in router.answer(frame, on: self) } }
    }
}
