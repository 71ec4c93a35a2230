import Synchronization
import TouchstoneCore
import TouchstoneTransport

extension AuthenticationService {
    var agentHandlers: [VarlinkHandler] {
        [
            .deferred(AgentInterface.Subscribe.self) { [self] _, call in subscribe(call) },
            .method(AgentInterface.Cancel.self) { [self] request, connection in
                try checkPrompt(request.prompt, connection)
                cancel(request.prompt, .userCancel)
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
                try checkPrompt(request.prompt, connection)
                return try asking {
                    try enclave.call(
                        EnclaveInterface.SubmitPasscode.self,
                        .init(evaluation: request.prompt, passcode: request.passcode))
                }
            },
        ]
    }

    private func subscribe(_ call: VarlinkCall<AgentInterface.Subscribe>) {
        guard call.wantsMore else { return call.fail(VarlinkServiceError.ExpectedMore()) }
        guard isOwner(call.connection) else { return call.fail(DeviceInterface.Refused(.notOwner)) }
        let agent = state.withLock { state in
            let identifier = (state.agents.map(\.identifier).max() ?? 0) + 1
            let agent = ConnectedAgent(identifier: identifier, call: call)
            state.agents.append(agent)
            return agent
        }
        observe(.agentConnected)
        call.connection.onClose { [weak self] in self?.agentLost(agent.identifier) }
        call.continue(.init(event: .ready))
    }

    /// A prompt that nobody shows any more ends with -4.
    private func agentLost(_ identifier: UInt64) {
        let running = state.withLock { state -> String? in
            state.agents.removeAll { $0.identifier == identifier }
            return state.evaluation?.agent.identifier == identifier ? state.evaluation?.identifier : nil
        }
        if let running { cancel(running, .systemCancel) }
        observe(.agentLost)
    }

    /// For the log, which works or does not: nobody waits for it.
    private func observe(_ observation: EnclaveInterface.NoteObservation.Observation) {
        _ = try? enclave.call(EnclaveInterface.NoteObservation.self, .init(observation))
    }

    /// Only whoever was shown the prompt knows its name: 128 random bits.
    @discardableResult
    private func checkPrompt(_ identifier: String, _ connection: VarlinkConnection) throws -> AgentInterface.Prompt {
        guard isOwner(connection) else { throw DeviceInterface.Refused(.notOwner) }
        guard let prompt = state.withLock({ $0.evaluation?.prompt }), prompt.identifier == identifier else {
            throw AgentInterface.NoSuchPrompt()
        }
        return prompt
    }

    private func isOwner(_ connection: VarlinkConnection) -> Bool {
        connection.peer.userID == ownerID || connection.peer.userID == 0
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
