import Dispatch
import Synchronization
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneTransport

/// The contexts of apps, which end with the connection that made them (EV-50).
extension AuthenticationService {
    func createContext(
        _ connection: VarlinkConnection, for client: ContextClient?
    ) throws -> AuthenticationInterface.CreateContext.Reply {
        let app = try connection.identity()
        let key = ObjectIdentifier(connection)
        let count = state.withLock { $0.contextsByConnection[key]?.count }
        guard count ?? 0 < Limits.contextsPerConnection, client == nil || hasRoomForClient(of: app.identifier) else {
            refusals.note(.tooManyContexts, of: app, for: client?.identity.identifier)
            throw AuthenticationInterface.Failed(
                .invalidContext, "Too many contexts: let go of some.", .tooManyContexts)
        }
        let context = try makeContext(of: app, for: client)
        state.withLock { _ = $0.contextsByConnection[key, default: []].insert(context) }
        // One handler for all of them, however many come and go.
        if count == nil { connection.onClose { [weak self] in self?.connectionEnded(key) } }
        // It may have closed before the context was in the list, after its handler had looked there.
        if connection.isClosed { connectionEnded(key) }
        return .init(context: context)
    }

    private func connectionEnded(_ connection: ObjectIdentifier) {
        let contexts = state.withLock { $0.contextsByConnection.removeValue(forKey: connection) } ?? []
        for context in contexts { endContext(context) }
    }

    func invalidateContext(_ context: String, _ connection: VarlinkConnection) throws {
        // Twice is harmless, and so is another app's: it says nothing (EV-50).
        guard try isOwner(connection, of: context) else { return }
        state.withLock { state in
            for key in state.contextsByConnection.keys { state.contextsByConnection[key]?.remove(context) }
        }
        try forget(context)
    }

    /// EV-50: what runs on the context ends with -9.
    private func forget(_ context: String) throws {
        contexts.remove(context)
        waitForTurn()
        let running = state.withLock { state -> RunningEvaluation? in
            state.passwords[context] = nil
            state.clients[context] = nil
            return state.evaluation?.context == context ? state.evaluation : nil
        }
        _ = try enclave.call(EnclaveInterface.InvalidateContext.self, .init(context: context))
        endWaiting(Self.failed(.cancelledByApp)) { $0.context == context }
        if let running { finish(running.identifier, .failure(Self.failed(.cancelledByApp))) }
    }

    func isOwner(_ connection: VarlinkConnection, of context: String) throws -> Bool {
        contexts.isOwner(try connection.identity(), of: context)
    }

    /// `client` is for whom it is; nil: for the app itself.
    ///
    /// - Throws: What the enclave throws.
    func makeContext(of app: AppIdentity, for client: ContextClient? = nil) throws -> String {
        let context = try enclave.call(
            EnclaveInterface.CreateContext.self,
            .init(app: app.identifier, accessGroups: app.accessGroups, client: client?.identity.identifier)
        ).context
        if let client { state.withLock { $0.clients[context] = client } }
        contexts.add(context, of: app, for: client?.identity.identifier)
        return context
    }

    /// Ends a context that nobody uses any more; returns at once, and may be called on any thread.
    package func endContext(_ context: String) {
        endings.async { [self] in _ = try? forget(context) }
    }
}
