package import TouchstoneCore
package import TouchstoneInterfaces
package import TouchstoneTransport

/// Whoever has the owner asked: all that the keychain knows of prompts.
package protocol ProofBroker: Sendable {
    /// Makes a context for one call of the app at the other end, which came without one.
    ///
    /// - Throws: What the enclave throws; `PermissionDenied` where nobody knows the app.
    func makeContext(for connection: VarlinkConnection) throws -> String

    /// Ends such a context; returns at once, and may be called on any thread.
    func endContext(_ context: String)

    /// Has the owner prove what an access control wants for an operation; returns at once.
    ///
    /// - Parameters:
    ///   - accessControl: What the item or the key was bound to.
    ///   - operation: What the app wants to do with it.
    ///   - keyLabel: What the app calls the key.
    ///   - context: What the proof is given to; a context of the app's.
    ///   - options: What the prompt says, and whether there may be one.
    ///   - connection: The app's; closing it takes the prompt down.
    ///   - answer: Called on any thread, at most once: never where the connection has closed meanwhile.
    func prove(
        _ accessControl: AccessControl, for operation: AccessControlOperation, keyLabel: String?, in context: String,
        options: AuthenticationInterface.Options, connection: VarlinkConnection,
        answer: @escaping @Sendable (Result<Void, any Error>) -> Void)
}
