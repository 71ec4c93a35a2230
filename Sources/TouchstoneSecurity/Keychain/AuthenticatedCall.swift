internal import TouchstoneCore
package import TouchstoneTransport

/// How the owner is asked, where a call needs it: what a dictionary says of that.
package struct Authentication {
    var context: (any AuthenticationContext)?
    /// Of `kSecUseOperationPrompt`.
    var operationPrompt: String?
    /// Whether the call must fail rather than ask the owner (AC-41).
    var forbidsInteraction = false
    /// What the app calls the key that it wants to use.
    var keyLabel: String?

    package init(
        context: (any AuthenticationContext)?, operationPrompt: String? = nil, forbidsInteraction: Bool = false
    ) {
        self.context = context
        self.operationPrompt = operationPrompt
        self.forbidsInteraction = forbidsInteraction
    }

    /// What the prompt says: the context's text, else the query's, else ours (AC-27).
    fileprivate var reason: String {
        if let reason = context?.localizedReason, !reason.isEmpty { return reason }
        if let operationPrompt, !operationPrompt.isEmpty { return operationPrompt }
        return "access an item in your keychain"
    }
}

/// A call for an item or a key that has the owner asked as often as the device wants it (AC-40).
package struct AuthenticatedCall {
    private let authentication: Authentication

    package init(_ authentication: Authentication) {
        self.authentication = authentication
    }

    /// Calls until the device has what it needs.
    ///
    /// Blocks for as long as a prompt is up (AC-26). A caller that gives no context is asked every time (AC-25).
    ///
    /// - Parameter body: The call, to the device and with the context given.
    /// - Returns: What the last call returned.
    /// - Throws: What the last call has thrown, or why the owner's proof was not had.
    package func run<Reply>(_ body: (any VarlinkEndpoint, String?) throws -> Reply) throws -> Reply {
        guard let context = authentication.context else { return try runWithoutContext(body) }
        let device = context.deviceContext
        return try run(
            device.endpoint, device,
            options: { context.evaluationOptions(reason: $0) },
            identifier: try Self.identifier(of: device), body)
    }

    private func runWithoutContext<Reply>(_ body: (any VarlinkEndpoint, String?) throws -> Reply) throws -> Reply {
        let endpoint = DeviceEndpoint.current()
        let device = DeviceContext(endpoint: endpoint)
        defer { device.invalidate() }
        return try run(
            endpoint, device, options: { AuthenticationInterface.Options(reason: $0) }, identifier: nil, body)
    }

    private func run<Reply>(
        _ endpoint: any VarlinkEndpoint, _ device: DeviceContext,
        options: (String) -> AuthenticationInterface.Options, identifier: String?,
        _ body: (any VarlinkEndpoint, String?) throws -> Reply
    ) throws -> Reply {
        var identifier = identifier
        for _ in 0..<Self.maximumRounds {
            let needed: [KeychainInterface.ConstrainedOperation]
            do {
                return try body(endpoint, identifier)
            } catch let error as RemoteError {
                guard
                    let operations = error.as(KeychainInterface.AuthenticationNeeded.self)?.operations
                        ?? error.as(KeyInterface.AuthenticationNeeded.self)?.operations
                else { throw error }
                needed = operations
            }
            // AC-41. With a context that has proven enough the device does not ask, and we do not get here (AC-42).
            if authentication.forbidsInteraction, authentication.context == nil { throw Self.notInteractive }
            for operation in needed {
                var options = options(authentication.reason)
                if authentication.forbidsInteraction { options.interactionNotAllowed = true }
                do throws(DeviceContext.Failed) {
                    _ = try device.evaluate(
                        operation.accessControl, operation.operation, keyLabel: authentication.keyLabel, options)
                } catch {
                    // EV-40: what an unlock of the device proved is given silently; whatever else is in the way, nobody may be asked.
                    throw authentication.forbidsInteraction ? Self.notInteractive : error
                }
            }
            identifier = try Self.identifier(of: device)
        }
        throw Status.authFailed
    }

    /// AC-47: a context that cannot be had is a failed authentication; of an invalidated one it is said that it is invalid.
    private static func identifier(of device: DeviceContext) throws -> String {
        do {
            return try device.identifier()
        } catch let error where error is TransportError || error is DeviceContext.Failed {
            throw error
        } catch {
            throw Status.authFailed
        }
    }

    private static let notInteractive = DeviceContext.Failed(.notInteractive, "User interaction required.")
    private static let maximumRounds = 20
}
