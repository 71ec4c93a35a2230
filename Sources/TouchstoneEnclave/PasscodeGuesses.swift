import TouchstoneCore
import TouchstoneMemory

/// The guess at the passcode that is being looked at, and what the last wrong one leaves (PC-01, PC-02).
///
/// Gone with the process. How many were wrong in a row is in the kept state.
struct PasscodeGuesses {
    /// Whether one is being looked at: one at a time.
    private(set) var isBusy = false
    /// The last wrong passcode: the same one again is not counted again.
    private(set) var lastWrong: SecretBytes?
    /// Who sent the one that is being looked at, as touchstoned says; for the log.
    private(set) var guesser: AppIdentifier?
    private var retryAt: Double?

    /// Seconds until the next is looked at; nil: now.
    func retryAfter(now: Double) -> Double? {
        guard let retryAt, retryAt > now else { return nil }
        return retryAt - now
    }

    /// - Returns: False where another is being looked at.
    mutating func begin() -> Bool {
        defer { isBusy = true }
        return !isBusy
    }

    mutating func begun(by guesser: AppIdentifier?) { self.guesser = guesser }

    /// It is looked at no longer, whatever came of it.
    mutating func end() { isBusy = false }

    /// The next has to wait for so many seconds; 0: it need not.
    mutating func delayNext(by seconds: Double, now: Double) { retryAt = seconds > 0 ? now + seconds : nil }

    /// - Returns: Whether it is the same as the one before.
    mutating func wasWrong(_ tag: SecretBytes) -> Bool {
        if let lastWrong, lastWrong.isEqual(to: tag) { return true }
        lastWrong = tag
        return false
    }

    mutating func wasRight() {
        retryAt = nil
        lastWrong = nil
    }
}
