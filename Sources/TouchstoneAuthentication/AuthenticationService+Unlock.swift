import Foundation
import Synchronization
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneTransport

/// Asking for the device to be unlocked (ND-6): a prompt of its own kind, as behind the lock screen nothing is evaluated (EV-05).
///
/// It decides nothing. The passcode goes to the enclave by `Device.Unlock`, and a finger by the lock screen; the prompt ends when the
/// enclave says that the device is unlocked, whoever unlocked it.
extension AuthenticationService {
    /// Who wants the device unlocked, and hears of it.
    struct UnlockRequest: Sendable {
        var number: UInt64
        var app: AppIdentity
        var client: AppIdentity?
        var origin: ProcessOrigin?
        var answer: @Sendable (Result<Void, any Error>) -> Void
    }

    /// The prompt that is up.
    ///
    /// All requests are one prompt, which names the first of those that still wait.
    struct RunningUnlock: Sendable {
        var prompt: AgentInterface.Prompt
        var requests: [UnlockRequest]
        var agent: ConnectedAgent
        var isShown = false
    }

    /// `client` is for whom the app at the other end asks; nil: for itself.
    func requestUnlock(_ client: ContextClient?, _ call: VarlinkCall<AuthenticationInterface.RequestUnlock>) {
        do {
            try call.connection.withToldIdentity { [self] app in requestUnlock(app, client, call) }
        } catch {
            call.answer(.failure(error))
        }
    }

    private func requestUnlock(
        _ app: AppIdentity, _ client: ContextClient?, _ call: VarlinkCall<AuthenticationInterface.RequestUnlock>
    ) {
        do {
            let facts = try facts(app)
            guard facts.isLocked else { return call.reply(Empty()) }
            let key = PromptPatience.key(of: app, client?.identity)
            guard state.withLock({ [now = now()] in $0.patience?.mayAsk(key, now: now) ?? true }) else {
                throw Self.failed(.cancelledTooOften)
            }
            let origin = client == nil ? call.connection.peer.origin()?.shownToThePerson : client?.origin
            let closing = Mutex<UInt64?>(nil)
            let number = try state.withLock { state in
                state.unlockRequests += 1
                let request = UnlockRequest(
                    number: state.unlockRequests, app: app, client: client?.identity, origin: origin
                ) { result in
                    if let handler = closing.withLock({ $0 }) { call.connection.removeCloseHandler(handler) }
                    call.answer(result.map { Empty() })
                }
                if let running = state.unlock {
                    let own = running.requests.count { $0.app.identifier == app.identifier }
                    guard running.requests.count < Limits.unlockRequests, own < Limits.unlockRequestsPerApp else {
                        throw Self.failed(.tooManyWait)
                    }
                    state.unlock?.requests.append(request)
                } else {
                    begin(
                        RunningUnlock(
                            prompt: Self.prompt(of: request, facts), requests: [request],
                            agent: try state.agent(for: app)),
                        &state)
                }
                return request.number
            }
            let handler = call.connection.onClose { [weak self] in self?.leaveUnlock(number) }
            closing.withLock { $0 = handler }
            // It may have been answered by now.
            if !isWaiting(number) { call.connection.removeCloseHandler(handler) }
            // It may have been unlocked since it was looked at.
            endUnlockIfDone()
        } catch {
            if let failed = error as? Failed { noteRefusal(failed, of: app, for: client?.identity.identifier, nil) }
            call.answer(.failure(error))
        }
    }

    private func isWaiting(_ number: UInt64) -> Bool {
        state.withLock { $0.unlock?.requests.contains { $0.number == number } == true }
    }

    private static func prompt(of request: UnlockRequest, _ facts: EnclaveInterface.Facts) -> AgentInterface.Prompt {
        AgentInterface.Prompt(
            identifier: freshIdentifier(), app: request.app, client: request.client, origin: request.origin, reason: "",
            biometryType: facts.isEnrolled && !facts.isBiometryLockedOut ? facts.biometryType : .none, phase: .unlock,
            cancelTitle: "Cancel", failures: 0, nonce: Data(), retryAfterSeconds: facts.passcodeRetryAfterSeconds,
            wrongPasscode: false, passcodeKind: facts.passcodeKind)
    }

