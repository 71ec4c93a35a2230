import Foundation
import Glibc
import Synchronization
import TouchstoneCore
import TouchstoneSystem

/// Asks a device again and again, from a thread of its own, whether it answers: touchstoned, and through it the enclave.
///
/// Tells the main thread of the first answer by `SIGUSR1`.
final class AnswerProbe: Sendable {
    static let signal = SIGUSR1

    private struct State {
        var isReady = false
        var hasAnswered = false
        var isCancelled = false
    }

    private let state = Mutex(State())

    /// Begins to ask, with this pause between an answer and the next question.
    init(_ paths: DevicePaths, pause: Duration) {
        Thread.detachNewThread { [self] in
            while !state.withLock({ $0.isCancelled }) {
                // Blocks for as long as the device hangs; ends when its processes do.
                guard let device = try? DeviceClient(paths), (try? device.status) != nil else {
                    Pause.sleep(Pause.connect)
                    continue
                }
                let isFirst = state.withLock { state in
                    defer { (state.isReady, state.hasAnswered) = (true, true) }
                    return !state.isReady && !state.isCancelled
                }
                if isFirst { kill(getpid(), Self.signal) }
                Pause.sleep(pause)
            }
        }
    }

    /// Whether it has ever answered.
    var isReady: Bool { state.withLock { $0.isReady } }

    /// Whether it has answered since this was asked last.
    func takeAnswer() -> Bool {
        state.withLock { state in
            defer { state.hasAnswered = false }
            return state.hasAnswered
        }
    }

    func cancel() { state.withLock { $0.isCancelled = true } }
}
