import Synchronization
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneKeychain
import TouchstoneTransport

/// Says of every proof what a test wants, and counts.
final class ScriptedBroker: ProofBroker {
    struct State: Sendable {
        var answer: Result<Void, AuthenticationInterface.Failed> = .success(())
        var asked: [AccessControl] = []
        var made = 0
        var ended: [String] = []
    }

    let state = Mutex(State())

    func endContext(_ context: String) { state.withLock { $0.ended.append(context) } }

    func prove(
        _ accessControl: AccessControl, for operation: AccessControlOperation, keyLabel: String?,
        items: AgentInterface.ItemNames?, in context: String?, options: AuthenticationInterface.Options,
        connection: VarlinkConnection, made: @escaping @Sendable (String) -> Void,
        answer: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        let (said, number) = state.withLock { state in
            state.asked.append(accessControl)
            if context == nil { state.made += 1 }
            return (state.answer, state.made)
        }
        if context == nil { made("context \(number)") }
        answer(said.mapError { $0 })
    }
}
