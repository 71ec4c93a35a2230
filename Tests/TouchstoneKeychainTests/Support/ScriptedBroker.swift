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

    func makeContext(for connection: VarlinkConnection) throws -> String {
        state.withLock { state in
            state.made += 1
            return "context \(state.made)"
        }
    }

    func endContext(_ context: String) { state.withLock { $0.ended.append(context) } }

    func prove(
        _ accessControl: AccessControl, for operation: AccessControlOperation, keyLabel: String?, in context: String,
        options: AuthenticationInterface.Options, connection: VarlinkConnection,
        answer: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        let said = state.withLock { state in
            state.asked.append(accessControl)
            return state.answer
        }
        answer(said.mapError { $0 })
    }
}
