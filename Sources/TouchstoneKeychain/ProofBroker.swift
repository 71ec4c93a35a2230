package import TouchstoneCore
package import TouchstoneInterfaces
package import TouchstoneTransport

/// Whoever has the owner asked: all that the keychain knows of prompts.
package protocol ProofBroker: Sendable {
    /// Ends a context that was made for a call; returns at once, and may be called on any thread.
    func endContext(_ context: String)

    /// Has the owner prove what an access control wants for an operation; returns at once.
    ///
    /// - Parameters:
    ///   - accessControl: What the item or the key was bound to.
    ///   - operation: What the app wants to do with it.
    ///   - keyLabel: What the app calls the key.
    ///   - items: What the apps that stored them call the items.
    ///   - context: What the proof is given to, a context of the app's; nil: one is made for this call, which ends it.
    ///   - options: What the prompt says, and whether there may be one.
    ///   - connection: The app's; closing it takes the prompt down.
    ///   - made: Called with the context that was made, on any thread, before the answer; also where there is no answer.
    ///   - answer: Called on any thread, at most once: never where the connection has closed meanwhile.
    func prove(
        _ accessControl: AccessControl, for operation: AccessControlOperation, keyLabel: String?,
        items: AgentInterface.ItemNames?, in context: String?, options: AuthenticationInterface.Options,
        connection: VarlinkConnection, made: @escaping @Sendable (String) -> Void,
        answer: @escaping @Sendable (Result<Void, any Error>) -> Void)
}
