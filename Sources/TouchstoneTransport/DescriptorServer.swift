import Foundation
import Glibc

/// Serves one connection that is already open, on the calling thread: the enclave's side of the private socket pair.
package struct DescriptorServer: Sendable {
    private let descriptor: Int32
    private let router: VarlinkRouter
    private let peer: Peer

    /// Takes ownership of `descriptor`.
    package init(descriptor: Int32, router: VarlinkRouter, peer: Peer) {
        self.descriptor = descriptor
        self.router = router
        self.peer = peer
    }

    /// Returns when the peer is gone.
    package func run() {
        let channel = SocketChannel(descriptor: descriptor)
        let connection = VarlinkConnection(
            peer: peer, router: router,
            write: { frame in
                do { try channel.send(frame) } catch { channel.close() }
            },
            writeThrough: { (try? channel.send($0)) != nil },
            disconnect: { channel.close() })
        while let frame = try? channel.receive() { connection.receive(frame) }
        connection.closed()
    }
}
