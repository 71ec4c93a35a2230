import CTouchstoneSystem
import Glibc

/// Signals that are waited for instead of handled.
///
/// Blocks them in this thread and in those it starts later.
struct SignalWait {
    private var signals = sigset_t()

    init(_ numbers: [Int32]) {
        unsafe sigemptyset(&signals)
        for number in numbers { unsafe sigaddset(&signals, number) }
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// The next signal; nil when none came within `limit` (nil: waits for ever).
    func next(within limit: Duration?) -> Int32? {
        var signals = signals
        guard let limit else {
            while true {
                let number = unsafe sigwaitinfo(&signals, nil)
                if number > 0 { return number }
            }
        }
        let deadline = ContinuousClock.now + limit
        while true {
            let left = max(.zero, deadline - .now)
            var time = timespec(
                tv_sec: Int(left.components.seconds), tv_nsec: Int(left.components.attoseconds / 1_000_000_000))
            let number = unsafe sigtimedwait(&signals, nil, &time)
            if number > 0 { return number }
            if errno != EINTR { return nil }
        }
    }
}
