package import Foundation
import Synchronization
import TouchstoneCore
package import TouchstoneEnclave
import TouchstoneLog
import TouchstoneTransport

/// Runs one ``Enclave``: gives it the time, keeps its state, carries out the slow derivations, and tells who waits what happened.
///
/// State is on disk before anybody hears of it. No lock is held while a passcode is derived, the counter counts or an event is told.
package final class EnclaveHost: Sendable {
    private let enclave: Mutex<Enclave>
    private let storage: any EnclaveStorage
    let clock: AdvancedClock
    let random: any RandomSource
    private let counter: RevisionQueue?
    private let newPasscodeCost: @Sendable () -> PasscodeCost
    let report: @Sendable (String) -> Void
    private let derivations = DispatchQueue(label: "io.touchstone.enclave.passcode")
    let credentials = DispatchQueue(label: "io.touchstone.enclave.credentials")
    let credentialTurns = Turns(.init(total: 1))
    let heldKeys = DispatchQueue(label: "io.touchstone.enclave.held-keys")
    private let heldKeyJobs = Mutex(0)
    private let events = DispatchQueue(label: "io.touchstone.enclave.events")
    private let isCountTimed = Mutex(false)
    /// What the root of trust was last told to keep; nil: not known.
    private let keptGate = Mutex<Data??>(nil)
    /// Whether the file is the state's: after a write that failed nobody can say.
    private let isOnDisk = Mutex(true)
    /// What the last timer was set for.
    private let nextLimit = Mutex<Double?>(nil)
    /// Seconds: timers may stand still while the machine sleeps, which the clock does not.
    private static let longestSleep = 600.0
    private let watcher = Mutex(Watcher())
    private let makeSensor: (@Sendable (SensorSource) -> any Sensor)?
    private let sensor = Mutex<(any Sensor)?>(nil)

    /// In a struct: alone in a `Mutex` a closure is wrapped anew each time it is looked at.
    private struct Watcher {
        var tell: (@Sendable (EnclaveEvent) -> Void)?
    }

    /// Boots.
    ///
    /// The counter remembers the state's revisions; without one an older state that is put back is not told from the newest.
    /// `report` is told what the owner should know, for the daemon's own log. `makeSensor` makes what ``startSensor()`` starts; without it
    /// only ``start(_:)`` starts one. `touchDelay` is how many seconds after a prompt is
    /// shown the sensor counts for it.
    ///
    /// - Throws: `EnclaveStateError`, or what the storage, the root of trust and the counter throw.
    package init(
        storage: any EnclaveStorage, root: any RootOfTrust, clock: any TimeSource,
        random: any RandomSource = KernelRandomness(),
        counter: (any RevisionCounter)? = nil, touchDelay: Double = Enclave.Limits.touchDelay,
        newPasscodeCost: @escaping @Sendable () -> PasscodeCost,
        makeSensor: (@Sendable (SensorSource) -> any Sensor)? = nil,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws {
        self.storage = storage
        self.clock = AdvancedClock(clock)
        self.random = random
        self.newPasscodeCost = newPasscodeCost
        self.makeSensor = makeSensor
        self.report = report
        let booted = try Enclave(
            stateFile: storage.load(), root: root, random: random, now: clock.now, touchDelay: touchDelay)
        let revision = booted.revision
        if let counter {
            // PC-34. A state that is newer than what is remembered was written, and the process ended before it was remembered.
            if let seen = try counter.read(), seen > revision { throw EnclaveStateError.rolledBack }
            try counter.advance(to: revision)
        }
        self.counter = counter.map { RevisionQueue($0, at: revision, report: report) }
        enclave = Mutex(booted)
        keepGate()
        // An erasure that was prevented. Where the disk still does not take it no passcode is looked at, and the next boot tries again.
        try? change(usesReserve: true) { ((), try $0.eraseIfDue(now: $1)) }
    }

    /// The enclave's state could not be written to the disk.
    ///
    /// Nothing changed, and nobody was told anything else.
    package struct NotKept: Error {}

    /// Returns once the counter has tried to remember all that is kept: before the process ends.
    package func settle() { counter?.settle() }

    package func watch(_ watcher: (@Sendable (EnclaveEvent) -> Void)?) {
        self.watcher.withLock { $0.tell = watcher }
    }

    package func passcodePublicKey() throws -> Data {
        try enclave.withLock { try $0.passcodePublicKey() }
    }

    /// Returns once the enclave has a turn for whoever asks.
    package var answers: Bool { read { _, _ in true } }

    package var isSimulated: Bool { read { enclave, _ in enclave.isSimulated } }

    /// The sensor of the device's own; nil: its fingers are simulated, or it has no sensor.
    package var sensorSource: SensorSource? { read { enclave, _ in enclave.sensorSource } }

    /// Whether its fingers are simulated: for tests, which go on while their developer's screen is locked.
    package var hasSimulatedSensor: Bool { read { enclave, _ in enclave.hasSimulatedSensor } }

    /// Begins to use the sensor of the device's own, if it has one and does not use it yet.
    package func startSensor() {
        guard let makeSensor, let source = sensorSource, sensor.withLock({ $0 == nil }) else { return }
        start(makeSensor(source))
    }

    /// Begins to use a device's own sensor: until then it has none that works.
    package func start(_ sensor: any Sensor) {
        self.sensor.withLock { $0 = sensor }
        sensor.start(for: self)
        lookAtSensor()
    }

    /// Has the sensor say who is enrolled, as far as it does at once: what is decided next counts with it (DS-03).
    ///
    /// All apps' calls come one after the other, so that what takes long is not waited for.
    func lookAtSensor() {
        sensor.withLock { $0 }?.refresh(within: 0.5)
    }

    /// The same before what was proven to a context counts: without a finger's proof it is the same whoever is enrolled.
    func lookAtSensor(for context: String?) {
        guard let context, read({ enclave, _ in enclave.hasProvenBiometry(context) }) else { return }
        lookAtSensor()
    }

    /// The same before it is asked for what a finger can prove.
    func lookAtSensor(for requirement: Requirement) {
        if requirement.proofs.contains(where: \.isMetByBiometry) { lookAtSensor() }
    }

    /// Looks without changing anything.
    func read<R: Sendable, E>(_ body: (Enclave, Double) throws(E) -> R) throws(E) -> R {
        try enclave.withLock { enclave throws(E) in
            enclave.forgetLapsedProofs(now: clock.now)
            return try body(enclave, clock.now)
        }
    }

    /// Changes what needs no write: what is lost of it with the process is found again.
    func changeInMemory<R: Sendable>(_ body: (inout Enclave) throws -> R) rethrows -> R {
        try enclave.withLock { enclave in
            enclave.forgetLapsedProofs(now: clock.now)
            return try body(&enclave)
        }
    }

    /// Changes the enclave; keeps what must be kept; then tells the events.
    ///
    /// The counter follows by itself. With `isRemembered` the events are told once it did or could not: not to be asked for by a call,
    /// behind which all apps' calls wait. The log's lines never wait, as they are in their order. With `usesReserve` a full disk takes the
    /// state too: for guesses at the passcode, and what follows from them; others leave them so many `spares`. What is not `counted` keeps
    /// the state's revision.
    ///
    /// - Throws: `NotKept` where the state could not be written, after which nothing has changed; what `body` throws.
    @discardableResult
    func change<R: Sendable>(
        isRemembered: Bool = false, usesReserve: Bool = false, leaving spares: Int = 0,
        counted: (Enclave, Double) -> Bool = { _, _ in true },
        _ body: (inout Enclave, Double) throws -> (R, [EnclaveEvent])
    ) throws -> R {
        let (result, happened, isCounting, isOtherAwaited, revision) = try enclave.withLock {
            enclave -> (R, [EnclaveEvent], Bool, Bool, UInt64) in
            enclave.forgetLapsedProofs(now: clock.now)
            var next = enclave
            let isCounted = counted(enclave, clock.now)
            var (result, happened) = try body(&next, clock.now)
            next.discardHeldKeysIfPasscodeRequired(now: clock.now)
            let changed = next.environmentEvents(now: clock.now)
            let lines = next.log.lines(now: clock.now, date: clock.date)
            if !lines.isEmpty { happened.insert(.logged(lines), at: 0) }
            if !next.isKept(as: enclave) {
                let revision = enclave.revision + (isCounted ? 1 : 0)
                next.prepare(revision: revision)
                do {
                    let file = try next.stateFile()
                    if usesReserve {
                        try storage.replaceWithReserve(file, leaving: spares)
                    } else {
                        try storage.replace(file)
                    }
                    isOnDisk.withLock { $0 = true }
                } catch {
                    isOnDisk.withLock { $0 = false }
                    enclave.skipRevision()
                    throw NotKept()
                }
                // After the state: the other way round, ending the process in between would make the newest state look old.
                counter?.advance(to: revision)
            }
            // By time alone it may be another than at the last look.
            let isOtherAwaited = next.awaitsAnotherTouch(than: enclave, now: clock.now)
            enclave = next
            wakeLater(at: next.nextLimit(now: clock.now))
            return (result, happened + changed, enclave.log.isCounting, isOtherAwaited, next.revision)
        }
        if isRemembered, let counter {
            tell(happened.filter { $0.isOfLog })
            counter.settle(revision)
            keepGate()
            tell(happened.filter { !$0.isOfLog })
        } else {
            tell(happened)
        }
        if isCounting { tellCountsLater() }
        if isOtherAwaited { sensor.withLock { $0 }?.wake() }
        return result
    }

    /// Has the time looked at again once it is over what time alone ends (PC-33), in a process that sleeps with its machine too.
    private func wakeLater(at limit: Double?) {
        let isNew = nextLimit.withLock { next in
            defer { next = limit }
            return next != limit
        }
        guard isNew, let limit else { return }
        let seconds = min(max(limit - clock.now, 0) + 0.01, Self.longestSleep)
        events.asyncAfter(deadline: .now() + seconds) { [weak self] in self?.timePassed() }
    }

    private func timePassed() {
        nextLimit.withLock { $0 = nil }
        // Nothing of it needs to be kept.
        try? change { _, _ in ((), []) }
    }

    /// Moves the clock forward; what apps may know of the device can be another by then.
    ///
    /// - Throws: `AdvancedClock.InvalidDuration`; `NotKept`.
    func advanceClock(by seconds: Double) throws {
        try clock.advance(by: seconds)
        nextLimit.withLock { $0 = nil }
        try change { _, _ in ((), []) }
    }

    /// Changes the log alone, which needs no write of the state: a line costs nobody a wait for the disk.
    func log(_ body: (inout LogChain, Double, Date) -> [String]) {
        let (lines, isCounting) = enclave.withLock { enclave in
            (body(&enclave.log, clock.now, clock.date), enclave.log.isCounting)
        }
        if !lines.isEmpty { tell([.logged(lines)]) }
        if isCounting { tellCountsLater() }
    }

    /// As `log`, and keeps where it ends then; a state that cannot be written is no reason to stop.
    func keepingLog(_ body: (inout LogChain, Double, Date) -> [String]) {
        let lines = enclave.withLock { enclave in
            let lines = body(&enclave.log, clock.now, clock.date)
            var next = enclave
            next.prepare(revision: next.revision)
            if let file = try? next.stateFile(), (try? storage.replace(file)) != nil { enclave = next }
            return lines
        }
        if !lines.isEmpty { tell([.logged(lines)]) }
    }

    /// Counts are told when their time is over, also where nothing else happens.
    private func tellCountsLater() {
        let isFirst = isCountTimed.withLock { isTimed in
            defer { isTimed = true }
            return !isTimed
        }
        guard isFirst else { return }
        events.asyncAfter(deadline: .now() + LogChain.Limits.window) { [weak self] in
            guard let self else { return }
            isCountTimed.withLock { $0 = false }
            log { log, now, date in log.lines(now: now, date: date) }
        }
    }

    /// Whether another one may wait for the hardware.
    func beginHeldKeyJob() -> Bool {
        heldKeyJobs.withLock { jobs in
            guard jobs < Self.maximumHeldKeyJobs else { return false }
            jobs += 1
            return true
        }
    }

    func endHeldKeyJob() { heldKeyJobs.withLock { $0 -= 1 } }

    /// Uses of keys that wait for the hardware, of all apps.
    private static let maximumHeldKeyJobs = 256

    func tell(_ happened: [EnclaveEvent]) {
        guard !happened.isEmpty, let tell = watcher.withLock({ $0.tell }) else { return }
        events.async { for event in happened { tell(event) } }
    }

    @discardableResult
    package func touch(_ sample: Sample) throws -> Enclave.Touch {
        try judgeTouch { $0.touch(sample, now: $1) }
    }

    private func judgeTouch<R: Sendable>(_ verdict: (inout Enclave, Double) -> (R, [EnclaveEvent])) throws -> R {
        do {
            return try change(verdict)
        } catch let error as NotKept {
            // In memory only: nothing of it is kept, and none of it needs to be.
            tell(
                enclave.withLock { enclave in
                    enclave.suspendBiometry(now: clock.now) + enclave.environmentEvents(now: clock.now)
                })
            sensor.withLock { $0 }?.wake()
            throw error
        }
    }

    // MARK: passcodes

    /// Begins a job in the enclave's turn, derives outside of it, and ends the job in another turn.
    ///
    /// `caller` is who sent what was typed, for the log.
    func derive(
        ticket: String, by caller: Enclave.Caller? = nil,
        _ begin: (inout Enclave, Double) throws(Enclave.Refused) -> PasscodeJob
    ) throws {
        // A refusal is a result here, not an error that would undo the turn: the nonce is used up all the same.
        let begun: Result<PasscodeJob, Enclave.Refused> = try change(usesReserve: true) { enclave, now in
            do throws(Enclave.Refused) {
                let job = try begin(&enclave, now)
                enclave.guessed(by: caller?.app)
                return (.success(job), [])
            } catch {
                enclave.note(
                    LogFact(
                        event: .passcodeRejected, by: caller?.app, result: "refused: \(error.reason.rawValue)",
                        isRepeatable: true))
                return (.failure(error), enclave.passcodeRefused(error.reason, evaluation: ticket, now: now))
            }
        }
        let job = try begun.get()
        derivations.async { [self] in
            // Then somebody may have heard the answer: what fails before the verdict gives no guess back.
            var isAnswered = false
            do {
                try finish(job, ticket: ticket) { isAnswered = true }
                // With this passcode the owner may have added it.
                startSensor()
            } catch is ErasureNotKept {
                abandon(job, ticket: ticket, .notKept, isRefunded: false)
            } catch let error as PasscodeGuardError {
                report("no passcode can be looked at: \(error)")
                abandon(
                    job, ticket: ticket, error.isLockedOut ? .tpmLockedOut : .tpmUnavailable,
                    isRefunded: !error.wasAsked && !isAnswered)
            } catch is NotKept {
                // A wrong one leaves nothing more to keep: this was the right one, or the same wrong one again.
                abandon(job, ticket: ticket, .notKept, isRefunded: true)
            } catch {
                abandon(job, ticket: ticket, .busy, isRefunded: !isAnswered)
            }
        }
    }

    /// Has the root of trust destroy every passcode's gate but the one in the state, where that is on the disk.
    ///
    /// Passcodes' own queue and the boot alone come here: no gate is being closed meanwhile.
    private func keepGate() {
        let (guardian, closed) = read { enclave, _ in (enclave.root.passcodeGuard, enclave.closedGate)
        }
        guard let guardian, keptGate.withLock({ $0 != .some(closed) }), isOnDisk.withLock({ $0 }) else { return }
        do {
            try guardian.keep(closed)
            keptGate.withLock { $0 = .some(closed) }
        } catch {
            report("what an earlier passcode opened is still in the TPM; the next boot tries again: \(error)")
        }
    }

    /// Ends a job that was never judged.
    ///
    /// The guess is given back where that can be kept; otherwise it stays counted, with its delay (PC-01).
    private func abandon(
        _ job: PasscodeJob, ticket: String, _ reason: Enclave.RefusalReason, isRefunded: Bool
    ) {
        // One that was closed for a new passcode came to nothing.
        keepGate()
        let refused = EnclaveEvent.answered(ticket: ticket, .refused(reason))
        do {
            try change(usesReserve: true) { enclave, now in
                enclave.abandon(job, isRefunded: isRefunded, now: now)
                return ((), [refused] + enclave.progressEvent(of: ticket, now: now))
            }
        } catch {
            tell(
                enclave.withLock { enclave in
                    enclave.abandon(job, isRefunded: false, now: clock.now)
                    return [refused] + enclave.progressEvent(of: ticket, now: clock.now)
                })
        }
    }

    private func finish(_ job: PasscodeJob, ticket: String, answered: () -> Void) throws {
        // The guess is on the disk, and an older disk would not be told: whoever keeps the counter from counting gets no guess for it.
        let (counted, root, recoveryKey) = read { enclave, _ in (enclave.revision, enclave.root, enclave.recoveryKey) }
        if let counter, !counter.settle(counted), job.isGated {
            throw PasscodeGuardError("the count of wrong ones would not be remembered", wasAsked: false)
        }
        let currentKey = try job.currentKey(answered: answered)
        let new = try job.newPasscode(cost: newPasscodeCost, root: root, recoveryKey: recoveryKey, random: random)
        if new != nil { keptGate.withLock { $0 = nil } }
        try judge { try $0.finish(job, ticket: ticket, currentKey: currentKey, new: new, now: $1) }
    }

    /// The last guess was wrong, and the disk does not take what follows: it stays counted, or such a disk would give another.
    private struct ErasureNotKept: Error {}

    /// Gives a verdict, and does in the same turn what it leads to (PC-02).
    private func judge(_ verdict: (inout Enclave, Double) throws -> [EnclaveEvent]) throws {
        var isErasure = false
        do {
            try change(isRemembered: true, usesReserve: true) { enclave, now in
                let events = try verdict(&enclave, now)
                isErasure = enclave.isErasureDue
                return ((), try enclave.eraseIfDue(before: events, now: now))
            }
        } catch is NotKept where isErasure {
            throw ErasureNotKept()
        }
    }
}

extension EnclaveHost {
    /// Locks because the owner's login session was locked, or the machine goes to sleep: nobody between here and the login service can
    /// prevent it.
    ///
    /// Its unlocking opens nothing: that the session's own lock screen was opened is another program's word, not a proof of the owner's.
    package func lockWithSession() {
        let lock = { @Sendable (enclave: inout Enclave, now: Double) -> [EnclaveEvent] in
            let wasLocked = enclave.isLocked
            let events = enclave.lock(now: now)
            return enclave.isLocked == wasLocked ? events : [.locked] + events
        }
        do {
            try change { ((), lock(&$0, $1)) }
        } catch {
            // A disk that is full keeps nobody from locking: what is lost is a line of the log.
            tell(
                enclave.withLock { enclave in
                    lock(&enclave, clock.now) + enclave.environmentEvents(now: clock.now)
                })
        }
    }
}

extension EnclaveHost: SensorOwner {
    package var awaitedTouch: String? { read { $0.awaitedTouch(now: $1) } }

    package var knownReader: SensorReader? { read { enclave, _ in enclave.knownReader } }

    package func isLockScreen(_ awaited: String) -> Bool { awaited == Enclave.lockScreen }

    @discardableResult
    package func hear(_ report: SensorReport) -> Bool {
        (try? judgeTouch { enclave, now in (true, enclave.hear(report, now: now)) }) ?? false
    }
}

extension EnclaveEvent {
    fileprivate var isOfLog: Bool { if case .logged = self { true } else { false } }
}
