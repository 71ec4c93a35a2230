import Dispatch
import Synchronization
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneTransport

/// Whose prompt is up: one app's at a time, in the order in which they asked (DEC-073).
///
/// Within one app the newer evaluation ends the older one (EV-53), unless it said that it waits for its turn (ND-3). Another app's
/// waits, because otherwise a program in the background could take the touch that is meant for the app in front.
extension AuthenticationService {
    /// An evaluation that has the owner asked, from its request to its answer.
    final class Asking: Sendable {
        let requirement: Requirement
        let subject: Subject
        let app: AppIdentity
        /// For whom the app asks; nil: for itself.
        let client: AppIdentity?
        /// Of the client, where there is one.
        let origin: ProcessOrigin?
        let options: AuthenticationInterface.Options
        private let state: Mutex<State>

        private struct State {
            var identifier: String?
            /// What the proof is given to; nil until it is made.
            var context: String?
            /// Is told when it is made; nil from then on.
            var made: (@Sendable (String) -> Void)?
            var isAbandoned = false
            /// nil once it was given, or nobody waits for it: what the call holds goes with it.
            var answer: (@Sendable (Result<Void, any Error>) -> Void)?
        }

        init(
            _ requirement: Requirement, _ subject: Subject, context: String?, app: AppIdentity, client: AppIdentity?,
            origin: ProcessOrigin?, options: AuthenticationInterface.Options,
            made: @escaping @Sendable (String) -> Void,
            answer: @escaping @Sendable (Result<Void, any Error>) -> Void
        ) {
            self.requirement = requirement
            self.subject = subject
            self.app = app
            self.client = client
            self.origin = origin
            self.options = options
            state = Mutex(State(context: context, made: context == nil ? made : nil, answer: answer))
        }

        var context: String? { state.withLock { $0.context } }

        /// Takes the context that was made for it.
        func take(context: String) {
            let made = state.withLock { state in
                state.context = context
                return state.made.take()
            }
            made?(context)
        }

        /// Whether it waits behind every other, and ends none (ND-3).
        var waitsForTurn: Bool { options.waitsForTurn == true }

        /// Whose patience it tries: a bridge's clients are told apart.
        var patienceKey: AppIdentifier { PromptPatience.key(of: app, client) }

        /// Gives the answer, once: what comes later is nobody's.
        func end(_ result: Result<Void, any Error>) {
            state.withLock { $0.answer.take() }?(result)
        }

        /// Whether nobody waits for it any more.
        var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

        /// Tells what the enclave calls it.
        ///
        /// - Returns: Whether somebody still waits for it.
        func begun(_ identifier: String) -> Bool {
            state.withLock { state in
                state.identifier = identifier
                return !state.isAbandoned
            }
        }

        /// Tells that nobody waits for it any more.
        ///
        /// - Returns: What the enclave calls it, where it has begun.
        func abandon() -> String? {
            // Let go of outside of the lock.
            let (identifier, _) = state.withLock { state in
                state.isAbandoned = true
                return (state.identifier, state.answer.take())
            }
            return identifier
        }
    }

    /// What becomes of an evaluation that wants the place for prompts.
    fileprivate enum Turn {
        /// It has the place; the one of the same app that had it ends.
        case now(replaced: String?)
        /// It waits. This evaluation of the same app gives way to those that waited before it.
        case later(yielding: String?, replaced: Asking?)
        /// It needs none: everything is proven.
        case needless
    }

    /// Has the owner asked, at once or when it is its turn; the order is that of section 2.1.
    ///
    /// - Parameters:
    ///   - asking: What is asked.
    ///   - isCalled: Whether its turn has come. Much may have happened while it waited, so that all is looked at again.
    func ask(_ asking: Asking, isCalled: Bool = false) {
        // Ended while it was called.
        if asking.isAbandoned { return callNext() }
        do {
            let yielding: String?
            let replaced: Asking?
            switch try takeTurn(asking, isCalled: isCalled) {
            case .needless:
                asking.end(.success(()))
                return callNext()
            case .now: return
            case .later(let first, let second): (yielding, replaced) = (first, second)
            }
            if let replaced { refuse(replaced, Self.cancelledByAnother) }
            schedule(Limits.waiting) { [weak self] in
                self?.endWaiting(Self.failed(.waitedTooLong)) { $0 === asking }
            }
            if let yielding { cancel(yielding, Self.cancelledByAnother) }
        } catch let refused as Refused {
            // The enclave has logged it.
            asking.end(.failure(refused.failed))
            callNext()
        } catch let failed as Failed {
            refuse(asking, failed)
            callNext()
        } catch {
            asking.end(.failure(error))
            callNext()
        }
    }

