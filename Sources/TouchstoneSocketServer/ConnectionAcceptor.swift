import CTouchstoneSystem
import Dispatch
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneTransport

/// Takes connections from a listening socket, and passes each on once the program that connected has itself sent a message on it (DEC-055).
///
/// A program can connect, and execute another one before anybody looks at what it runs. So nothing counts that came before this process
/// knows what runs: it is answered with `SendAgain`. Of what comes after that the kernel says who sent it, which has to be the process
/// that connected: a copy of the socket in another process is worth nothing.
final class ConnectionAcceptor: Sendable {
    /// A connection whose program is known, and what it sent first: at least one message, or the beginning of a large one.
    typealias Accepted =
        @Sendable (
            _ socket: Int32, _ place: ConnectionPlaces.Place, _ peer: Peer, _ beginning: [UInt8]
        ) -> Void

    private enum Limits {
        static let chunk = 64 << 10
        /// Before the next try where descriptors or memory ran out, in microseconds.
        static let pause: UInt32 = 100_000
    }

    private let listener: Int32
    private let identities: any PeerSource
    private let places: ConnectionPlaces
    private let partialMessageTimeout: TimeInterval
    private let silence: TimeInterval
    private let accepted: Accepted
    /// Closed by `stop`: the thread hears of it.
    private let ending: (read: Int32, write: Int32)
    /// Empty once the thread has ended.
    private let threads = DispatchGroup()

    /// Takes ownership of `listener`.
    ///
    /// - Parameters:
    ///   - listener: A listening socket.
    ///   - identities: Says who connects.
    ///   - places: Gives each connection its place.
    ///   - partialMessageTimeout: Longest wait for the rest of a message, in seconds.
    ///   - silence: Longest wait for the beginning of the first, in seconds.
    ///   - accepted: Gets a connection, and the ownership of its socket and its place.
    /// - Throws: Where the listener is no socket of this kind, or descriptors ran out.
    init(
        listener: Int32, identities: any PeerSource, places: ConnectionPlaces, partialMessageTimeout: TimeInterval,
        silence: TimeInterval, accepted: @escaping Accepted
    ) throws(POSIXError) {
        self.listener = listener
        self.identities = identities
        self.partialMessageTimeout = partialMessageTimeout
        self.places = places
        self.silence = silence
        self.accepted = accepted
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0, fcntl(listener, F_SETFL, O_NONBLOCK) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        ending = (ends[0], ends[1])
        let code = touchstone_pass_credentials(listener)
        guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO) }
        threads.enter()
        let thread = Thread { [self] in
            run()
            threads.leave()
        }
        thread.name = "connections"
        thread.start()
    }

    /// Accepts no more, closes what was not passed on, and returns once nothing is passed on any more.
    func stop() {
        close(ending.write)
        // It may be asking who somebody is. Whoever answers that has a limit of its own, and this one is for a fault.
        _ = threads.wait(timeout: .now() + 10)
    }

    /// A connection that waits, with its place.
    private struct Waiting {
        var connection: WaitingConnection
        let place: ConnectionPlaces.Place
    }

    private func run() {
        var waiting: [Waiting] = []
        var entries: [pollfd] = []
        defer {
            for one in waiting { drop(one) }
            close(listener)
            close(ending.read)
        }
        while true {
            entries = ([ending.read, listener] + waiting.map(\.connection.socket)).map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            let deadline = waiting.compactMap(\.connection.deadline).min()
            let milliseconds = deadline.map { Int32(max(0, ($0 - .now) / .milliseconds(1)).rounded(.up)) } ?? -1
            guard unsafe poll(&entries, nfds_t(entries.count), milliseconds) >= 0 || errno == EINTR else { return }
            if entries[0].revents != 0 { return }
            let isReady = entries[2...].map { $0.revents != 0 }
            var left: [Waiting] = []
            for (var one, isReady) in zip(waiting, isReady) {
                if isReady {
                    switch one.connection.read(Limits.chunk, partialMessageTimeout) {
                    case .waits: break
                    case .ended:
                        drop(one)
                        continue
                    case .began:
                        let connection = one.connection
                        accepted(connection.socket, one.place, connection.peer, connection.beginning)
                        continue
                    }
                }
                if let deadline = one.connection.deadline, deadline <= .now {
                    drop(one)
                } else {
                    left.append(one)
                }
            }
            waiting = left
            if entries[1].revents != 0, let one = accept() { waiting.append(one) }
        }
    }

    private func accept() -> Waiting? {
        let socket = touchstone_accept(listener)
        guard socket >= 0 else {
            // Whoever connects waits until something is free again.
            if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) { usleep(Limits.pause) }
            return nil
        }
        var early: Int32 = 0
        // In this order: what has come by the time that the program is known is early, and what comes later has a sender.
        guard touchstone_pass_credentials(socket) == 0, let peer = identities.peer(ofSocket: socket),
            unsafe ioctl(socket, UInt(FIONREAD), &early) == 0,
            // It then ends as one that its program has closed.
            let place = places.enter(peer.processID, disconnect: { _ = shutdown(socket, Int32(SHUT_RDWR)) })
        else {
            touchstone_close_peer(socket, nil, nil)
            return nil
        }
        return Waiting(
            connection: .init(socket: socket, peer: peer, early: Int(early), deadline: .now + .seconds(silence)),
            place: place)
    }

    private func drop(_ one: Waiting) { ConnectionPlaces.close(one.connection.socket, one.place) }
}

