import CTouchstoneSystem
import Foundation
import Glibc
import Synchronization
import TouchstoneCore
import TouchstoneTransport

/// The turns of messages that take much memory (DEC-589): all connections of one app share them.
struct MessageTurns {
    let medium: Turns
    let large: Turns
}

/// Counts the streams that wait for their peers.
final class WaitingStreams: Sendable {
    private let maximum: Int
    private let perProcess: Int
    private let state = Mutex((count: 0, byProcess: [Int32: Int]()))

    init(maximum: Int, perProcess: Int) {
        self.maximum = maximum
        self.perProcess = perProcess
    }

    func enter(_ process: Int32) -> Bool {
        state.withLock { state in
            guard state.count < maximum, state.byProcess[process, default: 0] < perProcess else { return false }
            state.count += 1
            state.byProcess[process, default: 0] += 1
            return true
        }
    }

    func leave(_ process: Int32) {
        state.withLock { state in
            state.count -= 1
            state.byProcess[process, default: 1] -= 1
            if state.byProcess[process] == 0 { state.byProcess[process] = nil }
        }
    }
}

/// One connection: cuts the stream into frames and carries replies back.
final class ServedConnection: @unchecked Sendable {
    // Unchecked: everything happens on the thread of its loop, but for what the socket does.

    /// Whose connection it is.
    enum Origin: Sendable {
        /// To be asked when it begins.
        case unknown(any PeerSource)
        /// With its place, and what was sent on it so far.
        case known(Peer, ConnectionPlaces.Place, beginning: [UInt8])
    }

    /// What all connections of a server share.
    struct Shared: Sendable {
        let router: VarlinkRouter
        let places: ConnectionPlaces
        let turns: MessageTurns
        let streams: WaitingStreams
        let configuration: SocketServer.Configuration

        init(_ router: VarlinkRouter, _ configuration: SocketServer.Configuration) {
            self.router = router
            self.configuration = configuration
            places = ConnectionPlaces(configuration.connections)
            turns = MessageTurns(
                medium: Turns(VarlinkLimits.mediumTurns),
                large: Turns(VarlinkLimits.largeTurns, whenIdle: configuration.afterLargeMessages))
            streams = WaitingStreams(
                maximum: configuration.maximumWaitingStreams, perProcess: configuration.maximumWaitingStreamsPerProcess)
        }
    }

    let loop: ConnectionLoop
    private let shared: Shared
    private let origin: Origin
    private let descriptor: Int32
    private let number: UInt64
    private let socket: ConnectionSocket
    private let ended: (ServedConnection) -> Void
    private var isOver = false
    private var place: ConnectionPlaces.Place?
    private var connection: VarlinkConnection?
    /// What came; up to `head` it was taken.
    private var partial: [UInt8] = []
    private var head = 0
    /// So many bytes behind `head` hold no end of a message.
    private var searched = 0
    private enum Deadline { case none, silence, message }
    private var deadline = Deadline.none
    private var isTakingFrames = false
    /// Of the message that is being read, if it is more than a small one, and the most bytes that it may have.
    private var turn: (turn: Turn, maximumBytes: Int)?
    /// Whether nothing is read until the message has its turn.
    private var isWaiting = false

    /// Takes ownership of a connected socket that passes credentials; on the loop's thread.
    ///
    /// - Parameters:
    ///   - descriptor: The socket.
    ///   - origin: Whose connection it is.
    ///   - shared: What all connections have.
    ///   - loop: Serves it.
    ///   - ended: Is called once, when it has ended.
    init(
        _ descriptor: Int32, _ origin: Origin, _ shared: Shared, _ loop: ConnectionLoop,
        ended: @escaping (ServedConnection) -> Void
    ) {
        self.descriptor = descriptor
        self.origin = origin
        self.shared = shared
        self.loop = loop
        self.ended = ended
        number = loop.newNumber()
        socket = ConnectionSocket(descriptor, loop: loop, number: number)
    }

    func begin() {
        let disconnect: @Sendable () -> Void = { [self] in
            if loop.isHere { end() } else { loop.execute { [self] in end() } }
        }
        // Never at once: whoever has the place of this one taken away holds the lock of all places.
        let disconnectLater: @Sendable () -> Void = { [self] in loop.execute { [self] in end() } }
        if case .known(_, let place, _) = origin { self.place = place }
        guard loop.watch(descriptor, number, { [self] in happened($0) }), let peer,
            let place = place(of: peer, disconnectLater)
        else { return end() }
        self.place = place
        setDeadline(.silence, shared.configuration.connections.silence)
        connection = VarlinkConnection(
            peer: peer.identifying { app in
                if place.belongs(to: app) { return true }
                disconnectLater()
                return false
            }, router: shared.router,
            write: { [socket] in socket.write($0) },
            writeThrough: {
                [socket, streams = shared.streams, timeout = shared.configuration.unreadPartTimeout] frame in
                guard streams.enter(peer.processID) else {
                    disconnect()
                    return false
                }
                defer { streams.leave(peer.processID) }
                let part = WrittenPart()
                socket.write(frame) { part.finish($0) }
                guard let isWritten = part.wait(timeout) else {
                    disconnect()
                    return false
                }
                return isWritten
            }, reads: { [socket] in socket.isWritable }, disconnect: disconnect)
        if case .known(_, _, let beginning) = origin {
            setDeadline(.none)
            partial = beginning
            takeFrames()
        }
        setReading()
    }

    private func place(of peer: Peer, _ disconnect: @escaping @Sendable () -> Void) -> ConnectionPlaces.Place? {
        guard case .known(_, let place, _) = origin else {
            return shared.places.enter(peer.processID, disconnect: disconnect)
        }
        place.onEviction(disconnect)
        return place
    }

