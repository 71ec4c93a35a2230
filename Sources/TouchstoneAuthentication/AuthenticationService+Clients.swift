import Synchronization
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneTransport

/// Those for whom bridges ask (ND-1, ND-2).
///
/// A bridge names a process; who that is touchstoned finds out as it does of a peer. The name of a bridge's client is in prompts and in the
/// log. What belongs to whom it does not change: contexts, items and keys are the bridge's.
extension AuthenticationService {
    /// Who asks by way of a bridge, and the process by which it can be told whether it still is.
    struct ContextClient: Sendable {
        /// Who asks for it.
        var bridge: AppIdentifier
        var identity: AppIdentity
        var peer: Peer

        /// How it came to run, as it is now.
        var origin: ProcessOrigin? { peer.origin()?.shownToThePerson }

        /// - Throws: `NoSuchClient` where it is gone, or another program by now.
        func check() throws(AuthenticationInterface.NoSuchClient) {
            guard peer.isUnchanged() else { throw .init() }
        }
    }

    var clientHandlers: [VarlinkHandler] {
        [
            .deferred(AuthenticationInterface.CreateContext.self) { [self] request, call in
                look(for: request.client, call) { [self] in
                    try createContext(call.connection, for: try client(request.client, of: call.connection))
                }
            },
            .deferred(AuthenticationInterface.DescribeClient.self) { [self] request, call in
                look(for: request.client, call) { [self] in
                    let client = try client(request.client, of: call.connection)
                    return .init(app: client.identity, origin: client.origin)
                }
            },
            .deferred(AuthenticationInterface.RequestUnlock.self) { [self] request, call in
                call.connection.endTurn()
                perform(for: request.client, call) { [self] in
                    requestUnlock(try client(request.client, of: call.connection), call)
                }
            },
        ]
    }

    private func look<M: VarlinkMethod>(
        for client: AuthenticationInterface.Client?, _ call: VarlinkCall<M>,
        _ body: @escaping @Sendable () throws -> M.Reply
    ) {
        perform(for: client, call) { call.answer(.success(try body())) }
    }

    /// Runs `body` on the connection's own thread: in turn with others for which the enclave alone is asked.
    ///
    /// Whoever looks at a client's process may wait for a file system, which takes no turn from anybody. Only bridges get a thread for that.
    private func perform<M: VarlinkMethod>(
        for client: AuthenticationInterface.Client?, _ call: VarlinkCall<M>,
        _ body: @escaping @Sendable () throws -> Void
    ) {
        let answer = { @Sendable in
            do { try body() } catch { call.answer(.failure(error)) }
        }
        if client == nil { return _ = call.connection.perform(inTurnOf: calls) { _ in answer() } }
        do {
            guard try call.connection.identity().actsForClients else { throw VarlinkServiceError.PermissionDenied() }
            call.connection.perform(answer)
        } catch {
            call.answer(.failure(error))
        }
    }

    private func client(
        _ client: AuthenticationInterface.Client?, of connection: VarlinkConnection
    ) throws -> ContextClient? {
        try client.map { try self.client($0, of: connection) }
    }

    /// Looks at the process that a bridge names.
    ///
    /// - Throws: `PermissionDenied` where the app at the other end is no bridge; `NoSuchClient`.
    private func client(
        _ client: AuthenticationInterface.Client, of connection: VarlinkConnection
    ) throws -> ContextClient {
        let bridge = try connection.identity()
        guard bridge.actsForClients else { throw VarlinkServiceError.PermissionDenied() }
        let process = ClientProcess(processID: client.processID, startTicks: client.startTicks)
        guard let peer = connection.peer.client(process), let identity = peer.identify() else {
            throw AuthenticationInterface.NoSuchClient()
        }
        return ContextClient(bridge: bridge.identifier, identity: identity, peer: peer)
    }

    /// Whether a bridge may have one more context for a client.
    func hasRoomForClient(of bridge: AppIdentifier) -> Bool {
        state.withLock { state in
            state.clients.count < Limits.clientContexts
                && state.clients.values.count { $0.bridge == bridge } < Limits.clientContextsPerApp
        }
    }

    /// ND-5: facts are a bridge's, and few.
    func checkFacts(_ options: AuthenticationInterface.Options, of app: AppIdentity) throws {
        guard let facts = options.facts else { return }
        guard app.actsForClients else { throw VarlinkServiceError.PermissionDenied() }
        guard facts.count <= Limits.facts else { throw VarlinkServiceError.InvalidParameter(parameter: "facts") }
    }
}

extension AgentInterface.Prompt {
    /// Says who asks by way of the app, and what the app says of it.
    mutating func name(_ asking: AuthenticationService.Asking) {
        origin = asking.origin
        client = asking.client
        facts = asking.options.facts?.map { .init(kind: $0.kind, text: $0.text.shownToThePerson) }
    }
}