    /// To be called while the state is locked.
    private func begin(_ running: RunningUnlock, _ state: inout State) {
        state.unlock = running
        show(.show, running)
        expectConfirmation(of: running)
    }

    private func show(_ event: AgentInterface.Event, _ running: RunningUnlock) {
        show(event, running.prompt, to: running.agent)
    }

    private func expectConfirmation(of running: RunningUnlock) {
        let (prompt, agent) = (running.prompt.identifier, running.agent.identifier)
        schedule(Limits.showing) { [weak self] in
            let stuck = self?.state.withLock { state -> ConnectedAgent? in
                guard let running = state.unlock, running.prompt.identifier == prompt, !running.isShown,
                    running.agent.identifier == agent
                else { return nil }
                return running.agent
            }
            stuck?.call.drop()
        }
    }

    /// - Returns: Whether it is the prompt that asks for that.
    func confirmUnlockShown(_ identifier: String, _ owner: IsOwner) -> Bool {
        state.withLock { state in
            guard state.unlock?.prompt.identifier == identifier else { return false }
            state.unlock?.isShown = true
            return true
        }
    }

    /// The owner does not want to unlock it now.
    ///
    /// - Returns: Whether it is the prompt that asks for that.
    func cancelUnlock(_ identifier: String, _ owner: IsOwner) -> Bool {
        let isMeant = state.withLock { [now = now()] state in
            guard let running = state.unlock, running.prompt.identifier == identifier else { return false }
            for key in Set(running.requests.map({ PromptPatience.key(of: $0.app, $0.client) })) {
                state.patience?.cancelled(key, now: now)
            }
            return true
        }
        if isMeant { endUnlock(.failure(Self.failed(.ownerCancelled))) }
        return isMeant
    }

    /// Ends the prompt where the device is unlocked by now.
    func endUnlockIfDone() {
        guard state.withLock({ $0.unlock != nil }),
            let facts = try? enclave.call(EnclaveInterface.GetFacts.self, .init(app: "")).facts
        else { return }
        if !facts.isLocked { endUnlock(.success(())) }
    }

    /// A passcode was refused: the prompt says so, and when the next is looked at.
    ///
    /// - Parameter rejected: nil: it was not looked at.
    func unlockRefused(_ rejected: DeviceInterface.PasscodeRejected?) {
        state.withLock { state in
            guard state.unlock != nil else { return }
            state.unlock?.prompt.wrongPasscode = rejected != nil
            state.unlock?.prompt.retryAfterSeconds = rejected?.retryAfterSeconds
            if let running = state.unlock { show(.show, running) }
        }
    }

    /// Takes the prompt down, and answers all who wait for it.
    func endUnlock(_ result: Result<Void, any Error>) {
        let ended = state.withLock { state in
            let ended = state.unlock.take()
            if let ended { show(result.isSuccess ? .succeeded : .dismissed, ended) }
            return ended
        }
        for request in ended?.requests ?? [] { request.answer(result) }
    }

    /// One of them is gone: the prompt goes on for the next, by the name of that.
    private func leaveUnlock(_ number: UInt64) {
        guard isWaiting(number) else { return }
        let facts = try? enclave.call(EnclaveInterface.GetFacts.self, .init(app: "")).facts
        state.withLock { state in
            guard var running = state.unlock, let place = running.requests.firstIndex(where: { $0.number == number })
            else { return }
            running.requests.remove(at: place)
            state.unlock = running
            guard place == 0 else { return }
            show(.dismissed, running)
            state.unlock = nil
            guard let next = running.requests.first, let facts else { return }
            running.prompt = Self.prompt(of: next, facts)
            running.isShown = false
            begin(running, &state)
        }
    }

    /// The next agent shows what this one showed; without one nobody can be asked.
    func moveUnlock(from agent: UInt64) {
        let isOrphan = state.withLock { state in
            guard var running = state.unlock, running.agent.identifier == agent else { return false }
            guard let next = state.agents.first else { return true }
            running.agent = next
            running.isShown = false
            begin(running, &state)
            return false
        }
        if isOrphan { endUnlock(.failure(Self.failed(.noAgent))) }
    }
}

extension Result where Success == Void {
    fileprivate var isSuccess: Bool { if case .success = self { true } else { false } }
}
