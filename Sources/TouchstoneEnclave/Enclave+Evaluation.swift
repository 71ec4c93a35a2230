import Foundation
package import TouchstoneCore
import TouchstoneLog
import TouchstoneMemory

extension Enclave {
    /// The one evaluation that has the sensor (EV-53).
    struct Evaluation {
        var identifier: String
        var context: String
        var requirement: Requirement
        var isFallbackHidden: Bool
        var isFaceIDDescribed: Bool
        var phase: Phase
        /// When the sensor begins to count for it; nil as long as nobody shows it.
        var touchesFrom: Double?
        /// Non-matches in this evaluation.
        var failures = 0
        /// What the sensor asks of the owner.
        var hint: SensorHint?
        /// Whether the sensor could not be had for a time: a finger may help later, the owner need not wait for that.
        var wasSensorMissed = false
        /// No more biometry in this evaluation: its limit is reached, or the owner chose the passcode.
        var isBiometryOver = false
        var nonce: Data
        var wrongPasscode = false
        /// What the owner has proven in it: the context's once all of it is there, and nobody's if it ends otherwise.
        var proven = Proven()
        /// Seconds for which what is proven in it is good; nil: as long as the context (ND-4).
        var validFor: Double?
        /// For the log: who asked, for whom, and what the owner proved.
        var app: AppIdentifier
        var client: AppIdentifier?
        var factors: [LogFactor] = []
    }

    /// Non-matches that end biometry in one evaluation (section 2.1).
    private var failureLimit: Int { state.biometryType == .touchID ? 3 : 2 }

    // MARK: before

    package func preflight(_ request: EvaluationRequest, now: Double) -> Verdict {
        guard let identifier = request.context else { return ability(to: request, now: now) }
        return verdict(of: request, in: contexts[identifier], now: now)
    }

    private func verdict(of request: EvaluationRequest, in context: Context?, now: Double) -> Verdict {
        guard let context, context.app == request.app else { return .refused(.contextInvalidated) }
        if isMet(request.requirement, by: context.proven) { return .satisfied }
        if isReusable(request, now: now) {
            var proven = context.proven
            proven.biometry = state.database.hash
            if isMet(request.requirement, by: proven) { return .satisfied }
        }
        let ability = ability(to: request, now: now)
        // Behind the lock screen nothing is in the foreground (EV-05); what can be evaluated is another question (CE-04).
        return ability == .interactive && isLocked ? .refused(.deviceLocked) : ability
    }

    /// Whether it can be met on this device, whatever was proven.
    private func ability(to request: EvaluationRequest, now: Double) -> Verdict {
        if let cause = refusal(of: request, now: now) { return .refused(cause) }
        return request.requirement.proofs.isEmpty ? .satisfied : .interactive
    }

    /// Gives the context the biometry of the lock screen, where the window allows (EV-40, EV-43).
    package mutating func applyReuse(_ request: EvaluationRequest, now: Double) {
        guard let identifier = request.context, let context = contexts.context(identifier, of: request.app),
            !isMet(request.requirement, by: context.proven), isReusable(request, now: now)
        else { return }
        var proven = context.proven
        proven.add(
            Proven(biometry: state.database.hash, biometryUntil: Self.lapse(now: now, after: request.validFor)))
        guard isMet(request.requirement, by: proven) else { return }
        contexts.prove(proven, to: identifier)
    }

    /// EV-40…42: the lock screen was opened by biometry at most so many seconds ago; 300 at the most.
    ///
    /// An enrolment since then ends the window: whoever opened it need not be of the new set (EV-33). An app that may not use Face ID
    /// has nothing of it at the lock screen either.
    private func isReusable(_ request: EvaluationRequest, now: Double) -> Bool {
        guard request.reuseDuration > 0, !isLocked, let lastUnlock = screenLock.lastUnlock,
            lastUnlock.enrolment == state.database.hash,
            mayUseBiometry(request.app, isDescribed: request.isFaceIDDescribed)
        else { return false }
        return now - lastUnlock.time <= min(request.reuseDuration, 300)
    }

    /// Whether what was proven is enough.
    func isMet(_ requirement: Requirement, by proven: Proven) -> Bool {
        let isBiometry = isEnrolled && proven.biometry == state.database.hash
        func isGiven(_ proof: Proof) -> Bool {
            switch proof {
            case .presence: isBiometry && biometryMeets(proof) || proven.passcode
            case .biometryAny, .biometryCurrentSet: isBiometry && biometryMeets(proof)
            case .passcode: proven.passcode
            case .companion: false
            }
        }
        if requirement.proofs.isEmpty { return true }
        return requirement.anyOne
            ? requirement.proofs.contains(where: isGiven) : requirement.proofs.allSatisfy(isGiven)
    }

