internal import Foundation
internal import Glibc

/// Signals that end a program, after what it has to do first.
public enum EndingSignals {
    /// Has these signals run a body, instead of ending the program at once.
    ///
    /// To be called before any thread is started: each thread has the signals blocked that its maker had.
    ///
    /// - Parameters:
    ///   - numbers: Of the signals.
    ///   - end: Run once, on a thread of its own.
    public static func wait(for numbers: [Int32], _ end: @escaping @Sendable () -> Never) {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for number in numbers { unsafe sigaddset(&signals, number) }
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
        let waited = signals
        Thread.detachNewThread {
            var waited = waited
            var received: Int32 = 0
            _ = unsafe sigwait(&waited, &received)
            end()
        }
    }
}
