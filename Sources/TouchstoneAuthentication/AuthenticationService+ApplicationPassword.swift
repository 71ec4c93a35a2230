import Foundation
import Synchronization
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneTransport

/// Application passwords: what apps set themselves (EV-60), and what the owner is asked for where they have not (EV-61).
///
/// Which password it is the enclave finds out when an item is opened with it; here it is known only whether one is there.
extension AuthenticationService {
    /// Where the application password of a context came from.
    enum PasswordSource {
        /// The app set it: if it is wrong the app has to set another.
        case app
        /// The owner typed it, so many times one after the other for this access control: if it is wrong the owner may type another.
        case owner(times: Int, AccessControl?)
    }

    /// The part of an evaluation that is about an application password.
    enum PasswordEntry {
        case none
        /// Once the owner has proven all that is wanted (AC-04).
        case afterProofs
        /// It is asked for.
        case waiting
        /// One was entered and is being stretched.
        case entered
    }

    /// Entries after which an item that none of them opens is given up.
    private static let maximumEntries = 3

    // MARK: set by the app

    /// Those of one app come a few at a time; taking one away waits for nobody.
    func setCredential(
        _ request: AuthenticationInterface.SetCredential.Parameters,
        _ call: VarlinkCall<AuthenticationInterface.SetCredential>
    ) {
        guard request.credential != nil, (try? call.connection.identity()) != nil else {
            call.connection.perform(inTurnOf: calls) { [self] _ in setCredential(request, call, in: nil) }
            return
        }
        let mayWait = call.connection.perform(inTurnOf: passwordTurns) { [self] turn in
            setCredential(request, call, in: turn)
        }
        if !mayWait { call.answer(.failure(Self.failed(.authenticationFailed, nil))) }
    }

    private func setCredential(
        _ request: AuthenticationInterface.SetCredential.Parameters,
        _ call: VarlinkCall<AuthenticationInterface.SetCredential>, in passwordTurn: Turn?
    ) {
        let answer = { @Sendable [self] (result: Result<Void, Failed>) in
            passwordTurn?.end()
            if case .success = result {
                state.withLock { state in
                    guard contexts.contains(request.context) else { return }
                    state.passwords[request.context] = request.credential == nil ? nil : .app
                }
            }
            call.answer(result.mapError { $0 as any Error }.map { Empty() })
        }
        do {
            guard try isOwner(call.connection, of: request.context) else { throw Self.failed(.contextInvalidated) }
            let app = try call.connection.identity().identifier
            let isLater = try enclave.awaitAnswer {
                try enclave.call(
                    EnclaveInterface.SetCredential.self,
                    .init(context: request.context, app: app, credential: request.credential)
                ).ticket
            } _: {
                answer(Self.isStretched($0))
            }
            if !isLater { answer(.success(())) }
        } catch let error as RemoteError {
            let isInvalid = error.as(EnclaveInterface.InvalidContext.self) != nil
            call.answer(
                .failure(isInvalid ? Self.failed(.contextInvalidated) : Self.failed(.authenticationFailed, nil)))
        } catch {
            call.answer(.failure(error))
        }
    }

    /// Whether the enclave has the password now; nil: it is gone.
    private static func isStretched(_ event: EnclaveClient.Event?) -> Result<Void, Failed> {
        switch event?.outcome {
        case .succeeded: .success(())
        case .some: .failure(failed(.authenticationFailed, nil))
        case nil: .failure(failed(.deviceStopped))
        }
    }

    func credential(of context: String, _ app: AppIdentity) throws -> EnclaveInterface.IsCredentialSet.Reply {
        try enclave.call(EnclaveInterface.IsCredentialSet.self, .init(context: context, app: app.identifier))
    }

    // MARK: asked for

    /// EV-61: a wrong password, or none with nobody there to ask, is a failed authentication.
    func checkPasswordCanBeAsked(_ context: String, _ app: AppIdentity, for control: AccessControl?) throws {
        guard try credential(of: context, app).retryAfterSeconds == nil else {
            throw Failed(
                .authenticationFailed, "Too many wrong application passwords: wait before the next.",
                .applicationPasswordDelayed)
        }
        try state.withLock { state in
            if case .app? = state.passwords[context] {
                throw Failed(
                    .authenticationFailed, "The application password is wrong: set it with setCredential.",
                    .wrongApplicationPassword)
            }
            guard state.entries(context, for: control) < Self.maximumEntries else {
                state.passwords[context] = nil
                throw Self.failed(.tooManyApplicationPasswords)
            }
            guard !state.agents.isEmpty else {
                throw Failed(
                    .authenticationFailed,
                    "The application password is missing: set it with setCredential, or start an agent with `touchstone agent`.",
                    .noApplicationPassword)
            }
        }
    }

