package import CTouchstoneSystem
package import Foundation
internal import Glibc

/// A socket that this process listens on, one connection at a time.
package struct ListeningSocket: Sendable {
    private let descriptor: Int32
    /// Before the next try where descriptors or memory ran out, in microseconds.
    private static let pause: UInt32 = 100_000

    /// Takes ownership of `descriptor`.
    package init(descriptor: Int32) { self.descriptor = descriptor }

    /// A socket that listens at `path`, and does not wait; a socket that is there already is replaced.
    ///
    /// - Throws: `POSIXError`, for a path that is in use or too long.
    package static func bound(at path: String, backlog: Int32) throws(POSIXError) -> Int32 {
        guard var address = UnixAddress(path: path) else { throw POSIXError(.ENAMETOOLONG) }
        var file = stat()
        if unsafe lstat(path, &file) == 0, file.st_mode & S_IFMT == S_IFSOCK { unsafe unlink(path) }
        let flags = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        let descriptor = socket(AF_UNIX, Int32(flags), 0)
        guard descriptor >= 0, unsafe address.withSockaddr({ unsafe bind(descriptor, $0, $1) }) == 0,
            listen(descriptor, backlog) == 0
        else {
            let code = POSIXErrorCode(rawValue: errno) ?? .EIO
            if descriptor >= 0 { _ = Glibc.close(descriptor) }
            throw POSIXError(code)
        }
        return descriptor
    }

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
