internal import Glibc
internal import Synchronization
package import TouchstoneCore
package import TouchstoneTransport

/// The connections that this process keeps to one device.
///
/// Calls from many threads do not wait for one another: each takes a connection that nobody uses, or makes one. Contexts live
/// as long as the connection that made them, so that one is kept apart and never closed.
final class ConnectionPool: Sendable {
    private struct State {
        var idle: [VarlinkClient] = []
        var lifeline: VarlinkClient?
    }

    private let state = Mutex(State())

    func takeIdle() -> VarlinkClient? {
        state.withLock { $0.idle.popLast() }
    }

    func giveBack(_ client: VarlinkClient) {
        state.withLock { state in
            if state.idle.count < Self.maximumIdle { state.idle.append(client) }
        }
    }

    /// One turned out to be closed: then the device was restarted, and so are they all.
    func forgetIdle() {
        let forgotten = state.withLock { state in
            defer { state.idle = [] }
            return state.idle
        }
        for client in forgotten { client.close() }
    }

    var lifeline: VarlinkClient? { state.withLock { $0.lifeline } }

    func setLifeline(_ client: VarlinkClient) {
        state.withLock { $0.lifeline = client }
    }

    /// This process's pool of `endpoint`; nil if connections are not worth keeping.
    static func shared(_ endpoint: any VarlinkEndpoint) -> ConnectionPool? {
        guard let identifier = endpoint.identifier else { return nil }
        return byEndpoint.withLock { shared in
            if shared.process != getpid() {
                // A fork has its parent's sockets. Kept and never touched again: closing them would end the parent's.
                shared.inherited.append(shared.pools)
                shared.pools = [:]
                shared.process = getpid()
            }
            if let pool = shared.pools[identifier] { return pool }
            let pool = ConnectionPool()
            shared.pools[identifier] = pool
            return pool
        }
    }

    private struct Shared {
        var process = getpid()
        var pools: [String: ConnectionPool] = [:]
        var inherited: [[String: ConnectionPool]] = []
    }

    private static let byEndpoint = Mutex(Shared())

    /// Connections kept open while nobody uses them, for each device.
    private static let maximumIdle = 8
}

extension VarlinkEndpoint {
    /// One call on a connection that nobody else uses.
    ///
    /// A call that never left is made again on a new connection, so that a restart of the device goes unnoticed; one that may
    /// have been carried out is not, unless it `isRepeatable`.
    ///
    /// - Throws: `RemoteError`, the device's answer; `TransportError`, where there was none.
    package func call<M: VarlinkMethod>(
        _ method: M.Type, _ parameters: M.Parameters, isRepeatable: Bool = false
    ) throws -> M.Reply {
        try attempt(isRepeatable: isRepeatable) { client, _ in try client.call(method, parameters) }
    }

    /// Runs `body` on a connection that nobody else uses; where that was an old one that broke, once more on a new one.
    ///
    /// What may have been carried out is not made again, unless it `isRepeatable`. Then `body` is told that it is.
    func attempt<Reply>(
        isRepeatable: Bool, _ body: (_ client: VarlinkClient, _ isAgain: Bool) throws -> Reply
    ) throws -> Reply {
        let pool = ConnectionPool.shared(self)
        var isAgain = false
        if let kept = pool?.takeIdle() {
            do {
                return try answer(of: kept, pool) { try body($0, false) }
            } catch TransportError.unreachable {
                pool?.forgetIdle()
            } catch TransportError.closed where isRepeatable {
                pool?.forgetIdle()
                isAgain = true
            }
        }
        do {
            return try answer(of: client(), pool) { [isAgain] in try body($0, isAgain) }
        } catch TransportError.unreachable {
            UnreachableDevice.report(self)
            throw TransportError.unreachable
        }
    }

    /// Gives the connection back where it can be used again: after an answer, whatever it was.
    private func answer<Reply>(
        of client: VarlinkClient, _ pool: ConnectionPool?, _ body: (VarlinkClient) throws -> Reply
    ) throws -> Reply {
        do {
            let reply = try body(client)
            pool?.giveBack(client)
            return reply
        } catch let error as RemoteError {
            pool?.giveBack(client)
            throw error
        }
    }
}

extension VarlinkClient {
    /// One call whose answer comes in parts, of each of which `body` makes elements.
    ///
    /// - Returns: The elements of all parts.
    /// - Throws: As `call`; then nothing of what came counts.
    func elements<M: VarlinkMethod, Element>(
        _ method: M.Type, _ parameters: M.Parameters, _ body: (M.Reply) -> [Element]
    ) throws -> [Element] {
        var elements: [Element] = []
        try stream(method, parameters) { reply in
            elements += body(reply)
            return true
        }
        return elements
    }
}
