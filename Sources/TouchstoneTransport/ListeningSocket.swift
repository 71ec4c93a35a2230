package import CTouchstoneSystem
internal import Glibc

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
