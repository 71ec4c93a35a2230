package import CTouchstoneSystem
internal import Foundation
internal import Glibc

/// What systemd, or who stands in for it, gave this process, and what it wants to hear: sd_listen_fds(3) and sd_notify(3), without its
/// library.
package enum ServiceManager {
    /// Descriptors of listening sockets, in the order of the unit; none where nobody passed any to this process.
    ///
    /// To be asked once: whatever this process starts inherits none of them.
    package static func takeSockets() -> [Int32] {
        let environment = ProcessInfo.processInfo.environment
        guard environment["LISTEN_PID"] == "\(getpid())", let count = environment["LISTEN_FDS"].flatMap(Int32.init),
            (1...maximumSockets).contains(count)
        else { return [] }
        let sockets = firstSocket..<(firstSocket + count)
        for socket in sockets { _ = fcntl(socket, F_SETFD, FD_CLOEXEC) }
        return Array(sockets)
    }

    /// Says `READY=1`, `WATCHDOG=1` and the like; nobody waits for it.
    package static func notify(_ state: String) {
        guard let path = unsafe getenv("NOTIFY_SOCKET").map({ unsafe String(cString: $0) }),
            var address = UnixAddress(notify: path)
        else { return }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        unsafe address.withSockaddr { pointer, length in
            _ = unsafe sendto(descriptor, state, state.utf8.count, Int32(MSG_NOSIGNAL), pointer, length)
        }
    }

    /// Tells for as long as `isWell` returns that this process answers; nothing where nobody wants to know.
    package static func keepAlive(isWell: @escaping @Sendable () -> Bool) {
        let environment = ProcessInfo.processInfo.environment
        guard environment["WATCHDOG_PID"].map({ $0 == "\(getpid())" }) ?? true,
            let microseconds = environment["WATCHDOG_USEC"].flatMap(Double.init), microseconds > 0
        else { return }
        let thread = Thread {
            while true {
                if isWell() { notify("WATCHDOG=1") }
                Thread.sleep(forTimeInterval: microseconds / 1e6 / 3)
            }
        }
        thread.name = "watchdog"
        thread.start()
    }

    private static let firstSocket: Int32 = 3
    private static let maximumSockets: Int32 = 16
}

/// A socket that this process listens on, one connection at a time.
package struct ListeningSocket: Sendable {
    private let descriptor: Int32
    /// Before the next try where descriptors or memory ran out, in microseconds.
    private static let pause: UInt32 = 100_000

    /// Takes ownership of `descriptor`.
    package init(descriptor: Int32) { self.descriptor = descriptor }

    /// Waits for the next connection; nil where there will be none.
    package func accept() -> (descriptor: Int32, peer: touchstone_peer)? {
        while true {
            let connection = Glibc.accept(descriptor, nil, nil)
            if connection < 0 {
                switch errno {
                case EINTR, ECONNABORTED: continue
                case EMFILE, ENFILE, ENOBUFS, ENOMEM:
                    // Whoever connects waits until something is free again.
                    usleep(Self.pause)
                    continue
                default: return nil
                }
            }
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            var peer = touchstone_peer()
            guard unsafe touchstone_peer_of(connection, &peer) == 0 else {
                _ = Glibc.close(connection)
                continue
            }
            if peer.pidfd >= 0 { _ = Glibc.close(peer.pidfd) }
            peer.pidfd = -1
            return (connection, peer)
        }
    }

    package func close() { _ = Glibc.close(descriptor) }
}
