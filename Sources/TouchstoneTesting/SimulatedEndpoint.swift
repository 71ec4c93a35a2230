import Synchronization
import TouchstoneCore
import TouchstoneTransport

/// How one app reaches a simulated device, across its reboots.
final class SimulatedEndpoint: VarlinkEndpoint {
    private let app: AppIdentity
    private let current = Mutex<LoopbackEndpoint?>(nil)

    init(app: AppIdentity, device: BootedDevice) {
        self.app = app
        connectTo(device)
    }

    func connectTo(_ device: BootedDevice) {
        let app = app
        let peer = Peer(processID: app.processID, userID: app.userID, identify: { app })
        let new = LoopbackEndpoint(router: device.router, peer: peer)
        let old = current.withLock { current in
            defer { current = new }
            return current
        }
        old?.stop()
    }

    func connect() throws(TransportError) -> any VarlinkChannel {
        guard let current = current.withLock({ $0 }) else { throw .unreachable }
        return try current.connect()
    }
}
