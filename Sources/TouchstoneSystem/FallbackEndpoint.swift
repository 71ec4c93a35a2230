internal import Synchronization
package import TouchstoneTransport

/// The simulated devices that live in this process.
///
/// One is used without being named; of several, none is guessed.
package final class FallbackEndpoint: Sendable {
    private let devices = Mutex<[ObjectIdentifier: any VarlinkEndpoint]>([:])

    package func add(_ endpoint: any VarlinkEndpoint, for owner: AnyObject) {
        devices.withLock { $0[ObjectIdentifier(owner)] = endpoint }
    }

    package func remove(for owner: AnyObject) {
        devices.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(owner)) }
    }

    package var value: (any VarlinkEndpoint)? {
        devices.withLock { devices in
            devices.count > 1 ? AmbiguousEndpoint() : devices.values.first
        }
    }
}

/// Stands for several devices of which none was named.
package struct AmbiguousEndpoint: VarlinkEndpoint {
    package func connect() throws(TransportError) -> any VarlinkChannel { throw .unreachable }
}
