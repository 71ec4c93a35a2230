import Dispatch
import Glibc
import Synchronization
import TouchstoneSocketServer

/// Ends the process once: answers that were given reach their clients first.
final class Ending: Sendable {
    private struct Steps {
        var server: SocketServer?
        var last: (@Sendable () -> Void)?
    }

    private let steps = Mutex(Steps())
    private let queue = DispatchQueue(label: "io.touchstone.ending")

    func serve(_ server: SocketServer) { steps.withLock { $0.server = server } }

    /// What is done when nobody is answered any more.
    func onEnd(_ body: @escaping @Sendable () -> Void) { steps.withLock { $0.last = body } }

    /// Returns at once, so that whoever calls it can finish answering.
    func end(_ status: Int32) {
        queue.async { [self] in
            steps.withLock { $0.server }?.stop()
            steps.withLock { $0.last }?()
            exit(status)
        }
    }
}