    private var peer: Peer? {
        switch origin {
        case .known(let peer, _, _): peer
        // Asked before the first byte is read: the answer is of whoever connected.
        case .unknown(let identities): identities.peer(ofSocket: descriptor)
        }
    }

    private func happened(_ event: ConnectionLoop.Events) {
        // Who does not read answers gets none, and is not read: what waits for one peer has a largest size, too.
        if event.writes, socket.flush() { takeFrames() }
        if event.reads {
            read()
        } else if event.ended {
            end()
        }
    }

    private func read() {
        guard !isOver else { return }
        let chunk = unsafe loop.chunk
        let count = unsafe socket.receive(chunk)
        guard count > 0 else {
            // Also one that sent a descriptor along: nobody here receives one.
            if count == 0 || errno != EAGAIN { end() }
            return
        }
        if deadline == .silence { setDeadline(.none) }
        unsafe partial.append(contentsOf: chunk.prefix(count))
        unsafe explicit_bzero(chunk.baseAddress!, count)
        takeFrames()
    }

    private func setReading() { socket.setReading(!isWaiting) }

    /// Takes up the requests that came, for as long as the peer reads the answers.
    private func takeFrames() {
        // An answer that is given at once may come back here.
        guard !isTakingFrames, !isWaiting, !isOver else { return }
        isTakingFrames = true
        defer { isTakingFrames = false }
        while socket.isWritable, let count = firstZero() {
            guard hasRoom(count) else { return }
            let frame = Data(partial[head..<head + count])
            searched = 0
            head += count + 1
            let turn = turn.take()?.turn
            setDeadline(.none)
            // What was taken is wiped, and what it took is given back at once.
            if turn != nil || head == partial.count { dropTaken() }
            connection?.receive(frame, turn)
        }
        dropTaken()
        guard !isOver else { return }
        guard socket.isWritable, !partial.isEmpty else {
            // A turn always has an end, also where the peer reads nothing.
            return turn == nil ? setDeadline(.none) : setMessageDeadline()
        }
        searched = partial.count
        guard hasRoom(partial.count) else { return }
        setMessageDeadline()
    }

    /// Zeroes what was taken; what is left moves to the beginning.
    private func dropTaken() {
        guard head > 0 else { return }
        let rest = Array(partial[head...])
        unsafe partial.withUnsafeMutableBytes { unsafe explicit_bzero($0.baseAddress!, $0.count) }
        // Small messages that came in one piece leave it large.
        if rest.isEmpty, partial.capacity <= VarlinkLimits.maximumSmallRequestBytes {
            partial.removeAll(keepingCapacity: true)
        } else {
            partial = rest
        }
        head = 0
    }

    /// One deadline for the whole message: more of it does not buy more time.
    private func setMessageDeadline() {
        if deadline == .none { setDeadline(.message, shared.configuration.partialMessageTimeout) }
    }

    private func setDeadline(_ deadline: Deadline, _ seconds: TimeInterval? = nil) {
        guard deadline != .none || self.deadline != .none else { return }
        self.deadline = deadline
        loop.setDeadline(number, in: seconds) { [self] in end() }
    }

    /// Bytes of the first message, if all of it is there.
    private func firstZero() -> Int? {
        unsafe partial.withUnsafeBytes { bytes in
            unsafe UnsafeRawBufferPointer(rebasing: bytes[head...]).firstZero(from: searched)
        }
    }

    /// Whether so many bytes of a message may be there; else it waits for its turn, or is too large and ends the connection.
    private func hasRoom(_ count: Int) -> Bool {
        if count <= turn?.maximumBytes ?? VarlinkLimits.maximumSmallRequestBytes { return true }
        if count <= VarlinkLimits.maximumRequestBytes {
            waitForTurn(of: shared.turns.medium, VarlinkLimits.maximumRequestBytes)
            return false
        }
        let maximum = shared.router.maximumRequestBytes(
            beginning: Data(partial[head...].prefix(VarlinkRouter.bytesOfBeginning)))
        guard count <= maximum else {
            end()
            return false
        }
        waitForTurn(of: shared.turns.large, maximum)
        return false
    }

    /// Reads no more until the message has its turn, and everything before it is answered: whoever has a turn waits for nobody.
    ///
    /// A large one has the turn of a medium one until then, as it takes that much.
    private func waitForTurn(of turns: Turns, _ maximumBytes: Int) {
        isWaiting = true
        setDeadline(.none)
        setReading()
        guard let connection else { return }
        connection.whenIdle { [self] in
            connection.withParty { [self] party in
                let mayWait = turns.take(for: party) { [self] turn in
                    loop.execute { [self] in begin(turn, maximumBytes) }
                }
                if !mayWait { connection.close() }
            }
        }
    }

    private func begin(_ turn: Turn, _ maximumBytes: Int) {
        // One that has ended gives its turn back.
        guard !isOver else { return }
        self.turn = (turn, maximumBytes)
        isWaiting = false
        setReading()
        takeFrames()
    }

    /// Ends the connection; harmless when repeated.
    func end() {
        guard !isOver else { return }
        isOver = true
        socket.close(place)
        turn = nil
        partial = []
        head = 0
        connection?.closed()
        connection = nil
        ended(self)
    }
}

/// What became of a part that somebody waits for.
private final class WrittenPart: Sendable {
    private let result = Mutex(false)
    private let done = DispatchSemaphore(value: 0)

    func finish(_ isWritten: Bool) {
        result.withLock { $0 = isWritten }
        done.signal()
    }

    /// Whether it was written within so many seconds; nil if nobody knows by then.
    func wait(_ seconds: TimeInterval) -> Bool? {
        done.wait(timeout: .now() + seconds) == .success ? result.withLock { $0 } : nil
    }
}
