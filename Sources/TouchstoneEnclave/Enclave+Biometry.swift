import Crypto
import Foundation
package import TouchstoneCore
import TouchstoneLog
import TouchstoneMemory

extension Enclave {
    var isEnrolled: Bool { !state.templates.isEmpty }

    /// Whether only the passcode helps now: five non-matches (EV-26), or one of the states of PC-20.
    func isBiometryLockedOut(now: Double) -> Bool {
        state.biometryFailures >= Limits.biometryFailures || sensor.isSuspended
            || (isPasscodeSet && isPasscodeRequired(now: now))
    }

    /// PC-20: not used since boot, or since a lock that asked for it; too long without an unlock; too long without the passcode and
    /// without a finger.
    private func isPasscodeRequired(now: Double) -> Bool {
        guard let fingersEnd = screenLock.fingersEnd(policy) else { return true }
        return now > fingersEnd
    }

    /// Why biometry cannot be used, in the order of the decision table (CE-02, CE-03).
    func biometryRefusal(now: Double) -> RefusalCause? {
        guard let status = sensor.status else { return .noSensor }
        if status.problem != nil { return .sensorUnavailable }
        if !isEnrolled { return notEnrolled }
        guard isPasscodeSet else { return .passcodeNotSet }
        if state.biometryFailures >= Limits.biometryFailures { return .biometryLockedOut }
        if sensor.isSuspended { return .biometrySuspended }
        return isPasscodeRequired(now: now) ? .passcodeRequired : nil
    }

    /// The same, as the code of an evaluation.
    func biometryObstacle(now: Double) -> AuthenticationFailure? { biometryRefusal(now: now)?.failure }

    /// Nobody is enrolled, by the words of the sensor.
    var notEnrolled: RefusalCause { hasFaceID ? .noFaceEnrolled : .notEnrolled }

    /// DS-01…05.
    ///
    /// differs by app, changes with every enrolment, never comes back. 32 bytes.
    func domainState(app: AppIdentifier) -> Data? {
        guard isEnrolled else { return nil }
        var code = HMAC<SHA256>(key: deviceKey.derive("domain state").symmetricKey)
        let name = Data(app.utf8)
        code.update(data: Data("\(name.count) ".utf8))
        code.update(data: name)
        code.update(data: Data(state.database.identifier.uuidString.utf8))
        code.update(data: state.database.hash)
        return Data(code.finalize())
    }

    // MARK: enrolment

    package mutating func enroll(_ name: String, sample: Sample) throws(Refused) {
        guard (1...Limits.fingerNameBytes).contains(name.utf8.count) else { throw .init(.invalidName) }
        guard sensor.works else { throw .init(.noSensor) }
        // PC-23
        guard isPasscodeSet else { throw .init(.passcodeNotSet) }
        guard state.templates.count < Limits.fingers[state.biometryType, default: 0] else {
            throw .init(.tooManyFingers)
        }
        let digest = digest(of: sample)
        guard !state.templates.contains(where: { $0.digest == digest || $0.name == name }) else {
            throw .init(.fingerAlreadyEnrolled)
        }
        if !isEnrolled { state.database.identifier = random.uuid() }
        state.templates.append(.init(name: name, digest: digest))
        note(LogFact(event: .biometryEnrolled, factors: biometryFactor))
        enrolmentChanged()
    }

    package mutating func removeFinger(_ name: String) throws(Refused) {
        guard let index = state.templates.firstIndex(where: { $0.name == name }) else { throw .init(.noSuchFinger) }
        state.templates.remove(at: index)
        note(LogFact(event: .biometryRemoved, factors: biometryFactor))
        enrolmentChanged()
    }

    mutating func enrolmentChanged() {
        state.database.changes += 1
        var hash = SHA256()
        hash.update(data: state.database.hash)
        hash.update(data: Data("\(state.database.changes)".utf8))
        for template in state.templates { hash.update(data: template.digest) }
        state.database.hash = Data(hash.finalize())
        contexts.forgetBiometry()
        evaluation?.proven.biometry = nil
        // PC-22, PC-33: whoever enrolled a finger behind the lock screen did not give the passcode for it.
        screenLock.discardHeld()
    }

    func digest(of sample: Sample) -> Data {
        let key = deviceKey.derive("templates").symmetricKey
        return Data(HMAC<SHA256>.authenticationCode(for: sample.bytes, using: key))
    }

    // MARK: a touch

    /// Judges one simulated touch.
    package mutating func touch(_ sample: Sample, now: Double) -> (Touch, [EnclaveEvent]) {
        // Nobody sees it.
        guard sensor.status?.problem == nil else { return (.notWaiting, []) }
        let digest = digest(of: sample)
        return touch(matches: state.templates.contains { $0.digest == digest }, now: now)
    }

