import Dispatch

/// Runs an actor on a queue of its own: what it calls blocks for as long as a prompt is up (AC-26), and the threads of the concurrency
/// runtime are few.
@available(macOS 14, iOS 17, *)
final class BlockingExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "io.touchstone.sign-in.keychain", qos: .userInitiated)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
