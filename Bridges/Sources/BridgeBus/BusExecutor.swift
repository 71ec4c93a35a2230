internal import Synchronization

/// Runs an actor on the thread of its bus, so that a call is answered without a change of threads.
///
/// On a machine whose cores sleep, each change takes as long as the rest of a call. What blocks has no place in such an actor.
///
/// > Concurrency: Jobs may come from any thread. They run on the thread that is in ``BusConnection/run(_:)``.
public final class BusExecutor: SerialExecutor {
    private let jobs = Mutex<[UnownedJob]>([])
    private let outbox: BusOutbox

    init(_ outbox: BusOutbox) { self.outbox = outbox }

    /// Takes a job from the runtime.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        if !outbox.isHere { outbox.wake() }
    }

    /// Ends the program on any thread but the bus's own.
    public func checkIsolated() { precondition(outbox.isHere, "not on the thread of the bus") }

    /// Runs what is there, and what comes of it.
    func run() {
        while true {
            let taken = jobs.withLock { jobs in
                defer { jobs = [] }
                return jobs
            }
            guard !taken.isEmpty else { return }
            for job in taken { unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }
        }
    }
}
