internal import Glibc

/// A socket whose messages nobody answers, as those to systemd and its journal.
package final class DatagramSocket: Sendable {
    private let address: UnixAddress
    private let descriptor: Int32

    /// nil where the path is too long, or there is no socket to be had.
    ///
    /// - Parameters:
    ///   - path: Who gets the messages; a leading `@` stands for an abstract name.
    ///   - isWaited: Whether `send` waits until there is room for the message.
    package init?(path: String, isWaited: Bool = true) {
        guard let address = UnixAddress(notify: path) else { return nil }
        let flags = SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | (isWaited ? 0 : SOCK_NONBLOCK.rawValue)
        descriptor = socket(AF_UNIX, Int32(flags), 0)
        guard descriptor >= 0 else { return nil }
        self.address = address
    }

    deinit { close(descriptor) }

    /// Sends one message; what nobody takes is lost.
    package func send(_ message: [UInt8]) {
        var address = address
        unsafe address.withSockaddr { pointer, length in
            _ = unsafe sendto(descriptor, message, message.count, Int32(MSG_NOSIGNAL), pointer, length)
        }
    }
}