    /// Begins the first of those that wait, where no prompt is up.
    private func callNext() {
        let next = state.withLock { state -> Asking? in
            guard state.evaluation == nil, !state.isCalling, !state.waiting.isEmpty else { return nil }
            state.isCalling = true
            return state.waiting.removeFirst()
        }
        guard let next else { return }
        // Whoever ended the one before may be the thread that brings the enclave's events.
        turns.async { [self] in
            ask(next, isCalled: true)
            state.withLock { $0.isCalling = false }
            callNext()
        }
    }

    /// An evaluation is over: the next one's turn has come.
    func ended(_ evaluation: RunningEvaluation, _ result: Result<Void, Failed>) {
        answer(evaluation, result)
        callNext()
    }

    private func answer(_ evaluation: RunningEvaluation, _ result: Result<Void, Failed>) {
        for touch in evaluation.earlyTouches { touch(false) }
        // The end of one of which the enclave knows nothing goes to the log by us.
        if case .failure(let failed) = result, [.waiting, .entered].contains(evaluation.password) {
            refuse(evaluation.asking, failed)
        } else {
            evaluation.asking.end(result.mapError { $0 })
        }
    }

    /// Ends one with a failure that nobody else puts into the log.
    private func refuse(_ asking: Asking, _ failed: Failed) {
        noteRefusal(failed, of: asking.app, for: asking.client?.identifier, asking.requirement)
        asking.end(.failure(failed))
    }

    private func takeTurn(_ asking: Asking, isCalled: Bool) throws -> Turn {
        var needed: Needed?
        while true {
            if let taken = try begin(asking, needed, isCalled: isCalled) { return taken }
            needed = try self.needed(by: asking)
            if needed == nil { return .needless }
        }
    }

    /// What a prompt has to begin with.
    private struct Needed {
        var password: PasswordEntry
        var biometryType: BiometryType
    }

    /// What the enclave refused before anybody was asked.
    private struct Refused: Error {
        var failed: Failed
    }

    /// Looks at whether anybody has to be asked, and may be.
    ///
    /// - Returns: What a prompt is needed for; nil if everything is proven.
    private func needed(by asking: Asking) throws -> Needed? {
        let (app, options, requirement) = (asking.app, asking.options, asking.requirement)
        let context = try context(of: asking)
        let control = asking.subject.passwordControl
        let asksPassword = try control != nil && !credential(of: context, app).isSet
        if asksPassword, !options.interactionNotAllowed {
            try checkPasswordCanBeAsked(context, app, for: control)
        }
        let preflight = try enclave.call(
            EnclaveInterface.Preflight.self,
            .init(
                context: context, app: app.identifier, requirement: requirement,
                reuseDuration: options.reuseDuration, isFaceIDDescribed: app.faceIDUsageDescription != nil,
                validFor: options.validFor))
        // The device's, without a question of its own: both daemons are of one version.
        let biometryType: BiometryType = preflight.biometryType ?? .none
        if preflight.verdict != .satisfied { try checkUsageDescription(app, requirement, options, biometryType) }
        switch preflight.verdict {
        case .satisfied where !asksPassword: return nil
        case .refused: throw refusal(of: asking, preflight.code, preflight.reason)
        case .satisfied, .interactive: break
        }
        // EV-54
        guard !options.interactionNotAllowed else { throw Self.failed(.interactionForbidden) }
        guard state.withLock({ [now = now()] in $0.patience?.mayAsk(asking.patienceKey, now: now) ?? true }) else {
            throw Self.failed(.cancelledTooOften)
        }
        // Nothing is left to prove, or all of that comes first (AC-04).
        let password: PasswordEntry =
            !asksPassword ? .none : preflight.verdict == .satisfied ? .waiting : .afterProofs
        return Needed(password: password, biometryType: biometryType)
    }