    /// Why the requirement cannot be met now (CE-02…05).
    private func refusal(of request: EvaluationRequest, now: Double) -> RefusalCause? {
        refusal(
            of: request.requirement,
            biometry: biometryRefusal(of: request.app, isFaceIDDescribed: request.isFaceIDDescribed, now: now))
    }

    /// The same, where it is known what stands in the way of biometry.
    func refusal(of requirement: Requirement, biometry: RefusalCause?) -> RefusalCause? {
        let causes = requirement.proofs.map { proof -> RefusalCause? in
            switch proof {
            case .presence, .passcode: isPasscodeSet ? nil : .passcodeNotSet
            case .biometryAny, .biometryCurrentSet: biometryMeets(proof) ? biometry : .sensorTooWeak
            case .companion: .noCompanion
            }
        }
        if requirement.anyOne, causes.contains(nil) { return nil }
        return causes.compactMap { $0 }.first
    }

    // MARK: during

    /// Looks as `preflight` does, and begins an evaluation where the owner has to act.
    ///
    /// Where nobody has to act, or it cannot be met, the evaluation before goes on.
    package mutating func beginEvaluation(_ start: EvaluationStart, now: Double) -> (Beginning, [EnclaveEvent]) {
        let identifier = start.context ?? random.identifier()
        let request = EvaluationRequest(
            context: identifier, app: start.app, requirement: start.requirement, reuseDuration: start.reuseDuration,
            isFaceIDDescribed: start.isFaceIDDescribed, validFor: start.validFor)
        let made = start.context == nil ? Context(app: start.app, accessGroups: start.accessGroups) : nil
        let verdict = verdict(of: request, in: made ?? contexts[identifier], now: now)
        note(request, verdict)
        if case .refused(let cause) = verdict { return (.refused(cause), []) }
        if let made { add(made, as: identifier) }
        guard verdict == .interactive else {
            applyReuse(request, now: now)
            return (.satisfied(context: identifier), [])
        }
        if let replaced = start.replaces, replaced != evaluation?.identifier { takeBack(replaced, .systemCancel) }
        var events = evaluation == nil ? [] : endEvaluation(.refused(.cancelledByAnother))
        var new = Evaluation(
            identifier: random.identifier(), context: identifier, requirement: start.requirement,
            isFallbackHidden: start.isFallbackHidden, isFaceIDDescribed: start.isFaceIDDescribed, phase: .biometry,
            nonce: nonce(), validFor: start.validFor, app: start.app, client: contexts[identifier]?.client)
        // The verdict found a way; where the end of the one before has closed it, the passcode phase refuses what it must.
        new.phase = nextPhase(new, now: now) ?? .passcode
        evaluation = new
        note(
            LogFact(
                event: .evaluationBegan, app: start.app, client: new.client, asked: start.requirement.logged,
                isRepeatable: true))
        if new.phase == .passcode, isPasscodeDisabled { events += endEvaluation(.refused(.passcodeDisabled)) }
        return (.begun(evaluation: new.identifier, context: identifier, progress(of: new, now: now)), events)
    }

    /// What the owner should do next, or nil where nothing more can help.
    private func nextPhase(_ evaluation: Evaluation, now: Double) -> Phase? {
        let proven = proven(with: evaluation)
        let biometryHelps =
            proven.biometry == nil && evaluation.requirement.proofs.contains(where: biometryMeets)
        if biometryHelps, !evaluation.isBiometryOver, biometryRefusal(of: evaluation, now: now) == nil {
            // CE-10: the first time that the app would use it.
            let isAsked = hasFaceID && contexts[evaluation.context].map { faceIDPermission(of: $0.app) } == .some(nil)
            return isAsked ? .permission : .biometry
        }
        if !proven.passcode, passcodeHelps(evaluation), !isPasscodeDisabled { return .passcode }
        return nil
    }

    func biometryRefusal(of evaluation: Evaluation, now: Double) -> RefusalCause? {
        biometryRefusal(
            of: contexts[evaluation.context]?.app ?? "", isFaceIDDescribed: evaluation.isFaceIDDescribed, now: now)
    }

    /// What the context would have if the evaluation succeeded now.
    private func proven(with evaluation: Evaluation) -> Proven {
        var proven = contexts[evaluation.context]?.proven ?? Proven()
        proven.add(evaluation.proven)
        return proven
    }

    private func passcodeHelps(_ evaluation: Evaluation) -> Bool {
        isPasscodeSet && evaluation.requirement.proofs.contains { $0 == .presence || $0 == .passcode }
    }

    /// Whether the passcode alone would complete the evaluation: what its fallback button then leads to (EV-18).
    private func fallbackIsPasscode(_ evaluation: Evaluation) -> Bool {
        guard passcodeHelps(evaluation) else { return false }
        var proven = proven(with: evaluation)
        proven.passcode = true
        return isMet(evaluation.requirement, by: proven)
    }

