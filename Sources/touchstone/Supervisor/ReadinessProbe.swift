import Foundation
import Glibc
import Synchronization
import TouchstoneCore

/// Asks a starting device, from a thread of its own, until it answers; tells the main thread by `SIGUSR1`.
final class ReadinessProbe: Sendable {
    static let signal = SIGUSR1
    private let state = Mutex(State.asking)

    private enum State { case asking, ready, cancelled }

    init(_ paths: DevicePaths) {
        Thread.detachNewThread { [self] in
            while state.withLock({ $0 == .asking }) {
                if let device = try? DeviceConnection(paths), (try? device.status) != nil {
                    state.withLock { if $0 == .asking { $0 = .ready } }
                    kill(getpid(), Self.signal)
                    return
                }
                Pause.sleep(Pause.connect)
            }
        }
    }

    var isReady: Bool { state.withLock { $0 == .ready } }

    func cancel() { state.withLock { $0 = .cancelled } }
}
