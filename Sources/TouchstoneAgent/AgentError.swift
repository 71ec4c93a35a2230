internal import TouchstoneTransport

/// Why there is no agent any more.
package enum AgentError: Error {
    /// Nothing listens on the device's socket.
    case notBooted
    /// The device ended the agent's connection, or went away with this error.
    case ended((any Error)?)
    /// The system refused what every process needs: the `errno`.
    case system(Int32)

    /// Whether it says that the device, or the connection, is gone.
    package static func isGone(_ error: any Error) -> Bool {
        if case .notBooted? = error as? AgentError { return true }
        if case .ended? = error as? AgentError { return true }
        return [.unreachable, .closed].contains(error as? TransportError)
    }
}
