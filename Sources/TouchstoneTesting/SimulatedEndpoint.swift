import Foundation
import Synchronization
import TouchstoneCore
import TouchstoneTransport

/// How one app reaches a simulated device, across its reboots.
final class SimulatedEndpoint: VarlinkEndpoint {
    private let app: AppIdentity
    let refusalLines: RefusalLines?
    private let current = Mutex<(endpoint: LoopbackEndpoint, passcodeKey: Data)?>(nil)

    init(app: AppIdentity, device: BootedDevice, refusalLines: RefusalLines = RefusalLines()) {
        self.app = app
        self.refusalLines = refusalLines
        connectTo(device)
    }

    func connectTo(_ device: BootedDevice) {
        let app = app
        let peer = Peer(processID: app.processID, userID: app.userID, identify: { app })
        let new = LoopbackEndpoint(router: device.router, peer: peer)
        let key = device.passcodeKey
        let old = current.withLock { current in
            defer { current = (new, key) }
            return current?.endpoint
        }
        old?.stop()
    }

    func connect() throws(TransportError) -> any VarlinkChannel {
        guard let current = current.withLock({ $0?.endpoint }) else { throw .unreachable }
        return try current.connect()
    }

    func passcodeKey() throws(PasscodeKeyError) -> Data {
        guard let key = current.withLock({ $0?.passcodeKey }) else { throw .unreadable(ENOENT) }
        return key
    }
}