    /// What the enclave refused; it logs what wants a proof.
    private func refusal(of asking: Asking, _ code: AuthenticationFailure?, _ reason: String?) -> any Error {
        let failed = Self.failed(code ?? .authenticationFailed, reason.flatMap(RefusalCause.init))
        return asking.requirement.proofs.isEmpty ? failed : Refused(failed: failed)
    }

    /// The context of an evaluation, made where it has none.
    private func context(of asking: Asking) throws -> String {
        if let context = asking.context { return context }
        let context = try makeContext(of: asking.app)
        asking.take(context: context)
        return context
    }

    /// The client is gone, and takes its evaluation with it.
    func abandon(_ asking: Asking) {
        if let running = asking.abandon() { cancel(running, Self.failed(.cancelledByApp)) }
        _ = stopWaiting { $0 === asking }
    }

    /// Ends those that wait and that `isMeant`.
    func endWaiting(_ failed: Failed, where isMeant: (Asking) -> Bool) {
        while let one = stopWaiting(where: isMeant) { refuse(one, failed) }
    }

    private func stopWaiting(where isMeant: (Asking) -> Bool) -> Asking? {
        state.withLock { state in
            state.waiting.firstIndex(where: isMeant).map { state.waiting.remove(at: $0) }
        }
    }

    /// Takes the one place for prompts, or a place among those that wait.
    ///
    /// Where nothing stands in the way of a prompt, nothing has to be looked at before: one call of the enclave's looks and begins.
    ///
    /// `needed` is what a prompt is needed for, nil where nobody has looked yet; the result is nil where that has to be looked at first, or
    /// anew, and nothing has changed then.
    private func begin(_ asking: Asking, _ needed: Needed?, isCalled: Bool) throws -> Turn? {
        let (app, password) = (asking.app, needed?.password ?? PasswordEntry.none)
        var abandoned: String?
        let (taken, new, old): (Turn?, RunningEvaluation?, RunningEvaluation?)
        do {
            (taken, new, old) = try turn.withLock { _ in
                let taken = try state.withLock { state -> Turn? in
                    if needed == nil, !state.isUnhindered(asking, isCalled: isCalled, now: now()) { return nil }
                    // It may have ended while it was called.
                    guard !asking.isAbandoned, asking.context.map({ contexts.isOwner(app, of: $0) }) ?? true else {
                        throw Self.failed(.cancelledByApp)
                    }
                    _ = try state.agent(for: app)
                    return try state.turn(of: asking, isCalled: isCalled)
                }
                guard case .now(let replaced)? = taken else { return (taken, nil, nil) }
                // Where nothing begins, the one before goes on.
                let goOn = { [self] in state.withLock { if replaced != nil { $0.evaluation?.isEnding = false } } }
                let begun: EnclaveInterface.BeginEvaluation.Reply?
                do {
                    begun =
                        password == .waiting
                        ? try beginWithoutProof(endingOf: replaced)
                        : try beginWithProofs(asking, replacing: replaced)
                } catch {
                    goOn()
                    throw error
                }
                guard let begun, let context = asking.context else {
                    goOn()
                    // The last proof came meanwhile: what is left is the application password.
                    return (password == .afterProofs ? nil : Turn.needless, nil, nil)
                }
                do {
                    let biometryType = begun.biometryType ?? needed?.biometryType ?? BiometryType.none
                    try checkUsageDescription(app, asking.requirement, asking.options, biometryType)
                    return try state.withLock { state in
                        // The app or the agent may have gone since.
                        var new = RunningEvaluation(
                            identifier: begun.evaluation, context: context, app: app, subject: asking.subject,
                            password: password, options: asking.options,
                            biometryType: biometryType, agent: try state.agent(for: app), asking: asking,
                            prompt: AgentInterface.Prompt(
                                begun.evaluation, app: app, subject: asking.subject, options: asking.options,
                                biometryType: biometryType, progress: begun.progress),
                            since: now())
                        new.prompt.name(asking)
                        if password == .waiting {
                            new.prompt.context = context
                            new.prompt.wrongPasscode = state.isPasswordWrong(
                                context, for: asking.subject.passwordControl)
                        }
                        let old = state.evaluation
                        state.evaluation = new
                        if let old { show(.dismissed, old) }
                        show(.show, new)
                        expectConfirmation(of: new)
                        return (taken, new, old)
                    }
                } catch {
                    abandoned = replaced
                    _ = try? enclave.call(EnclaveInterface.EndEvaluation.self, .init(evaluation: begun.evaluation))
                    throw error
                }
            }
        } catch {
            // The enclave has ended it for the one that came to nothing.
            if let abandoned { endClaimed(abandoned, Self.cancelledByAnother) }
            throw error
        }
        if let old { answer(old, .failure(Self.cancelledByAnother)) }
        if let new, !asking.begun(new.identifier) { cancel(new.identifier, Self.failed(.cancelledByApp)) }
        return taken
    }

