import Foundation
import Synchronization
package import TouchstoneCore
package import TouchstoneEnclaveClient
package import TouchstoneEnclaveInterface
package import TouchstoneInterfaces
package import TouchstoneTransport

/// `io.touchstone.Authentication` and `io.touchstone.Agent`: contexts, policies, and prompts, one at a time.
///
/// It never decides that the owner was recognised: it asks the enclave, shows the prompt, and passes on what the enclave says.
///
/// > Source: sections 1 to 3 of the rules.
package final class AuthenticationService: Sendable {
    let enclave: EnclaveClient
    let ownerID: UInt32
    let contexts: ContextOwners
    let refusals: RefusalNotes
    private let report: @Sendable (String) -> Void
    let now: @Sendable () -> Double
    let schedule: @Sendable (Double, @escaping @Sendable () -> Void) -> Void
    let state = Mutex(State())
    /// Held over each call to the enclave whose answer names what its events will be of, and passed by each event: so that none of them
    /// comes before that name is known.
    ///
    /// The state's own lock is not held over calls: one may have to wait behind another that looks at the sensor.
    let turn = Mutex(())

    struct State {
        /// The contexts of each connection that made some: they end with it.
        var contextsByConnection: [ObjectIdentifier: Set<String>] = [:]
        /// Of the contexts that are for a client.
        var clients: [String: ContextClient] = [:]
        var evaluation: RunningEvaluation?
        /// The prompt that asks for the device to be unlocked; nil: nobody wants that.
        var unlock: RunningUnlock?
        /// Number of the last request for that.
        var unlockRequests: UInt64 = 0
        /// Is told when the first agent came, or the last one went.
        var whenAgentsChange: @Sendable () -> Void = {}
        /// Those that wait for the place, in the order in which they asked; one of each app, and those that said that they wait.
        var waiting: [Asking] = []
        /// Whether one of them is just beginning, because its turn has come: nobody overtakes it.
        var isCalling = false
        /// The first shows the prompts; the next takes its place, and what it shows, when it goes.
        ///
        /// A program that comes later cannot take the screen.
        var agents: [ConnectedAgent] = []
        var backgroundApps: Set<AppIdentifier> = []
        /// nil: the owner may cancel an app as often as it asks.
        var patience: PromptPatience?
        /// Apps without a usage description of which the log knows.
        var undescribedApps: Set<AppIdentifier> = []
        var environmentWatchers: [ObjectIdentifier: EnvironmentWatcher] = [:]
        /// Where the application password that a context has, or had, came from.
        var passwords: [String: PasswordSource] = [:]

        mutating func claimEnd(of identifier: String) -> Bool {
            guard let running = evaluation, running.identifier == identifier, !running.isEnding else { return false }
            evaluation?.isEnding = true
            return true
        }

        /// Who would show a prompt of this app's now.
        func agent(for app: AppIdentity) throws -> ConnectedAgent {
            // EV-05
            guard !backgroundApps.contains(app.identifier) else {
                throw Failed(.notInteractive, "Caller is not running foreground.", .appInBackground)
            }
            guard let agent = agents.first else {
                throw Failed(
                    .notInteractive, "User interaction required: start an agent with `touchstone agent`.", .noAgent)
            }
            return agent
        }
    }

    typealias Failed = AuthenticationInterface.Failed

    enum Limits {
        static let contextsPerConnection = 256
        /// Of one app, over all its connections, those for clients: each holds up to two descriptors.
        static let clientContextsPerApp = 256
        static let clientContexts = 1024
        /// Of which the log is told, each once.
        static let undescribedApps = 1024
        static let agents = 64
        /// Longest wait for an agent to show a prompt, in seconds.
        static let showing = 10.0
        /// Longest wait for other apps' prompts, in seconds.
        static let waiting = 120.0
        /// Apps that wait, and of one app the evaluations that said that they wait for their turn.
        static let waitingEvaluations = 32
        /// Application passwords of one app that are being stretched: one fewer than the enclave takes, so that what its owner types is taken.
        static let passwordsPerApp = 3
        static let waitingPasswordsPerProcess = 128
        static let earlyTouches = 64
        /// What a bridge says beside the reason.
        static let facts = 8
        /// That wait for one unlocking of the device.
        static let unlockRequests = 256
        static let unlockRequestsPerApp = 32
        static let environmentWatchers = 512
        static let environmentWatchersPerApp = 64
        /// Calls that have a thread while the enclave is asked (DEC-590).
        static let calls = Turns.Limits(total: 24, perApp: 12)
    }

    /// Calls for which the enclave is asked; none waits there for the owner.
    let calls = Turns(Limits.calls)

    /// Of application passwords that apps set.
    let passwordTurns = Turns(
        .init(perApp: Limits.passwordsPerApp, waitingPerProcess: Limits.waitingPasswordsPerProcess))

    /// Carries what agents are shown, in the order in which it happened.
    let screen = DispatchQueue(label: "io.touchstone.prompts")
    /// Begins evaluations whose turn has come.
    let turns = DispatchQueue(label: "io.touchstone.turns")
    /// Ends contexts of single calls, and of connections that ended.
    let endings = DispatchQueue(label: "io.touchstone.contexts")
    /// Carries what watchers of the environment are told, in the order in which it happened.
    let environments = DispatchQueue(label: "io.touchstone.environments")

    struct RunningEvaluation: Sendable {
        var identifier: String
        var context: String
        var app: AppIdentity
        var subject: Subject
        /// What is left to ask for once the enclave is content (EV-61).
        var password = PasswordEntry.none
        /// Whether the agent has let us know that the prompt is before the owner.
        var isShown = false
        /// Whether the sensor counts for it: half a second after it was shown.
        var isTouchAwaited = false
        /// What is done with the simulated fingers that are laid on before that: true once it counts, false where the prompt ends first.
        var earlyTouches: [@Sendable (Bool) -> Void] = []
        /// Somebody is about to tell the app how it ended: nobody else does.
        var isEnding = false
        var options: AuthenticationInterface.Options
        var biometryType: BiometryType
        var agent: ConnectedAgent
        var asking: Asking
        var prompt: AgentInterface.Prompt
        /// When the prompt's seconds began to run.
        var since: Double
    }

    /// What the owner is asked about beside the reason: nothing for a policy.
    struct Subject: Sendable {
        var operation: AccessControlOperation?
        var keyLabel: String?
        var items: AgentInterface.ItemNames?
        /// What an application password is wanted for, where one is.
        var passwordControl: AccessControl?
    }

    struct ConnectedAgent: Sendable {
        var identifier: UInt64
        var call: VarlinkCall<AgentInterface.Subscribe>
    }

    /// - Parameters:
    ///   - enclave: The enclave's calls; its events come to `handle(_:)`.
    ///   - ownerID: The user whose device this is: only that user, or root, may show prompts.
    ///   - contexts: Which of them are whose, shared with the services that open things on them.
    ///   - refusals: Takes to the log what is refused here.
    ///   - report: Is told what a developer should know, for the daemon's own log.
    ///   - now: The time in seconds, from any beginning.
    ///   - schedule: Runs something after so many seconds.
    ///   - holdsBackCancelledApps: Whether an app whose prompts the owner cancels again and again may not ask for a while.
    package init(
        enclave: EnclaveClient, ownerID: UInt32, contexts: ContextOwners, refusals: RefusalNotes,
        report: @escaping @Sendable (String) -> Void, now: @escaping @Sendable () -> Double,
        schedule: @escaping @Sendable (Double, @escaping @Sendable () -> Void) -> Void, holdsBackCancelledApps: Bool
    ) {
        self.enclave = enclave
        self.ownerID = ownerID
        self.contexts = contexts
        self.refusals = refusals
        self.report = report
        self.now = now
        self.schedule = schedule
        if holdsBackCancelledApps { holdBackCancelledApps() }
    }

    /// Runs something after so many seconds.
    package static let byTheMachinesTime = { @Sendable (seconds: Double, body: @escaping @Sendable () -> Void) in
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: body)
    }

    /// From now on an app whose prompts the owner cancels again and again may not ask for a while.
    package func holdBackCancelledApps() { state.withLock { $0.patience = PromptPatience() } }

    package var interfaces: [VarlinkInterface] {
        [
            VarlinkInterface(
                name: AuthenticationInterface.name,
                description: AuthenticationInterface.file,
                handlers: handlers + clientHandlers + environmentHandlers),
            VarlinkInterface(
                name: AgentInterface.name, description: AgentInterface.file, ownerID: ownerID,
                handlers: agentHandlers),
        ]
    }

    /// Evaluations that wait for another app's prompt to go.
    package var waitingEvaluations: Int { state.withLock { $0.waiting.count } }
    /// Simulated fingers that wait for their prompt to count.
    package var earlyTouches: Int { state.withLock { $0.evaluation?.earlyTouches.count ?? 0 } }
    /// Has `body` called when an agent came or went, on any thread.
    package func whenAgentsChange(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.whenAgentsChange = body }
    }

    func agentsChanged() { state.withLock { $0.whenAgentsChange }() }

    package var hasAgent: Bool { state.withLock { !$0.agents.isEmpty } }
    /// The prompt that is up.
    package var prompt: AgentInterface.Prompt? { state.withLock { $0.evaluation?.prompt ?? $0.unlock?.prompt } }

    private var handlers: [VarlinkHandler] {
        [
            aside(AuthenticationInterface.InvalidateContext.self) { [self] request, connection in
                try invalidateContext(request.context, connection)
                return Empty()
            },
            .deferred(AuthenticationInterface.SetCredential.self) { [self] request, call in setCredential(request, call)
            },
            aside(AuthenticationInterface.IsCredentialSet.self) { [self] request, connection in
                guard try isOwner(connection, of: request.context) else { return .init(isSet: false) }
                return .init(isSet: try credential(of: request.context, try connection.identity()).isSet)
            },
            aside(AuthenticationInterface.CanEvaluatePolicy.self) { [self] request, connection in
                try canEvaluate(request, connection)
            },
            .deferred(AuthenticationInterface.EvaluatePolicy.self) { [self] request, call in
                call.connection.endTurn()
                call.connection.perform(inTurnOf: calls) { [self] _ in evaluate(request, call) }
            },
            .deferred(AuthenticationInterface.EvaluateAccessControl.self) { [self] request, call in
                call.connection.endTurn()
                call.connection.perform(inTurnOf: calls) { [self] _ in
                    prove(
                        request.accessControl, for: request.operation, keyLabel: request.keyLabel, items: nil,
                        in: request.context, options: request.options, connection: call.connection, made: { _ in }
                    ) { result in call.answer(result.map { .init(domainState: nil) }) }
                }
            },
        ]
    }

    /// A method for which the enclave is asked: on the connection's own thread, as others' requests are read where it was read.
    func aside<M: VarlinkMethod>(
        _ method: M.Type, _ body: @escaping @Sendable (M.Parameters, VarlinkConnection) throws -> M.Reply
    ) -> VarlinkHandler {
        .deferred(method) { [self] request, call in
            call.connection.perform(inTurnOf: calls) { _ in
                call.answer(Result { try body(request, call.connection) })
            }
        }
    }

    private func evaluate(
        _ request: AuthenticationInterface.EvaluatePolicy.Parameters,
        _ call: VarlinkCall<AuthenticationInterface.EvaluatePolicy>
    ) {
        let answer = { @Sendable (result: Result<Data?, any Error>) in
            call.answer(result.map { .init(domainState: $0) })
        }
        guard let requirement = Requirement(request.policy) else {
            return answer(.failure(refused(.noCompanion, nil, request.context, call.connection)))
        }
        evaluate(
            requirement, Subject(), context: request.context, options: request.options,
            tellsDomainState: request.policy.isBiometric, connection: call.connection, made: { _ in },
            answer: answer)
    }

    // MARK: evaluatePolicy

    /// Has the owner prove what an access control wants for an operation (EV-62); returns at once.
    ///
    /// `made` is told the context that was made where `context` is nil, before the answer: whoever asks ends it. `answer` is called on
    /// any thread, at most once: never where the connection has closed meanwhile.
    package func prove(
        _ accessControl: AccessControl, for operation: AccessControlOperation, keyLabel: String?,
        items: AgentInterface.ItemNames?, in context: String?, options: AuthenticationInterface.Options,
        connection: VarlinkConnection, made: @escaping @Sendable (String) -> Void,
        answer: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        guard accessControl.grants(operation) else {
            return answer(.failure(refused(.operationNotGranted, accessControl.requirement, context, connection)))
        }
        // EV-62: creating binds and asks nobody; using asks for what the control says.
        let isCreation = operation == .createItem || operation == .createKey
        evaluate(
            isCreation ? Requirement(proofs: []) : accessControl.requirement,
            Subject(
                operation: operation, keyLabel: keyLabel, items: items,
                // AC-04: wanted in addition, to create as well as to use.
                passwordControl: accessControl.flags.contains(.applicationPassword) ? accessControl : nil),
            context: context, options: options, tellsDomainState: false, connection: connection, made: made
        ) { result in answer(result.map { _ in () }) }
    }

    /// `answer` is called exactly once, with the domain state where the policy tells it.
    private func evaluate(
        _ requirement: Requirement, _ subject: Subject, context: String?, options: AuthenticationInterface.Options,
        tellsDomainState: Bool, connection: VarlinkConnection, made: @escaping @Sendable (String) -> Void,
        answer: @escaping @Sendable (Result<Data?, any Error>) -> Void
    ) {
        let look = { @Sendable [self] in
            evaluateNow(
                requirement, subject, context: context, options: options, tellsDomainState: tellsDomainState,
                connection: connection, made: made, answer: answer)
        }
        // A client is looked at anew, which may take its time.
        let isForClient = context.map { context in state.withLock { $0.clients[context] != nil } } ?? false
        isForClient ? connection.perform(look) : connection.performLook(look)
    }

    private func evaluateNow(
        _ requirement: Requirement, _ subject: Subject, context: String?, options: AuthenticationInterface.Options,
        tellsDomainState: Bool, connection: VarlinkConnection, made: @escaping @Sendable (String) -> Void,
        answer: @escaping @Sendable (Result<Data?, any Error>) -> Void
    ) {
        do {
            // A prompt says whose it is.
            try connection.withToldIdentity { [self] app in
                evaluateNow(
                    requirement, subject, context: context, options: options, tellsDomainState: tellsDomainState,
                    app: app, connection: connection, made: made, answer: answer)
            }
        } catch {
            answer(.failure(error))
        }
    }

    private func evaluateNow(
        _ requirement: Requirement, _ subject: Subject, context: String?, options: AuthenticationInterface.Options,
        tellsDomainState: Bool, app: AppIdentity, connection: VarlinkConnection,
        made: @escaping @Sendable (String) -> Void, answer: @escaping @Sendable (Result<Data?, any Error>) -> Void
    ) {
        do {
            if let context, try !isOwner(connection, of: context) { throw Self.failed(.contextInvalidated) }
            try checkFacts(options, of: app)
            let client = context.flatMap { context in state.withLock { $0.clients[context] } }
            try client?.check()
            let succeed = { @Sendable [self] in
                answer(Result { tellsDomainState ? try facts(app).domainState : nil })
            }
            let closing = Mutex<UInt64?>(nil)
            let asking = Asking(
                requirement, subject, context: context, app: app, client: client?.identity,
                origin: client == nil ? connection.peer.origin()?.shownToThePerson : client?.origin, options: options,
                made: made
            ) { result in
                if let number = closing.withLock({ $0 }) { connection.removeCloseHandler(number) }
                switch result {
                case .success: succeed()
                case .failure(let error): answer(.failure(error))
                }
            }
            // A client that vanishes takes its prompt with it.
            let number = connection.onClose { [weak self] in
                connection.perform { [weak self] in self?.abandon(asking) }
            }
            closing.withLock { $0 = number }
            ask(asking)
        } catch {
            if let failed = error as? Failed {
                noteRefusal(failed, of: app, for: contexts.client(of: context, of: app), requirement)
            }
            answer(.failure(error))
        }
    }

    /// CE-11: without a usage description there is no Face ID, and the log says why; a client that asked for it traps.
    func checkUsageDescription(
        _ app: AppIdentity, _ requirement: Requirement, _ options: AuthenticationInterface.Options,
        _ biometryType: BiometryType
    ) throws {
        guard app.faceIDUsageDescription == nil, requirement.proofs.contains(where: \.isMetByBiometry),
            biometryType == .faceID
        else { return }
        let isNews = state.withLock { state in
            state.undescribedApps.count < Limits.undescribedApps
                && state.undescribedApps.insert(app.identifier).inserted
        }
        if isNews {
            report(
                "\(app.identifier) may not use Face ID: neither its manifest nor an Info.plist has NSFaceIDUsageDescription"
            )
        }
        if options.isStrict == true { throw AuthenticationInterface.MissingUsageDescription() }
    }

    /// What is refused whoever asks, and goes to the log by us.
    private func refused(
        _ cause: RefusalCause, _ requirement: Requirement?, _ context: String?, _ connection: VarlinkConnection
    ) -> Failed {
        let failed = Self.failed(cause)
        if let app = try? connection.identity() {
            noteRefusal(failed, of: app, for: contexts.client(of: context, of: app), requirement)
        }
        return failed
    }

    /// `client` is for whom a bridge asked; nil: the app asked for itself.
    func noteRefusal(_ failed: Failed, of app: AppIdentity, for client: AppIdentifier?, _ requirement: Requirement?) {
        // The owner's cancel is an answer; the library replaces a context from before a restart.
        guard let cause = failed.reason.flatMap(RefusalCause.init),
            ![.ownerCancelled, .contextInvalidated].contains(cause)
        else { return }
        refusals.note(cause, of: app, for: client, requirement)
    }

    func facts(_ app: AppIdentity) throws -> EnclaveInterface.Facts {
        try enclave.call(EnclaveInterface.GetFacts.self, .init(app: app.identifier)).facts
    }

    /// To be called while the state is locked, so that what an agent sees comes in the order in which it happened.
    func show(_ event: AgentInterface.Event, _ evaluation: RunningEvaluation) {
        var prompt = evaluation.prompt
        // What is left of them, for an agent that is shown the prompt later.
        prompt.retryAfterSeconds = prompt.retryAfterSeconds.map { $0 - (now() - evaluation.since) }.flatMap {
            $0 > 0 ? $0 : nil
        }
        show(event, prompt, to: evaluation.agent)
    }

    func show(_ event: AgentInterface.Event, _ prompt: AgentInterface.Prompt, to agent: ConnectedAgent) {
        screen.async {
            let call = agent.call
            // What waits for one that does not read has an end.
            guard call.connection.isReading else { return call.drop() }
            call.continue(.init(event: event, prompt: prompt))
        }
    }

    /// Ends an evaluation from outside the enclave.
    ///
    /// A touch may have come first, and the enclave may have told of it: then its answer to this takes back what that gave.
    func cancel(_ identifier: String, _ failed: Failed) {
        if claimEnd(of: identifier) { endClaimed(identifier, failed) }
    }

    /// The same for who claimed the end.
    func endClaimed(_ identifier: String, _ failed: Failed) {
        _ = try? enclave.call(EnclaveInterface.EndEvaluation.self, .init(evaluation: identifier, code: failed.code))
        finish(identifier, .failure(failed))
    }

    /// Says whether the caller is the one to tell how an evaluation ended: the first who asks is.
    ///
    /// Waits where another is just beginning in its place: until that has begun it may go on.
    func claimEnd(of identifier: String) -> Bool {
        turn.withLock { _ in state.withLock { $0.claimEnd(of: identifier) } }
    }

    func finish(_ identifier: String, _ result: Result<Void, AuthenticationInterface.Failed>) {
        let isSuccess = if case .success = result { true } else { false }
        let ended = state.withLock { state -> RunningEvaluation? in
            guard let ended = state.evaluation, ended.identifier == identifier else { return nil }
            state.evaluation = nil
            show(isSuccess ? .succeeded : .dismissed, ended)
            return ended
        }
        if let ended { self.ended(ended, result) }
    }

    // MARK: what happens meanwhile

    /// Takes one event of the enclave's.
    package func handle(_ event: EnclaveInterface.WatchEvents.Reply) {
        waitForTurn()
        if event.outcome == .erased { endPasswordEntry(.deviceErased) }
        if event.outcome == .locked { endPasswordEntry(.lockedMeanwhile) }
        if [.unlocked, .erased].contains(event.outcome) { endUnlockIfDone() }
        if event.ticket == nil, event.evaluation == nil, event.log == nil { environmentChanged() }
        guard let identifier = event.evaluation else { return }
        switch event.outcome {
        // Of no evaluation: what runs ends with an event of its own.
        case .erased, .unlocked, .locked: break
        case .succeeded:
            if let result = askForPassword(identifier), claimEnd(of: identifier) { finish(identifier, result) }
        case .failed:
            guard claimEnd(of: identifier) else { return }
            let failed = Self.failed(
                event.code ?? .authenticationFailed, event.reason.flatMap(RefusalCause.init))
            finish(identifier, .failure(failed))
        case .progress:
            guard let progress = event.progress else { return }
            state.withLock { state in
                guard var running = state.evaluation, running.identifier == identifier else { return }
                running.prompt = AgentInterface.Prompt(
                    identifier, app: running.app, subject: running.subject, options: running.options,
                    biometryType: running.biometryType,
                    progress: progress)
                running.prompt.name(running.asking)
                running.since = now()
                state.evaluation = running
                show(.show, running)
            }
        }
    }

    /// The enclave is gone: whoever waits hears of it now.
    package func enclaveLost() {
        waitForTurn()
        endUnlock(.failure(Self.failed(.deviceStopped)))
        let running = state.withLock { $0.evaluation?.identifier }
        endWaiting(Self.failed(.deviceStopped)) { _ in true }
        guard let identifier = running else { return }
        finish(identifier, .failure(Self.failed(.deviceStopped)))
    }

    /// EV-52: an app that leaves the foreground loses its prompt.
    package func setApplicationState(_ app: AppIdentifier, _ newState: DeviceInterface.ApplicationState) {
        let running = state.withLock { state -> String? in
            switch newState {
            case .foreground: state.backgroundApps.remove(app)
            case .background: state.backgroundApps.insert(app)
            }
            guard newState == .background, state.evaluation?.app.identifier == app else {
                return nil
            }
            return state.evaluation?.identifier
        }
        let toBackground = Failed(.systemCancel, "Caller moved to background.", .appLeftForeground)
        if newState == .background { endWaiting(toBackground) { $0.app.identifier == app } }
        if let running { cancel(running, toBackground) }
    }

    /// What is left of a delay that a prompt shows is less now, or nothing.
    func clockAdvanced() {
        state.withLock { state in
            if let running = state.evaluation { show(.show, running) }
        }
    }

    /// Returns once what was being begun with the enclave is known here.
    func waitForTurn() { turn.withLock { _ in } }

    static let cancelledByAnother = Failed(
        .systemCancel, "Canceled by another authentication.", .cancelledByAnother)

    /// The cause with its code.
    static func failed(_ cause: RefusalCause) -> Failed { failed(cause.failure, cause) }

    /// The code with the words that Apple's framework logs beside it (A.5).
    static func failed(_ code: AuthenticationFailure, _ cause: RefusalCause?) -> Failed {
        let message =
            switch code {
            case .authenticationFailed: "Application retry limit exceeded."
            case .userCancel: "Canceled by user."
            case .userFallback: "Fallback authentication mechanism selected."
            case .systemCancel: "UI canceled by system."
            case .passcodeNotSet: "Passcode not set."
            case .biometryNotAvailable: "Biometry is not available on this device."
            case .biometryNotEnrolled: "No identities are enrolled."
            case .biometryLockout: "Biometry is locked out."
            case .appCancel: "Canceled by application."
            case .invalidContext: "Invalidated context."
            case .companionNotAvailable: "No companion device is near."
            case .notInteractive: "User interaction required."
            case .operationNotGranted: "The access control does not grant this operation."
            }
        return .init(code, message, cause)
    }
}
