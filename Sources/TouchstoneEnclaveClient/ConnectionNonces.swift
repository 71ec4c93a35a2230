import Dispatch
import Synchronization
package import TouchstoneEnclaveInterface
package import TouchstoneTransport

/// Nonces for entries of the owner's, each good on one connection alone, and gone with it.
package final class ConnectionNonces: Sendable {
    private let enclave: EnclaveClient
    /// Numbers of the connections that the enclave gave nonces to.
    private let known = Mutex<Set<Int>>([])
    /// Connections end where others' requests are read: nobody waits there for the enclave.
    private let endings = DispatchQueue(label: "io.touchstone.nonces.endings")

    package init(_ enclave: EnclaveClient) { self.enclave = enclave }

    /// - Throws: What the enclave throws.
    package func fresh(for connection: VarlinkConnection, _ owner: IsOwner) throws
        -> EnclaveInterface.GetNonce.Reply
    {
        let number = connection.number
        let reply = try enclave.call(EnclaveInterface.GetNonce.self, .init(connection: number))
        // After the call: where the connection has ended meanwhile the enclave hears it now.
        if known.withLock({ $0.insert(number).inserted }) {
            connection.onClose { [weak self] in self?.forget(number) }
        }
        return reply
    }

    private func forget(_ connection: Int) {
        endings.async { [self] in
            known.withLock { _ = $0.remove(connection) }
            _ = try? enclave.call(EnclaveInterface.EndConnection.self, .init(connection: connection))
        }
    }
}
