internal import CTouchstoneSystem
import Glibc
internal import Synchronization

/// Who asks, as far as the kernel says (BR-10, BR-12).
public enum Client: Hashable, Sendable {
    /// One process, and what it executes.
    case known(ClientProcess, executable: String)
    /// A program that could not be identified: the kernel does not show what it executes, or several processes speak on its connection.
    case unknown

    /// The process; nil of one that is unknown.
    public var process: ClientProcess? {
        guard case .known(let process, _) = self else { return nil }
        return process
    }

    /// The path of its program; nil of one that is unknown.
    public var executable: String? {
        guard case .known(_, let executable) = self else { return nil }
        return executable
    }
}

/// Why a connection is over.
public enum ConnectionEnd: Error, Hashable, Sendable {
    /// The other end closed it in the middle of a message, or does not read.
    case closed
    /// No message of this protocol, or a larger one than is read.
    case malformed
    /// The rest of a message did not come in time (BR-51).
    case tooSlow
    /// The process that connected is gone, or executes another file (BR-11).
    case clientGone
}

/// How long a message is, as far as its beginning says.
public enum MessageLength: Hashable, Sendable {
    /// The beginning does not say it yet.
    case unknown
    /// So many bytes.
    case bytes(Int)
    /// No message begins like this.
    case malformed

    /// - Parameter bytes: As wire formats say it: nil where the beginning does not say it yet, and 0 where no message begins like this.
    public init(_ bytes: Int?) {
        self =
            switch bytes {
            case nil: .unknown
            case 0: .malformed
            case let count?: .bytes(count)
            }
    }
}

/// A connection of a client's: messages, and who sent them.
///
/// > Concurrency: One thread reads and writes; any thread may look, and ``close()``.
public final class ClientConnection: Sendable {
    private let descriptor: Int32
    /// The process that connected.
    private let peer: ClientProcess
    /// The kernel's descriptor of it; negative where the kernel has none.
    private let peerDescriptor: Int32
    private let file: ExecutedFile?
    private let path: String?
    private let unread = Mutex<[UInt8]>([])
    private let hasOtherSenders = Atomic(false)
    private let isWaiting = Atomic(false)

    /// Longest wait for the rest of a message, and for somebody who does not read.
    public static let patience = Duration.seconds(30)

    /// Takes over a connected socket.
    ///
    /// nil, with the socket closed: it is not of this user or of root, in a sandbox, or gone (BR-7).
    init?(descriptor: Int32) {
        guard let (peer, peerDescriptor) = Self.peer(of: descriptor) else {
            touchstone_close_peer(descriptor, nil, nil)
            return nil
        }
        self.descriptor = descriptor
        self.peer = peer
        self.peerDescriptor = peerDescriptor
        file = ExecutedFile(of: peer.processID)
        path = peer.executable
        // What was read was the peer's only if it runs still. Whoever leaves here closes both in `deinit`.
        guard !peer.isSandboxed, isPeerThere else { return nil }
    }

    deinit {
        touchstone_close_peer(descriptor, nil, nil)
        if peerDescriptor >= 0 { Glibc.close(peerDescriptor) }
    }

    /// The process that connected, if it may, and the kernel's descriptor of it.
    ///
    /// The descriptor, where there is one, tells that its number was not given to another process before that was looked at.
    private static func peer(of descriptor: Int32) -> (ClientProcess, descriptor: Int32)? {
        var peer = touchstone_peer()
        guard unsafe touchstone_peer_of(descriptor, &peer) == 0 else { return nil }
        guard peer.uid == geteuid() || peer.uid == 0, let process = ClientProcess(processID: peer.pid),
            peer.pidfd < 0 || touchstone_pidfd_alive(peer.pidfd)
        else {
            if peer.pidfd >= 0 { Glibc.close(peer.pidfd) }
            return nil
        }
        return (process, peer.pidfd)
    }

    /// Whether the process that connected runs still: one call of the kernel, since that is asked twice for each request.
    private var isPeerThere: Bool { peerDescriptor < 0 ? peer.isThere : touchstone_pidfd_alive(peerDescriptor) }

    /// The number of the process that connected, for limits; who asks is ``look()``.
    var peerProcess: ClientProcess { peer }

    /// What it executed when it connected, for limits; nil if the kernel does not show it.
    var executedFile: ExecutedFile? { file }

