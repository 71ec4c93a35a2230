import Dispatch
import Synchronization
import TouchstoneCore
import TouchstoneTransport

extension AuthenticationService {
    var agentHandlers: [VarlinkHandler] {
        [
            .deferred(AgentInterface.Subscribe.self) { [self] request, call in subscribe(request.version, call) },
            .method(AgentInterface.ConfirmShown.self) { [self] request, connection in
                try checkPrompt(request.prompt, connection)
                return Empty()
            },
            .method(AgentInterface.Cancel.self) { [self] request, connection in
                try checkPrompt(request.prompt, connection)
                cancel(request.prompt, Self.failed(.ownerCancelled))
                return Empty()
            },
            .method(AgentInterface.ChooseFallback.self) { [self] request, connection in
                let prompt = try checkPrompt(request.prompt, connection)
                guard prompt.fallbackTitle != nil else { throw AgentInterface.NoSuchPrompt() }
                return try asking {
                    try enclave.call(EnclaveInterface.ChooseFallback.self, .init(evaluation: request.prompt))
                }
            },
            .method(AgentInterface.AnswerPermission.self) { [self] request, connection in
                try checkPrompt(request.prompt, connection)
                return try asking {
                    try enclave.call(
                        EnclaveInterface.AnswerPermission.self,
                        .init(evaluation: request.prompt, isAllowed: request.isAllowed))
                }
            },
            .method(AgentInterface.TryAgain.self) { [self] request, connection in
                try checkPrompt(request.prompt, connection)
                return try asking {
                    try enclave.call(EnclaveInterface.TryAgain.self, .init(evaluation: request.prompt))
                }
            },
            .method(AgentInterface.EnterPasscode.self) { [self] request, connection in
                let prompt = try checkPrompt(request.prompt, connection)
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

    private func subscribe(_ version: Int?, _ call: VarlinkCall<AgentInterface.Subscribe>) {
        guard call.wantsMore else { return call.fail(VarlinkServiceError.ExpectedMore()) }
        guard call.connection.isOwner(ownerID) else { return call.fail(DeviceInterface.Refused(.notOwner)) }
        guard version ?? AgentInterface.version == AgentInterface.version else {
            return call.fail(AgentInterface.UnsupportedVersion())
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
        call.connection.onClose { [weak self] in self?.agentLost(agent.identifier) }
    }

    /// The next agent shows what this one showed; a prompt that nobody shows any more ends with -4.
    private func agentLost(_ identifier: UInt64) {
        let orphan = state.withLock { state -> String? in
            state.agents.removeAll { $0.identifier == identifier }
            guard var running = state.evaluation, running.agent.identifier == identifier else { return nil }
            guard let next = state.agents.first else { return running.identifier }
            running.agent = next
            running.isShown = false
            state.evaluation = running
            show(.show, running)
            expectConfirmation(of: running)
            return nil
        }
        if let orphan { cancel(orphan, Self.failed(.agentLost)) }
        observe(.agentLost)
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
    private func observe(_ observation: EnclaveInterface.NoteObservation.Observation) {
        _ = try? enclave.call(EnclaveInterface.NoteObservation.self, .init(observation))
    }

    /// Only whoever was shown the prompt knows its name: 128 random bits.
    @discardableResult
    private func checkPrompt(_ identifier: String, _ connection: VarlinkConnection) throws -> AgentInterface.Prompt {
        guard connection.isOwner(ownerID) else { throw DeviceInterface.Refused(.notOwner) }
        return try state.withLock { state in
            guard let prompt = state.evaluation?.prompt, prompt.identifier == identifier else {
                throw AgentInterface.NoSuchPrompt()
            }
            state.evaluation?.isShown = true
            return prompt
        }
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
