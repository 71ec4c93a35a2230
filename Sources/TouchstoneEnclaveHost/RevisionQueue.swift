import Foundation
import TouchstoneEnclave

/// Has a ``RevisionCounter`` count after the state's revisions, one attempt at a time, while nobody holds the enclave's turn.
///
/// What was asked for during an attempt is one attempt more, however often it was. An attempt that fails is not repeated by itself: the
/// next change asks again.
///
/// > Concurrency: Unchecked, as `condition` guards all that changes.
final class RevisionQueue: @unchecked Sendable {
    private let counter: any RevisionCounter
    private let report: @Sendable (String) -> Void
    private let attempts = DispatchQueue(label: "io.touchstone.enclave.revision")
    private let condition = NSCondition()
    /// The highest that was asked for.
    private var wanted: UInt64
    /// The highest that an attempt was made for, and whether the last one succeeded.
    private var tried: UInt64
    private var isBehind = false
    private var isRunning = false

    /// Begins where the counter is: at `revision`.
    init(_ counter: any RevisionCounter, at revision: UInt64, report: @escaping @Sendable (String) -> Void) {
        self.counter = counter
        self.report = report
        (wanted, tried) = (revision, revision)
    }

    /// Asks for `revision`, which is on the disk; does not wait.
    func advance(to revision: UInt64) {
        let isFirst = condition.withLock {
            wanted = max(wanted, revision)
            defer { isRunning = true }
            return !isRunning
        }
        if isFirst { attempts.async { while let due = self.due() { self.attempt(due) } } }
    }

    private func due() -> UInt64? {
        condition.withLock {
            isRunning = wanted > tried
            return isRunning ? wanted : nil
        }
    }

    /// Returns once an attempt has been made for `revision`; whether it is remembered.
    ///
    /// Takes as long as the counter: for a TPM that says nothing, the limits of two attempts.
    @discardableResult
    func settle(_ revision: UInt64) -> Bool {
        condition.withLock {
            // A revision whose write failed is asked for by nobody.
            let due = min(revision, wanted)
            while tried < due { condition.wait() }
            return !isBehind
        }
    }

    /// The same for all that was asked for.
    func settle() { settle(condition.withLock { wanted }) }

    private func attempt(_ revision: UInt64) {
        var failure: (any Error)?
        do {
            try counter.advance(to: revision)
        } catch {
            failure = error
        }
        // A counter that lags tells fewer old states, and refuses no new one.
        if let failure, !condition.withLock({ isBehind }) {
            report(
                "the revision of the state is not remembered; an older one that is put back may not be told: \(failure)"
            )
        }
        condition.withLock {
            isBehind = failure != nil
            tried = revision
            condition.broadcast()
        }
    }
}