    /// Whether nothing is under way: the client has to send or to read.
    var waitsForClient: Bool { isWaiting.load(ordering: .relaxed) }

    /// Looks at the process that connected.
    ///
    /// - Returns: Who asks.
    /// - Throws: `ConnectionEnd.clientGone`: it is gone, or executes another file than when it connected.
    public func look() throws(ConnectionEnd) -> Client {
        // In this order: what a process executes that is there afterwards is not that of the next one with its number.
        guard ExecutedFile(of: peer.processID) == file, isPeerThere else { throw .clientGone }
        guard file != nil, let path, !hasOtherSenders.load(ordering: .relaxed) else { return .unknown }
        return .known(peer, executable: path)
    }

    /// Whether the client still waits: its process is there, and the connection open.
    public var isWaitedOn: Bool {
        var entry = pollfd(fd: descriptor, events: 0, revents: 0)
        return unsafe poll(&entry, 1, 0) == 0 && (try? look()) != nil
    }

    /// Reads one message.
    ///
    /// - Parameters:
    ///   - longest: The most bytes that a message has.
    ///   - length: How long the message is that begins with these bytes.
    /// - Returns: The whole message; nil when the client closed the connection between two.
    /// - Throws: `ConnectionEnd`.
    public func receive(longest: Int, _ length: ([UInt8]) -> MessageLength) throws(ConnectionEnd) -> [UInt8]? {
        var bytes = unread.withLock { take(&$0) }
        var deadline = bytes.isEmpty ? nil : ContinuousClock.now + Self.patience
        while true {
            switch length(bytes) {
            case .malformed: throw .malformed
            case .bytes(let count) where count > longest || count < 1: throw .malformed
            case .bytes(let count) where count <= bytes.count:
                let rest = Array(bytes[count...])
                unread.withLock { $0 = rest }
                bytes.removeSubrange(count...)
                return bytes
            case .bytes, .unknown:
                guard bytes.count <= longest else { throw .malformed }
            }
            guard try wait(for: Int16(POLLIN), until: deadline) else { throw .tooSlow }
            guard let more = try receiveSome() else {
                guard bytes.isEmpty else { throw .closed }
                return nil
            }
            if deadline == nil { deadline = ContinuousClock.now + Self.patience }
            bytes += more
        }
    }

    private func take(_ bytes: inout [UInt8]) -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    /// What has come; nil at the end.
    ///
    /// A client that sends a descriptor is closed: nobody here takes one (DEC-593).
    private func receiveSome() throws(ConnectionEnd) -> [UInt8]? {
        var sender: pid_t = 0
        var count = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 16 << 10) { room, initialized in
            count = unsafe touchstone_receive_from(descriptor, room.baseAddress, room.count, &sender)
            initialized = max(count, 0)
        }
        guard count >= 0 else {
            guard errno == EAGAIN else { throw .closed }
            return []
        }
        guard count > 0 else { return nil }
        if sender != peer.processID { hasOtherSenders.store(true, ordering: .relaxed) }
        return bytes
    }

    /// Sends all of it.
    ///
    /// - Throws: `ConnectionEnd.closed`: the client is gone, or does not read.
    public func send(_ bytes: [UInt8]) throws(ConnectionEnd) {
        let deadline = ContinuousClock.now + Self.patience
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { all in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: all[sent...])
                return unsafe Glibc.send(
                    descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if count > 0 {
                sent += count
            } else if errno == EAGAIN {
                guard try wait(for: Int16(POLLOUT), until: deadline) else { throw .closed }
            } else if errno != EINTR {
                throw .closed
            }
        }
    }

    /// Whether it can be read or written before the deadline.
    private func wait(for events: Int16, until deadline: ContinuousClock.Instant?) throws(ConnectionEnd) -> Bool {
        isWaiting.store(true, ordering: .relaxed)
        defer { isWaiting.store(false, ordering: .relaxed) }
        while true {
            var entry = pollfd(fd: descriptor, events: events, revents: 0)
            let left = deadline.map { $0 - .now }
            let milliseconds = left.map { max(0, $0.components.seconds * 1000 + 1) } ?? -1
            let ready = unsafe poll(&entry, 1, Int32(clamping: milliseconds))
            if ready > 0 { return true }
            if ready < 0, errno != EINTR { throw .closed }
            if let deadline, .now >= deadline { return false }
        }
    }

    /// Ends the connection; a read that waits ends too.
    public func close() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }
}