    /// The prompt is before the owner now, or no longer: the agent that showed it is gone.
    ///
    /// What was touched before that was meant for something else. Who says it is touchstoned; the time that follows is kept here.
    ///
    /// - Returns: Seconds until the sensor counts; nil where the evaluation is over.
    package mutating func setShown(_ isShown: Bool, _ identifier: String, now: Double) -> Double? {
        guard evaluation?.identifier == identifier else { return nil }
        guard isShown else {
            evaluation?.touchesFrom = nil
            return 0
        }
        let from = evaluation?.touchesFrom ?? now + sensor.touchDelay
        evaluation?.touchesFrom = from
        return max(from - now, 0)
    }

    /// Whether the sensor counts for it.
    func awaitsTouch(_ evaluation: Evaluation, now: Double) -> Bool {
        guard evaluation.phase == .biometry, !isLocked, let from = evaluation.touchesFrom else { return false }
        return now >= from
    }

    func progress(of evaluation: Evaluation, now: Double) -> Progress {
        // EV-15, EV-16: Touch ID offers the fallback after one non-match, Face ID after two; DEC-062: and where the sensor was missed.
        let needed = state.biometryType == .touchID ? 1 : 2
        return Progress(
            phase: evaluation.phase, fallbackIsPasscode: fallbackIsPasscode(evaluation),
            isFallbackOffered: evaluation.phase == .fallback
                || (evaluation.phase == .biometry && (evaluation.failures >= needed || evaluation.wasSensorMissed)),
            failures: evaluation.failures, hint: evaluation.phase == .biometry ? evaluation.hint : nil,
            nonce: evaluation.nonce,
            retryAfterSeconds: evaluation.phase == .passcode ? passcodeRetryAfter(now: now) : nil,
            wrongPasscode: evaluation.wrongPasscode, passcodeKind: passcodeKind)
    }

    func progressEvent(now: Double) -> [EnclaveEvent] {
        evaluation.map { progressEvent(of: $0.identifier, now: now) } ?? []
    }

    /// How far the evaluation is, if it is still the one that runs.
    package func progressEvent(of identifier: String, now: Double) -> [EnclaveEvent] {
        guard let evaluation, evaluation.identifier == identifier else { return [] }
        return [.evaluationProgressed(identifier, progress(of: evaluation, now: now))]
    }

    mutating func matched(now: Double) -> [EnclaveEvent] {
        guard let evaluation else { return [] }
        state.biometryFailures = 0
        self.evaluation?.proven.biometry = state.database.hash
        let factors = evaluation.factors + biometryFactor
        self.evaluation?.factors = factors
        return goOn(now: now)
    }

    mutating func passcodeMatched(now: Double) -> [EnclaveEvent] {
        guard evaluation != nil else { return [] }
        evaluation?.proven.passcode = true
        evaluation?.factors.append(.passcode)
        return goOn(now: now)
    }

    /// After a proof: done, or on to the next.
    private mutating func goOn(now: Double) -> [EnclaveEvent] {
        guard let evaluation else { return [] }
        if isMet(evaluation.requirement, by: proven(with: evaluation)) {
            // From now on, and not from the first of several proofs.
            let lapse = Self.lapse(now: now, after: evaluation.validFor)
            self.evaluation?.proven.biometryUntil = lapse
            self.evaluation?.proven.passcodeUntil = lapse
            return endEvaluation(.succeeded)
        }
        guard let phase = nextPhase(evaluation, now: now) else {
            // What is left to prove cannot be: the app hears -1, and why.
            let cause =
                biometryRefusal(of: evaluation, now: now)
                ?? (isPasscodeDisabled ? .passcodeDisabled : .missedTooOften)
            return endEvaluation(.failed(.authenticationFailed, cause))
        }
        self.evaluation?.phase = phase
        self.evaluation?.wrongPasscode = false
        return progressEvent(now: now)
    }

    mutating func notMatched(now: Double) -> [EnclaveEvent] {
        state.biometryFailures += 1
        evaluation?.failures += 1
        noteNonMatch(app: evaluation?.app)
        guard let evaluation else { return [] }
        if state.biometryFailures >= Limits.biometryFailures {
            // EV-26
            return biometryRefused(.biometryLockedOut, now: now)
        }
        if evaluation.failures >= failureLimit {
            if fallbackIsPasscode(evaluation) { return turnToPasscode(now: now) }
            // EV-25 for Touch ID; EV-16 and EV-22 for Face ID.
            if state.biometryType == .touchID || evaluation.isFallbackHidden {
                return endEvaluation(.refused(.missedTooOften))
            }
            self.evaluation?.isBiometryOver = true
            self.evaluation?.phase = .fallback
        } else if state.biometryType != .touchID {
            // EV-16: a camera looks again when it is told to.
            self.evaluation?.phase = .retry
        }
        return progressEvent(now: now)
    }

