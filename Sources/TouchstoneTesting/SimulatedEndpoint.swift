import Foundation
import Synchronization
import TouchstoneCore
import TouchstoneTransport

/// How one app reaches a simulated device, across its reboots.
final class SimulatedEndpoint: VarlinkEndpoint {
    private let app: @Sendable () -> AppIdentity
    private let willConnect = Mutex(Preparation())
    let refusalLines: RefusalLines?
    private let current = Mutex<(endpoint: LoopbackEndpoint, passcodeKey: Data)?>(nil)

    private struct Preparation {
        var body: @Sendable () -> Void = {}
    }

    /// - Parameters:
    ///   - app: Who connects: asked for each connection.
    ///   - device: The device.
    ///   - refusalLines: The lines that explain refused calls.
    init(
        app: @autoclosure @escaping @Sendable () -> AppIdentity, device: BootedDevice,
        refusalLines: RefusalLines = RefusalLines()
    ) {
        self.app = app
        self.refusalLines = refusalLines
        connectTo(device)
    }

    /// Has this run on the thread of each call that connects, before it does.
    func beforeConnecting(_ body: @escaping @Sendable () -> Void) { willConnect.withLock { $0.body = body } }

    func connectTo(_ device: BootedDevice) {
        let peer = Peer(processID: getpid(), userID: getuid(), identify: app)
        let new = LoopbackEndpoint(router: device.router, peer: peer)
        let key = device.passcodeKey
        let old = current.withLock { current in
            defer { current = (new, key) }
            return current?.endpoint
        }
        old?.stop()
    }

    func connect() throws(TransportError) -> any VarlinkChannel {
        willConnect.withLock { $0 }.body()
        guard let current = current.withLock({ $0?.endpoint }) else { throw .unreachable }
        return try current.connect()
    }

    func passcodeKey() throws(PasscodeKeyError) -> Data {
        guard let key = current.withLock({ $0?.passcodeKey }) else { throw .unreadable(ENOENT) }
        return key
    }
}