    /// Judges one touch: for the evaluation that waits, else for the lock screen.
    mutating func touch(matches: Bool, now: Double) -> (Touch, [EnclaveEvent]) {
        evaluation?.hint = nil
        if let evaluation, awaitsTouch(evaluation, now: now) {
            // PC-20: time goes by before a prompt too, and fingers are removed.
            if let cause = biometryRefusal(of: evaluation, now: now) {
                return (.passcodeRequired, biometryRefused(cause, now: now))
            }
            return matches ? (.matched, matched(now: now)) : (.notMatched, notMatched(now: now))
        }
        guard isLocked, evaluation == nil else { return (.notWaiting, []) }
        discardHeldKeysIfPasscodeRequired(now: now)
        guard isEnrolled, !screenLock.held.isEmpty else { return (.passcodeRequired, []) }
        guard matches else {
            state.biometryFailures += 1
            noteNonMatch(app: nil)
            discardHeldKeysIfPasscodeRequired(now: now)
            return (.notMatched, [])
        }
        keys.merge(screenLock.unlock(byFingerOf: state.database.hash, now: now))
        state.biometryFailures = 0
        note(LogFact(event: .unlocked, factors: biometryFactor))
        return (.unlocked, [])
    }

    /// PC-33: once only the passcode helps, nothing is held for a finger.
    package mutating func discardHeldKeysIfPasscodeRequired(now: Double) {
        if isBiometryLockedOut(now: now) { screenLock.discardHeld() }
    }

    /// The time after which something about the sensor changes although nothing happens; nil: nothing does.
    package func nextLimit(now: Double) -> Double? {
        let touches = evaluation?.touchesFrom.flatMap { $0 > now ? $0 : nil }
        return [touches, heldLimit(now: now)].compactMap { $0 }.min()
    }

    /// The time after which the next of what is there for a finger ends; nil: nothing is.
    private func heldLimit(now: Double) -> Double? {
        guard !screenLock.held.isEmpty, let fingersEnd = screenLock.fingersEnd(policy) else { return nil }
        guard let sensorEnd = screenLock.sensorEnd, sensorEnd > now else { return fingersEnd }
        return min(fingersEnd, sensorEnd)
    }

    /// For a touch whose outcome could not be kept: without the count there is no limit to tries, so there are none.
    package mutating func suspendBiometry(now: Double) -> [EnclaveEvent] {
        sensor.suspend()
        screenLock.discardHeld()
        guard let phase = evaluation?.phase, [.permission, .biometry, .retry].contains(phase) else { return [] }
        return biometryRefused(.biometrySuspended, now: now)
    }

    // MARK: lock screen

    /// Locks because a program asks for it; one that does so again and again would lock the owner out, and is not heard for a while.
    ///
    /// Where fingers are simulated, programs can do as much in other ways: such a device has no limit.
    package mutating func lockForProgram(
        requiresPasscode: Bool, by caller: AppIdentifier?, now: Double
    ) -> (Result<Void, Refused>, [EnclaveEvent]) {
        let changes = isPasscodeSet && (!isLocked || requiresPasscode && !screenLock.isPasscodeAsked)
        if changes, !state.isSimulated || state.sensor != nil {
            guard screenLock.takeLockByProgram(now: now) else {
                note(
                    LogFact(
                        event: .callRefused, app: caller, result: RefusalCause.lockedTooOften.rawValue,
                        isRepeatable: true))
                return (.failure(Refused(.lockedTooOften)), [])
            }
        }
        return (.success(()), lock(requiresPasscode: requiresPasscode, by: caller, now: now))
    }

    /// Locks; a device without a passcode stays as it is (KC-22), and for one that is locked the sensor looks again for a while.
    ///
    /// Ends the evaluation that runs with -4 (EV-52). With `requiresPasscode` no finger unlocks it again (PC-20), also where it is
    /// locked already.
    package mutating func lock(requiresPasscode: Bool = false, by caller: AppIdentifier? = nil, now: Double)
        -> [EnclaveEvent]
    {
        if requiresPasscode { screenLock.askForPasscode() }
        guard isPasscodeSet, screenLock.lock(now: now) else { return [] }
        note(LogFact(event: .locked, by: caller))
        backup = nil
        let classA = keys.remove { $0.availability == .unlocked }
        if isEnrolled, !isBiometryLockedOut(now: now) { screenLock.hold(classA) }
        forgetProofs()
        return evaluation == nil ? [] : endEvaluation(.refused(.lockedMeanwhile))
    }
}
