import TouchstoneCore

/// The application passwords that wait to be stretched, or are, and what apps have tried in vain (AC-46, AC-48).
///
/// Gone with the process. What comes of the stretching is a context's, see ``Contexts``.
struct ApplicationPasswords {
    /// What one app has tried in vain, one after the other.
    private struct Guesses {
        var count = 0
        /// Until then no other password is taken from the app.
        var retryAt: Double?
    }

    private var jobs: [AppIdentifier: Int] = [:]
    private var guesses: [AppIdentifier: Guesses] = [:]

    // MARK: stretching

    /// Whether another of this app's may wait.
    func hasRoom(for app: AppIdentifier) -> Bool {
        jobs[app, default: 0] < Enclave.Limits.credentialJobsPerApp
            && jobs.values.reduce(0, +) < Enclave.Limits.credentialJobs
    }

    mutating func beginJob(of app: AppIdentifier) { jobs[app, default: 0] += 1 }

    mutating func endJob(of app: AppIdentifier) {
        let left = jobs[app, default: 0] - 1
        jobs[app] = left > 0 ? left : nil
    }

    // MARK: guesses

    func hasGuessed(_ app: AppIdentifier) -> Bool { guesses[app] != nil }

    /// Seconds until the app's next is taken; nil: now.
    func retryAfter(_ app: AppIdentifier, now: Double) -> Double? {
        guard let retryAt = guesses[app]?.retryAt, retryAt > now else { return nil }
        return retryAt - now
    }

    /// Counts a guess that opened nothing.
    ///
    /// - Returns: Whether the app's next has to wait.
    mutating func failed(_ app: AppIdentifier, policy: PasscodePolicy, now: Double) -> Bool {
        var own = guesses[app] ?? Guesses()
        own.count = min(own.count + 1, policy.maximumFailures - 1)
        let delay = policy.delay(afterFailures: own.count)
        own.retryAt = delay > 0 ? now + delay : nil
        if guesses[app] == nil, guesses.count >= Enclave.Limits.guessingApps,
            let fewest = guesses.min(by: { $0.value.count < $1.value.count })?.key
        {
            guesses[fewest] = nil
        }
        guesses[app] = own
        return delay > 0
    }

    /// The app's next wrong one is the first again.
    mutating func worked(_ app: AppIdentifier) { guesses[app] = nil }

    /// The device is as new: what is being stretched goes on.
    mutating func forgetGuesses() { guesses = [:] }
}
