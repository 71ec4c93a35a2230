import Dispatch
import Synchronization
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneTransport

extension AuthenticationService {
    var agentHandlers: [OwnerHandler] {
        [
            .deferred(AgentInterface.Subscribe.self, wantsMore: true) { [self] request, call, owner in
                subscribe(request.version, call, owner)
            },
            .method(AgentInterface.ConfirmShown.self) { [self] request, _, owner in
                if confirmUnlockShown(request.prompt, owner) { return Empty() }
                try checkPrompt(request.prompt, owner)
                return Empty()
            },
            .method(AgentInterface.Cancel.self) { [self] request, _, owner in
                if cancelUnlock(request.prompt, owner) { return Empty() }
                try checkPrompt(request.prompt, owner, isEnding: true)
                cancelByOwner(request.prompt)
                return Empty()
            },
            .method(AgentInterface.ChooseFallback.self) { [self] request, _, owner in
                let prompt = try checkPrompt(request.prompt, owner)
                guard prompt.fallbackTitle != nil else { throw AgentInterface.NoSuchPrompt() }
                return try asking {
                    try enclave.call(EnclaveInterface.ChooseFallback.self, .init(evaluation: request.prompt))
                }
            },
            .method(AgentInterface.AnswerPermission.self) { [self] request, _, owner in
                try checkPrompt(request.prompt, owner)
                return try asking {
                    try enclave.call(
                        EnclaveInterface.AnswerPermission.self,
                        .init(evaluation: request.prompt, isAllowed: request.isAllowed))
                }
            },
            .method(AgentInterface.TryAgain.self) { [self] request, _, owner in
                try checkPrompt(request.prompt, owner)
                return try asking {
                    try enclave.call(EnclaveInterface.TryAgain.self, .init(evaluation: request.prompt))
                }
            },
            .method(AgentInterface.EnterPasscode.self) { [self] request, connection, owner in
                let prompt = try checkPrompt(request.prompt, owner)
                return try asking {
                    if prompt.phase == .applicationPassword {
                        return try enterPassword(request.passcode, prompt: request.prompt)
                    }
                    return try enclave.call(
                        EnclaveInterface.SubmitPasscode.self,
                        .init(
                            evaluation: request.prompt, passcode: request.passcode,
                            caller: EnclaveInterface.Caller(connection)))
                }
            },
        ]
    }

    /// The owner took the prompt down; an app to which that happens again and again waits before it may ask (DEC-073).
    private func cancelByOwner(_ identifier: String) {
        let key = state.withLock { $0.evaluation?.asking.patienceKey }
        guard let key, claimEnd(of: identifier) else { return }
        // Before the app hears of it, and can ask anew.
        state.withLock { [now = now()] in $0.patience?.cancelled(key, now: now) }
        endClaimed(identifier, Self.failed(.ownerCancelled))
    }

    private func subscribe(_ version: Int?, _ call: VarlinkCall<AgentInterface.Subscribe>, _ owner: IsOwner) {
        guard version ?? AgentInterface.version == AgentInterface.version else {
            return call.fail(AgentInterface.UnsupportedVersion(supported: AgentInterface.version))
        }
        let agent = state.withLock { state -> ConnectedAgent? in
            guard state.agents.count < Limits.agents else { return nil }
            let identifier = (state.agents.map(\.identifier).max() ?? 0) + 1
            let agent = ConnectedAgent(identifier: identifier, call: call)
            state.agents.append(agent)
            // Before anything that it is shown, from the moment on in which it can be.
            screen.async { call.continue(.init(event: .ready)) }
            return agent
        }
        guard let agent else { return call.fail(DeviceInterface.Refused(.busy)) }
        observe(.agentConnected)
        agentsChanged()
        call.connection.onClose { [weak self] in
            // Known at once, so that no prompt begins at an agent that is gone. The enclave is told where nobody else waits for it.
            guard let left = self?.leave(agent.identifier) else { return }
            call.connection.perform { [weak self] in self?.agentLost(agent.identifier, left) }
        }
    }

    /// The prompt that an agent left: one that the next agent shows, or one that nobody shows any more.
    private typealias LeftPrompt = (orphan: String?, hidden: String?)

    private func leave(_ identifier: UInt64) -> LeftPrompt {
        state.withLock { state in
            state.agents.removeAll { $0.identifier == identifier }
            guard var running = state.evaluation, running.agent.identifier == identifier else { return (nil, nil) }
            guard let next = state.agents.first else { return (running.identifier, nil) }
            running.agent = next
            running.isShown = false
            running.isTouchAwaited = false
            state.evaluation = running
            return (nil, running.identifier)
        }
    }