    /// - Returns: nil where the owner has nothing to prove.
    private func beginWithProofs(_ asking: Asking, replacing replaced: String?) throws
        -> EnclaveInterface.BeginEvaluation.Reply?
    {
        let (app, context) = (asking.app, asking.context)
        func take(_ made: String?) {
            guard let made else { return }
            contexts.add(made, of: app)
            asking.take(context: made)
        }
        do {
            let begun = try enclave.call(
                EnclaveInterface.BeginEvaluation.self,
                .init(
                    context: context ?? "", app: app.identifier, requirement: asking.requirement,
                    isFallbackHidden: asking.options.fallbackTitle == "",
                    isFaceIDDescribed: app.faceIDUsageDescription != nil, replaces: replaced,
                    reuseDuration: asking.options.reuseDuration,
                    accessGroups: context == nil ? app.accessGroups : nil, validFor: asking.options.validFor))
            take(begun.context)
            return begun
        } catch let error as RemoteError {
            guard let look = error.as(EnclaveInterface.NotBegun.self) else { throw error }
            take(look.context)
            guard look.verdict == .refused else { return nil }
            try checkUsageDescription(app, asking.requirement, asking.options, look.biometryType ?? .none)
            throw refusal(of: asking, look.code, look.reason)
        }
    }
}

extension AuthenticationService.State {
    /// Whether a prompt may be up at once, with nothing to ask for but what the enclave judges.
    fileprivate func isUnhindered(_ asking: AuthenticationService.Asking, isCalled: Bool, now: Double) -> Bool {
        let app = asking.app
        return evaluation == nil && (isCalled || (waiting.isEmpty && !isCalling))
            && asking.subject.passwordControl == nil && !asking.options.interactionNotAllowed
            // CE-11: such a client traps before anything begins.
            && (app.faceIDUsageDescription != nil || asking.options.isStrict != true)
            && patience?.mayAsk(asking.patienceKey, now: now) ?? true && (try? agent(for: app)) != nil
    }

    /// Says whether an evaluation may begin, and has it wait where it may not.
    ///
    /// - Throws: `Failed` where too many wait already.
    fileprivate mutating func turn(
        of asking: AuthenticationService.Asking, isCalled: Bool
    ) throws(AuthenticationInterface.Failed) -> AuthenticationService.Turn {
        let isSameApp = { (app: AppIdentity) in app.identifier == asking.app.identifier }
        let isOwn = evaluation.map { isSameApp($0.app) } ?? true
        let mayEnd = evaluation == nil || isOwn && !asking.waitsForTurn
        // One whose end somebody is just telling leaves the place in a moment: that end counts.
        if mayEnd, evaluation?.isEnding != true, isCalled || (waiting.isEmpty && !isCalling) {
            evaluation?.isEnding = true
            return .now(replaced: evaluation?.identifier)
        }
        if isCalled {
            waiting.insert(asking, at: 0)
            return .later(yielding: nil, replaced: nil)
        }
        let own = waiting.filter { isSameApp($0.app) }
        if asking.waitsForTurn {
            guard own.count < AuthenticationService.Limits.waitingEvaluations else {
                throw AuthenticationService.failed(.tooManyWait)
            }
        } else if let place = waiting.firstIndex(where: { isSameApp($0.app) && !$0.waitsForTurn }) {
            let older = waiting[place]
            waiting[place] = asking
            return .later(yielding: nil, replaced: older)
        }
        // So many apps, whatever one of them has waiting.
        let apps = Set(waiting.map(\.app.identifier))
        guard !own.isEmpty || apps.count < AuthenticationService.Limits.waitingEvaluations else {
            throw AuthenticationService.failed(.tooManyWait)
        }
        waiting.append(asking)
        return .later(yielding: isOwn && !asking.waitsForTurn ? evaluation?.identifier : nil, replaced: nil)
    }
}