/// A connection on which the program that connected has not yet sent a message since it is known.
struct WaitingConnection {
    enum Step {
        case waits
        /// It is closed, broken, or not its program's.
        case ended
        /// `beginning` has a whole message, or more of one than small ones are long.
        case began
    }

    let socket: Int32
    let peer: Peer
    private(set) var beginning: [UInt8] = []
    /// For the first message to begin, and then for the rest of it.
    private(set) var deadline: ContinuousClock.Instant?
    private var hasBegun = false
    /// So many bytes more came before the program was known.
    private var early: Int
    /// So many bytes of a message that began before came already.
    private var earlyMessage = 0

    init(socket: Int32, peer: Peer, early: Int, deadline: ContinuousClock.Instant? = nil) {
        (self.socket, self.peer, self.early, self.deadline) = (socket, peer, early, deadline)
    }

    /// Takes what has come, of one sender.
    mutating func read(_ room: Int, _ timeout: TimeInterval) -> Step {
        var sender: pid_t = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            let received = unsafe touchstone_receive_from(socket, buffer.baseAddress!, room, &sender)
            count = max(0, received)
            if received < 0, errno == EAGAIN { sender = -1 }
        }
        guard !bytes.isEmpty else { return sender == -1 ? .waits : .ended }
        let earlyBytes = min(early, bytes.count)
        early -= earlyBytes
        guard earlyBytes == bytes.count || sender == peer.processID else {
            answer(VarlinkServiceError.PermissionDenied.self)
            return .ended
        }
        var rest = bytes[...]
        while earlyMessage > 0 || rest.startIndex < earlyBytes {
            guard let end = rest.firstIndex(of: 0) else {
                earlyMessage += rest.count
                // Nothing of it is kept, so that it may be large.
                return hasTime(earlyMessage, VarlinkLimits.maximumLargeRequestBytes, timeout)
            }
            rest = rest[(end + 1)...]
            earlyMessage = 0
            deadline = nil
            guard answer(VarlinkServiceError.SendAgain.self) else { return .ended }
        }
        beginning += rest
        // Of a message that waits for its turn the beginning is enough.
        if rest.contains(0) || beginning.count > VarlinkLimits.maximumSmallRequestBytes { return .began }
        return beginning.isEmpty ? .waits : hasTime(beginning.count, VarlinkLimits.maximumSmallRequestBytes, timeout)
    }

    private mutating func hasTime(_ count: Int, _ maximum: Int, _ timeout: TimeInterval) -> Step {
        guard count <= maximum else { return .ended }
        if !hasBegun || deadline == nil { deadline = .now + .seconds(timeout) }
        hasBegun = true
        return .waits
    }

    /// Whoever does not take an answer of some bytes has sent many messages, and is closed.
    @discardableResult
    private func answer<E: VarlinkError>(_ error: E.Type) -> Bool {
        let frame = Array(#"{"error":"\#(E.name)"}"#.utf8) + [0]
        return unsafe send(socket, frame, frame.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL)) == frame.count
    }
}