    /// Has Face ID look once more (EV-16).
    package mutating func tryAgain(now: Double) -> [EnclaveEvent] {
        guard let evaluation, evaluation.phase == .retry else { return [] }
        if let cause = biometryRefusal(of: evaluation, now: now) { return biometryRefused(cause, now: now) }
        self.evaluation?.phase = .biometry
        return progressEvent(now: now)
    }

    /// The owner answered whether the app may use Face ID, in this evaluation or elsewhere: goes on with what that leaves.
    mutating func faceIDPermissionChanged(of app: AppIdentifier, now: Double) -> [EnclaveEvent] {
        guard let evaluation, [.permission, .biometry, .retry].contains(evaluation.phase),
            contexts[evaluation.context]?.app == app
        else { return [] }
        if let cause = biometryRefusal(of: evaluation, now: now) { return biometryRefused(cause, now: now) }
        guard evaluation.phase == .permission, faceIDPermission(of: app) != nil else { return [] }
        self.evaluation?.phase = .biometry
        return progressEvent(now: now)
    }

    /// No finger helps any more: on to the passcode where that is enough.
    mutating func biometryRefused(_ cause: RefusalCause, now: Double) -> [EnclaveEvent] {
        guard let evaluation else { return [] }
        return fallbackIsPasscode(evaluation) ? turnToPasscode(now: now) : endEvaluation(.refused(cause))
    }

    /// What was entered for this evaluation was not looked at: it needs the next nonce, or is over.
    package mutating func passcodeRefused(
        _ reason: RefusalReason, evaluation identifier: String, now: Double
    ) -> [EnclaveEvent] {
        guard reason == .passcodeDisabled, evaluation?.identifier == identifier else {
            return progressEvent(of: identifier, now: now)
        }
        return endEvaluation(.refused(.passcodeDisabled))
    }

    mutating func passcodeNotMatched(now: Double) -> [EnclaveEvent] {
        evaluation?.wrongPasscode = true
        return isPasscodeDisabled ? endEvaluation(.refused(.passcodeDisabled)) : progressEvent(now: now)
    }

    /// The owner chose the fallback (EV-17, EV-18).
    package mutating func chooseFallback(now: Double) -> [EnclaveEvent] {
        guard let evaluation, progress(of: evaluation, now: now).isFallbackOffered, !evaluation.isFallbackHidden
        else { return [] }
        return fallbackIsPasscode(evaluation) ? turnToPasscode(now: now) : endEvaluation(.refused(.fallbackChosen))
    }

    /// A passcode that is looked at no more (PC-01) helps nobody.
    private mutating func turnToPasscode(now: Double) -> [EnclaveEvent] {
        guard !isPasscodeDisabled else { return endEvaluation(.refused(.passcodeDisabled)) }
        evaluation?.isBiometryOver = true
        evaluation?.phase = .passcode
        return progressEvent(now: now)
    }

    /// Ends the evaluation that runs and says so.
    mutating func endEvaluation(_ end: EvaluationEnd) -> [EnclaveEvent] {
        guard let evaluation else { return [] }
        self.evaluation = nil
        noteEnd(of: evaluation, end)
        if case .succeeded = end { grant(evaluation) }
        return [.evaluationEnded(evaluation.identifier, end)]
    }

    /// Gives the context what the owner has proven.
    ///
    /// With its end, where it has one (ND-4).
    private mutating func grant(_ evaluation: Evaluation) {
        guard let before = contexts[evaluation.context]?.proven else { return }
        let grant = Grant(
            evaluation: evaluation,
            biometry: evaluation.proven.biometry != nil && before.biometry != state.database.hash,
            passcode: evaluation.proven.passcode && !before.passcode, before: before)
        contexts.prove(proven(with: evaluation), to: evaluation.context, by: grant)
    }

    /// When what is proven now lapses (ND-4); nil: never.
    ///
    /// What is no number of seconds is no time at all.
    private static func lapse(now: Double, after seconds: Double?) -> Double? {
        seconds.map { now + ($0 > 0 ? min($0, Limits.validFor.upperBound) : Limits.validFor.lowerBound) }
    }

    /// Ends an evaluation for somebody outside, who tells the app; one that is over here too, as the touch came first.
    ///
    /// The app hears of a failure, so that its context has nothing of it.
    package mutating func endEvaluation(_ identifier: String, _ code: AuthenticationFailure) {
        guard evaluation?.identifier == identifier else { return takeBack(identifier, code) }
        _ = endEvaluation(.failed(code, nil))
    }

    private mutating func takeBack(_ identifier: String, _ code: AuthenticationFailure) {
        guard let evaluation = contexts.takeBack(identifier) else { return }
        noteEnd(of: evaluation, .failed(code, nil))
    }
}
