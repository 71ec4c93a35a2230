import Dispatch
import Synchronization
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneTransport

/// Whose prompt is up: one app's at a time, in the order in which they asked (DEC-073).
///
/// Within one app the newer evaluation ends the older one (EV-53). Another app's waits: otherwise a program in the background
/// could take the touch that is meant for the app in front.
extension AuthenticationService {
    /// An evaluation that has the owner asked, from its request to its answer.
    final class Asking: Sendable {
        let requirement: Requirement
        let subject: Subject
        let context: String
        let app: AppIdentity
        let origin: ProcessOrigin?
        let options: AuthenticationInterface.Options
        private let state: Mutex<State>

        private struct State {
            var identifier: String?
            var isAbandoned = false
            /// nil once it was given, or nobody waits for it: what the call holds goes with it.
            var answer: (@Sendable (Result<Void, any Error>) -> Void)?
        }

        init(
            _ requirement: Requirement, _ subject: Subject, context: String, app: AppIdentity, origin: ProcessOrigin?,
            options: AuthenticationInterface.Options,
            answer: @escaping @Sendable (Result<Void, any Error>) -> Void
        ) {
            self.requirement = requirement
            self.subject = subject
            self.context = context
            self.app = app
            self.origin = origin
            self.options = options
            state = Mutex(State(answer: answer))
        }

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
            guard let needed = try needed(by: asking) else {
                asking.end(.success(()))
                return callNext()
            }
            guard case .later(let yielding, let replaced) = try begin(asking, needed, isCalled: isCalled) else {
                return
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
        noteRefusal(failed, of: asking.app, asking.requirement)
        asking.end(.failure(failed))
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
        let (context, app, options, requirement) = (
            asking.context, asking.app, asking.options, asking.requirement
        )
        let control = asking.subject.passwordControl
        let asksPassword = try control != nil && !credential(of: context, app).isSet
        if asksPassword, !options.interactionNotAllowed {
            try checkPasswordCanBeAsked(context, app, for: control)
        }
        let preflight = try enclave.call(
            EnclaveInterface.Preflight.self,
            .init(
                context: context, app: app.identifier, requirement: requirement,
                reuseDuration: options.reuseDuration, isFaceIDDescribed: app.faceIDUsageDescription != nil))
        // The device's, without a question of its own: both daemons are of one version.
        let biometryType: BiometryType = preflight.biometryType ?? .none
        if preflight.verdict != .satisfied { try checkUsageDescription(app, requirement, options, biometryType) }
        switch preflight.verdict {
        case .satisfied where !asksPassword: return nil
        case .refused:
            let failed = Self.failed(
                preflight.code ?? .authenticationFailed, preflight.reason.flatMap(RefusalCause.init))
            if requirement.proofs.isEmpty { throw failed }
            throw Refused(failed: failed)
        case .satisfied, .interactive: break
        }
        // EV-54
        guard !options.interactionNotAllowed else { throw Self.failed(.interactionForbidden) }
        guard state.withLock({ [now = now()] in $0.patience?.mayAsk(app.identifier, now: now) ?? true }) else {
            throw Self.failed(.cancelledTooOften)
        }
        // Nothing is left to prove, or all of that comes first (AC-04).
        let password: PasswordEntry =
            !asksPassword ? .none : preflight.verdict == .satisfied ? .waiting : .afterProofs
        return Needed(password: password, biometryType: biometryType)
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
    private func begin(_ asking: Asking, _ needed: Needed, isCalled: Bool) throws -> Turn {
        let (app, password, biometryType) = (asking.app, needed.password, needed.biometryType)
        var abandoned: String?
        let (taken, new, old): (Turn, RunningEvaluation?, RunningEvaluation?)
        do {
            (taken, new, old) = try turn.withLock { _ in
                let taken = try state.withLock { state in
                    // It may have ended while it was called.
                    guard !asking.isAbandoned, contexts.isOwner(app, of: asking.context) else {
                        throw Self.failed(.cancelledByApp)
                    }
                    _ = try state.agent(for: app)
                    return try state.turn(of: asking, isCalled: isCalled)
                }
                guard case .now(let replaced) = taken else { return (taken, nil, nil) }
                let begun: EnclaveInterface.BeginEvaluation.Reply
                do {
                    begun =
                        password == .waiting
                        ? try beginWithoutProof(endingOf: replaced)
                        : try beginWithProofs(asking, replacing: replaced)
                } catch {
                    // The one before goes on.
                    state.withLock { if replaced != nil { $0.evaluation?.isEnding = false } }
                    throw error
                }
                do {
                    return try state.withLock { state in
                        // The app or the agent may have gone since.
                        var new = RunningEvaluation(
                            identifier: begun.evaluation, context: asking.context, app: app, subject: asking.subject,
                            origin: asking.origin, password: password, options: asking.options,
                            biometryType: biometryType, agent: try state.agent(for: app), asking: asking,
                            prompt: AgentInterface.Prompt(
                                begun.evaluation, app: app, subject: asking.subject, options: asking.options,
                                biometryType: biometryType, progress: begun.progress),
                            since: now())
                        new.prompt.origin = asking.origin
                        if password == .waiting {
                            new.prompt.context = asking.context
                            new.prompt.wrongPasscode = state.isPasswordWrong(
                                asking.context, for: asking.subject.passwordControl)
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

    private func beginWithProofs(_ asking: Asking, replacing replaced: String?) throws
        -> EnclaveInterface.BeginEvaluation.Reply
    {
        do {
            return try enclave.call(
                EnclaveInterface.BeginEvaluation.self,
                .init(
                    context: asking.context, app: asking.app.identifier, requirement: asking.requirement,
                    isFallbackHidden: asking.options.fallbackTitle == "",
                    isFaceIDDescribed: asking.app.faceIDUsageDescription != nil, replaces: replaced))
        } catch let error as RemoteError where error.as(EnclaveInterface.InvalidContext.self) != nil {
            // The preflight knew the context: the device has locked since (EV-05).
            throw Self.failed(.deviceLocked)
        }
    }
}

extension AuthenticationService.State {
    /// Says whether an evaluation may begin, and has it wait where it may not.
    ///
    /// - Throws: `Failed` where too many wait already.
    fileprivate mutating func turn(
        of asking: AuthenticationService.Asking, isCalled: Bool
    ) throws(AuthenticationInterface.Failed) -> AuthenticationService.Turn {
        let isSameApp = { (app: AppIdentity) in app.identifier == asking.app.identifier }
        let isOwn = evaluation.map { isSameApp($0.app) } ?? true
        // One whose end somebody is just telling leaves the place in a moment: that end counts.
        if isOwn, evaluation?.isEnding != true, isCalled || (waiting.isEmpty && !isCalling) {
            evaluation?.isEnding = true
            return .now(replaced: evaluation?.identifier)
        }
        if isCalled {
            waiting.insert(asking, at: 0)
            return .later(yielding: nil, replaced: nil)
        }
        if let place = waiting.firstIndex(where: { isSameApp($0.app) }) {
            let older = waiting[place]
            waiting[place] = asking
            return .later(yielding: nil, replaced: older)
        }
        guard waiting.count < AuthenticationService.Limits.waitingEvaluations else {
            throw AuthenticationService.failed(.tooManyWait)
        }
        waiting.append(asking)
        return .later(yielding: isOwn ? evaluation?.identifier : nil, replaced: nil)
    }
}
