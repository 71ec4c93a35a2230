internal import Foundation
package import TouchstoneSystem
package import TouchstoneTransport

/// One of an agent's two connections.
package struct AgentChannel: Sendable {
    private let channel: any VarlinkChannel
    package let client: VarlinkClient

    /// - Throws: `AgentError.notBooted`.
    package init(_ paths: DevicePaths) throws {
        do {
            channel = try SocketEndpoint(path: paths.socket.path).connect()
        } catch {
            throw AgentError.notBooted
        }
        client = VarlinkClient(channel)
    }

    /// Ends the connection, also under a call that waits in another thread.
    package func close() { channel.close() }
}