    /// The next agent shows what this one showed; a prompt that nobody shows any more ends with -4.
    private func agentLost(_ identifier: UInt64, _ left: LeftPrompt) {
        if let hidden = left.hidden {
            // First, so that it does not undo what the next agent says of the prompt.
            _ = try? enclave.call(EnclaveInterface.SetShown.self, .init(evaluation: hidden, isShown: false))
            state.withLock { state in
                guard let running = state.evaluation, running.identifier == hidden else { return }
                show(.show, running)
                expectConfirmation(of: running)
            }
        }
        if let orphan = left.orphan { cancel(orphan, Self.failed(.agentLost)) }
        moveUnlock(from: identifier)
        observe(.agentLost)
        agentsChanged()
    }

    /// An agent from which nothing comes about a prompt is stuck, and none any more.
    func expectConfirmation(of evaluation: RunningEvaluation) {
        let (prompt, agent) = (evaluation.identifier, evaluation.agent.identifier)
        schedule(Limits.showing) { [weak self] in
            let stuck = self?.state.withLock { state -> ConnectedAgent? in
                guard let running = state.evaluation, running.identifier == prompt, !running.isShown,
                    running.agent.identifier == agent
                else { return nil }
                return running.agent
            }
            stuck?.call.drop()
        }
    }

    /// For the log, which works or does not: nobody waits for it.
    private func observe(_ observation: EnclaveInterface.Observation) {
        _ = try? enclave.call(EnclaveInterface.NoteObservation.self, .init(observation))
    }

    /// Only whoever was shown the prompt knows its name: 128 random bits.
    ///
    /// The sensor counts once an agent has said anything of its prompt, except that it ends.
    @discardableResult
    private func checkPrompt(
        _ identifier: String, _ owner: IsOwner, isEnding: Bool = false
    ) throws -> AgentInterface.Prompt {
        let (running, isNews) = try state.withLock { state in
            guard let running = state.evaluation, running.identifier == identifier else {
                throw AgentInterface.NoSuchPrompt()
            }
            if isEnding { return (running, false) }
            state.evaluation?.isShown = true
            return (running, !running.isShown)
        }
        if isNews { promptShown(identifier, by: running.agent.identifier) }
        return running.prompt
    }

    /// Has the sensor count for the prompt, in a moment: the enclave says when.
    private func promptShown(_ identifier: String, by agent: UInt64) {
        // The enclave does not know prompts for application passwords.
        guard
            let seconds = try? enclave.call(
                EnclaveInterface.SetShown.self, .init(evaluation: identifier, isShown: true)
            ).touchesAfterSeconds
        else { return }
        guard seconds > 0 else { return touchesCount(identifier, agent) }
        schedule(seconds) { [weak self] in self?.touchesCount(identifier, agent) }
    }

    /// Not where the agent went meanwhile: for the next one the time begins anew.
    private func touchesCount(_ identifier: String, _ agent: UInt64) {
        let touches = state.withLock { state -> [@Sendable (Bool) -> Void] in
            guard var running = state.evaluation, running.identifier == identifier, running.isShown,
                running.agent.identifier == agent
            else { return [] }
            defer { state.evaluation = running }
            running.isTouchAwaited = true
            defer { running.earlyTouches = [] }
            return running.earlyTouches
        }
        for touch in touches { touch(true) }
    }

    /// Runs `body` once the sensor counts for the prompt that is up, at once where none waits for it.
    ///
    /// A simulated finger stays on the sensor until it does. It is told false where the prompt goes first: the finger was not meant
    /// for the next.
    func whenTouchCounts(_ body: @escaping @Sendable (Bool) -> Void) {
        let isEarly = state.withLock { state in
            guard let running = state.evaluation, running.prompt.phase == .biometry, !running.isTouchAwaited,
                running.earlyTouches.count < Limits.earlyTouches
            else { return false }
            state.evaluation?.earlyTouches.append(body)
            return true
        }
        if !isEarly { body(true) }
    }

    private func asking(_ body: () throws -> Empty) throws -> Empty {
        do {
            return try body()
        } catch let error as RemoteError {
            if let refused = error.as(DeviceInterface.Refused.self) { throw refused }
            if error.as(EnclaveInterface.NotKept.self) != nil { throw DeviceInterface.Refused(.notKept) }
            throw AgentInterface.NoSuchPrompt()
        }
    }
}
