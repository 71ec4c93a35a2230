package import Foundation
internal import Glibc
internal import Synchronization
internal import TouchstoneCore

/// A channel over a connected Unix stream socket: messages of JSON, each ended by NUL.
package final class SocketChannel: VarlinkChannel {
    private let descriptor: Int32
    private let received = Mutex(Received())
    private let maximumBytes: Int
    private let isOpen = Mutex(true)
    /// What was sent before the first answer came; nil from then on.
    private let unanswered = Mutex<[Data]?>([])
    /// Held for a whole frame: two threads' frames must not end up in one another.
    private let sending = NSLock()

    /// Takes ownership of `descriptor`.
    package init(descriptor: Int32, maximumBytes: Int = VarlinkLimits.maximumReplyBytes) {
        self.descriptor = descriptor
        self.maximumBytes = maximumBytes
    }

    package func send(_ frame: Data) throws(TransportError) {
        unanswered.withLock { frames in
            // More than that a service does not take without answering.
            if frames?.count ?? 0 > VarlinkLimits.maximumPipelinedRequests { frames = nil }
            frames?.append(frame)
        }
        try write(frame)
    }

    private func write(_ frame: Data) throws(TransportError) {
        var frame = frame
        frame.append(0)
        sending.lock()
        defer { sending.unlock() }
        let sent = unsafe frame.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                let count = unsafe Glibc.send(
                    descriptor, bytes.baseAddress! + offset, bytes.count - offset, Int32(MSG_NOSIGNAL))
                if count < 0 {
                    if errno == EINTR { continue }
                    return false
                }
                offset += count
            }
            return true
        }
        guard sent else { throw .closed }
    }

    package func receive() throws(TransportError) -> Data {
        while true {
            // One reader at a time by contract; the lock only keeps the buffer honest.
            let result = received.withLock { $0.nextFrame(from: descriptor, maximumBytes: maximumBytes) }
            let frame = try result.get()
            guard frame == VarlinkServiceError.SendAgain.frame, let early = nextUnanswered() else {
                unanswered.withLock { $0 = nil }
                return frame
            }
            try write(early)
        }
    }

    package func waitUntilReadable() {
        guard received.withLock({ !$0.hasRest }) else { return }
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while unsafe poll(&state, 1, -1) < 0, errno == EINTR {}
    }

    /// What a service that had not yet looked at who connects did not take: each message once.
    private func nextUnanswered() -> Data? {
        unanswered.withLock { $0?.isEmpty == false ? $0?.removeFirst() : nil }
    }

    package func close() {
        isOpen.withLock { isOpen in
            if isOpen { shutdown(descriptor, Int32(SHUT_RDWR)) }
            isOpen = false
        }
    }

    deinit {
        _ = Glibc.close(descriptor)
    }
}

/// What came and was not yet asked for.
private struct Received {
    /// Written to by the system, and read at once.
    private var chunk = [UInt8](repeating: 0, count: 16 << 10)
    private var rest = Data()
    var hasRest: Bool { !rest.isEmpty }

    mutating func nextFrame(from descriptor: Int32, maximumBytes: Int) -> Result<Data, TransportError> {
        var searched = 0
        while true {
            if let end = rest.firstZero(from: searched) {
                let frame = Data(rest.prefix(end))
                rest = Data(rest.dropFirst(end + 1))
                return .success(frame)
            }
            searched = rest.count
            if rest.count > maximumBytes { return .failure(.tooLarge) }
            let count = read(from: descriptor)
            guard count > 0 else { return .failure(.closed) }
            defer { unsafe chunk.withUnsafeMutableBytes { _ = unsafe memset($0.baseAddress!, 0, count) } }
            // Mostly there is one frame, and all of it.
            if rest.isEmpty, chunk.firstZero(from: 0) == count - 1 {
                return .success(Data(chunk[..<(count - 1)]))
            }
            rest.append(contentsOf: chunk[..<count])
        }
    }

    private mutating func read(from descriptor: Int32) -> Int {
        unsafe chunk.withUnsafeMutableBytes { chunk in
            while true {
                let count = unsafe recv(descriptor, chunk.baseAddress!, chunk.count, 0)
                if count < 0 && errno == EINTR { continue }
                return count
            }
        }
    }
}

/// A Unix socket by its path.
package struct SocketEndpoint: VarlinkEndpoint {
    package let path: String

    package init(path: String) { self.path = path }

    package var identifier: String? { path }

    package func connect() throws(TransportError) -> any VarlinkChannel {
        guard var address = UnixAddress(path: path) else { throw .unreachable }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .unreachable }
        guard unsafe address.withSockaddr({ unsafe Glibc.connect(descriptor, $0, $1) }) == 0 else {
            _ = Glibc.close(descriptor)
            throw .unreachable
        }
        return SocketChannel(descriptor: descriptor)
    }
}

/// A `sockaddr_un`.
struct UnixAddress {
    private var address = sockaddr_un()
    private var length = socklen_t(MemoryLayout<sockaddr_un>.size)

    /// nil for a path that does not fit.
    init?(path: String) {
        let bytes = Array(path.utf8)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard !bytes.isEmpty, bytes.count < room, !bytes.contains(0) else { return nil }
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    }

    /// As `NOTIFY_SOCKET` names it: `@` stands for the zero that an abstract name begins with.
    init?(notify path: String) {
        self.init(path: path)
        if path.hasPrefix("@") { unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0[0] = 0 } }
        // A stored field of a C structure has an offset.
        length =
            path.hasPrefix("@") ? socklen_t(MemoryLayout.offset(of: \sockaddr_un.sun_path)! + path.utf8.count) : length
    }

    mutating func withSockaddr<R>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
        let length = length
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, length) }
        }
    }
}

/// Connects to a socket of whole messages; -1 where nobody listens.
package func connectSequentialPacket(_ path: String, seconds: Int) -> Int32 {
    guard var address = UnixAddress(path: path) else { return -1 }
    let descriptor = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return -1 }
    var limit = timeval(tv_sec: seconds, tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
        unsafe setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
    guard unsafe address.withSockaddr({ unsafe Glibc.connect(descriptor, $0, $1) }) == 0 else {
        _ = Glibc.close(descriptor)
        return -1
    }
    return descriptor
}