    /// Takes the place for prompts where there is nothing for the enclave to judge.
    func beginWithoutProof(endingOf old: String?) throws -> EnclaveInterface.BeginEvaluation.Reply {
        // Behind the lock screen nothing is in the foreground (EV-05).
        guard try !enclave.call(EnclaveInterface.GetFacts.self, .init(app: "")).facts.isLocked else {
            throw Self.failed(.deviceLocked)
        }
        if let old { _ = try enclave.call(EnclaveInterface.EndEvaluation.self, .init(evaluation: old)) }
        return .init(
            evaluation: Self.freshIdentifier(),
            progress: .init(
                phase: .applicationPassword, fallbackIsPasscode: false, isFallbackOffered: false, failures: 0,
                nonce: Data(), retryAfterSeconds: nil, wrongPasscode: false, passcodeKind: nil))
    }

    static func freshIdentifier() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(generator.next(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// The owner has proven all that the enclave judges.
    ///
    /// - Returns: How the evaluation ends; nil where the prompt goes on, asking for the application password.
    func askForPassword(_ identifier: String) -> Result<Void, Failed>? {
        let app = state.withLock { state in
            state.evaluation.flatMap {
                $0.identifier == identifier && $0.password == .afterProofs ? $0.app : nil
            }
        }
        guard let app else { return .success(()) }
        // EV-52: it may have locked since the last proof; a lock after this answer is told by an event after this one.
        guard let facts = try? facts(app), !facts.isLocked else { return .failure(Self.failed(.lockedMeanwhile)) }
        return state.withLock { state in
            guard var running = state.evaluation, running.identifier == identifier, running.password == .afterProofs
            else { return .success(()) }
            running.password = .waiting
            running.prompt.phase = .applicationPassword
            running.prompt.context = running.context
            running.prompt.nonce = Data()
            running.prompt.reason = running.options.reason.shownToThePerson
            running.prompt.fallbackTitle = nil
            running.prompt.retryAfterSeconds = nil
            running.prompt.wrongPasscode = state.isPasswordWrong(running.context, for: running.subject.passwordControl)
            state.evaluation = running
            show(.show, running)
            return nil
        }
    }

    /// Ends a prompt that asks for an application password, of which the enclave knows nothing: the device has locked, has another
    /// passcode or was erased (EV-05, EV-33, EV-52).
    func endPasswordEntry(_ cause: RefusalCause) {
        let asking = state.withLock { state in
            state.evaluation.flatMap { [.waiting, .entered].contains($0.password) ? $0.identifier : nil }
        }
        if let asking { cancel(asking, Self.failed(cause)) }
    }

    /// Takes what the owner typed; whether it is right shows when an item is opened with it.
    func enterPassword(_ sealed: SealedPasscode, prompt: String) throws -> Empty {
        let running = try state.withLock { state in
            guard let running = state.evaluation, running.identifier == prompt else {
                throw AgentInterface.NoSuchPrompt()
            }
            guard running.password == .waiting else { throw DeviceInterface.Refused(.busy) }
            state.evaluation?.password = .entered
            return running
        }
        do {
            // The app has guessed wrong in the meantime.
            guard try credential(of: running.context, running.app).retryAfterSeconds == nil else {
                cancel(prompt, Self.failed(.applicationPasswordDelayed))
                return Empty()
            }
            let isLater = try enclave.awaitAnswer {
                try enclave.call(
                    EnclaveInterface.SetCredential.self,
                    .init(context: running.context, app: running.app.identifier, credential: sealed)
                ).ticket
            } _: { [self] event in
                // An answer that overtook its ticket comes on this thread, and may meet a prompt that is just beginning: it has to wait.
                passwordStretched(running, Self.isStretched(event))
            }
            guard isLater else { throw DeviceInterface.Refused(.unreadablePasscode) }
        } catch {
            state.withLock { state in
                if state.evaluation?.identifier == prompt { state.evaluation?.password = .waiting }
            }
            throw error
        }
        return Empty()
    }

    private func passwordStretched(_ entered: RunningEvaluation, _ result: Result<Void, Failed>) {
        let isWanted = turn.withLock { _ in
            state.withLock { state -> Bool in
                guard var running = state.evaluation, running.identifier == entered.identifier, !running.isEnding
                else { return false }
                if case .failure = result {
                    // No memory for it just now.
                    running.password = .waiting
                    state.evaluation = running
                    show(.show, running)
                } else {
                    let control = running.subject.passwordControl
                    state.evaluation?.isEnding = true
                    state.passwords[running.context] = .owner(
                        times: state.entries(running.context, for: control) + 1, control)
                }
                return true
            }
        }
        guard isWanted else {
            // The prompt ended in the meantime: the owner gave nothing away.
            _ = try? enclave.call(
                EnclaveInterface.SetCredential.self,
                .init(context: entered.context, app: entered.app.identifier, credential: nil))
            return
        }
        if case .success = result { finish(entered.identifier, .success(())) }
    }
}

extension AuthenticationService.State {
    /// How often in a row the owner has typed a password in this context for this access control.
    func entries(_ context: String, for control: AccessControl?) -> Int {
        if case .owner(let times, control)? = passwords[context] { times } else { 0 }
    }

    /// Whether the last one is not there any more: the enclave drops wrong ones (AC-46).
    func isPasswordWrong(_ context: String, for control: AccessControl?) -> Bool {
        entries(context, for: control) > 0
    }
}
