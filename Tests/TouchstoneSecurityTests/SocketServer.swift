import Foundation
import Glibc
import Synchronization
import TouchstoneTransport

/// A router behind a Unix socket, with a thread for each connection: enough to stop it and start it again.
final class SocketServer: Sendable {
    let path: String
    private let listener: Int32
    private let connections = Mutex<[SocketChannel]>([])
    private let count = Mutex(0)

    init(path: String, router: VarlinkRouter) throws {
        self.path = path
        unsafe unlink(path)
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: Array(path.utf8)) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let listener = listener
        let isListening = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(listener, $0, size) } == 0
                && listen(listener, 64) == 0
        }
        guard isListening else { throw TransportError.unreachable }
        Thread.detachNewThread { [self] in
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { return }
                let channel = SocketChannel(descriptor: descriptor)
                connections.withLock { $0.append(channel) }
                count.withLock { $0 += 1 }
                Thread.detachNewThread { Self.serve(channel, router) }
            }
        }
    }

    /// How many connections were made.
    var accepted: Int { count.withLock { $0 } }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        unsafe unlink(path)
        for channel in connections.withLock({ $0 }) { channel.close() }
    }

    private static func serve(_ channel: SocketChannel, _ router: VarlinkRouter) {
        let connection = VarlinkConnection(
            peer: Peer(processID: 1, userID: 1) { nil }, router: router,
            write: { try? channel.send($0) }, writeThrough: { (try? channel.send($0)) != nil },
            disconnect: { channel.close() })
        while let frame = try? channel.receive() { connection.receive(frame) }
        connection.closed()
    }
}
