import BridgeProcesses
import Foundation
import Glibc
import Synchronization

/// Ends this program, and what it started, when gpg-agent does not wait any more.
enum Departure {
    private static let child = Atomic<Int32>(0)
    private static let isAwaited = Atomic<Bool>(false)
    /// How often it looks whether gpg-agent is there, while somebody is asked.
    private static let interval: UInt32 = 250_000

    /// The process that goes as well; 0 for none.
    static func takesAlong(_ process: Int32) { child.store(process, ordering: .sequentiallyConsistent) }

    /// Begins to look.
    ///
    /// To be called before any thread is started.
    static func watch() {
        EndingSignals.wait(for: [SIGTERM, SIGINT, SIGHUP]) { leave() }
        Thread.detachNewThread {
            while true {
                usleep(interval)
                guard isAwaited.load(ordering: .sequentiallyConsistent) else { continue }
                var input = pollfd(fd: 0, events: 0, revents: 0)
                if unsafe poll(&input, 1, 0) > 0, isAwaited.load(ordering: .sequentiallyConsistent) { leave() }
            }
        }
    }

    /// Does what may wait for a person.
    static func whileAwaited<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        isAwaited.store(true, ordering: .sequentiallyConsistent)
        defer { isAwaited.store(false, ordering: .sequentiallyConsistent) }
        return try body()
    }

    /// The answer goes out now: whoever leaves after it has it.
    static func ends() { isAwaited.store(false, ordering: .sequentiallyConsistent) }

    private static func leave() -> Never {
        let process = child.load(ordering: .sequentiallyConsistent)
        if process > 0 { kill(process, SIGTERM) }
        _exit(0)
    }
}
