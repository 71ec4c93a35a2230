internal import TouchstoneCore
internal import TouchstoneTransport

/// A keychain call that has the owner asked as often as the device wants it (AC-40).
struct AuthenticatedCall {
    private let query: ItemQuery

    init(_ query: ItemQuery) {
        self.query = query
    }

    /// Calls until the device has what it needs.
    ///
    /// Blocks for as long as a prompt is up (AC-26). A caller that gives no context is asked every time (AC-25).
    ///
    /// - Parameter body: The call, to the device and with the context given.
    /// - Returns: What the last call returned.
    /// - Throws: What the last call has thrown, or why the owner's proof was not had.
    func run<Reply>(_ body: (any VarlinkEndpoint, String?) throws -> Reply) throws -> Reply {
        guard let context = query.context else { return try runWithoutContext(body) }
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
            let needed: KeychainInterface.AuthenticationNeeded
            do {
                return try body(endpoint, identifier)
            } catch let error as RemoteError {
                guard let error = error.as(KeychainInterface.AuthenticationNeeded.self) else { throw error }
                needed = error
            }
            // AC-41. With a context that has proven enough the device does not ask, and we do not get here (AC-42).
            if query.forbidsInteraction, query.context == nil { throw Status.interactionNotAllowed }
            for operation in needed.operations {
                var options = options(query.reason)
                if query.forbidsInteraction { options.interactionNotAllowed = true }
                do throws(DeviceContext.Failed) {
                    _ = try device.evaluate(operation.accessControl, operation.operation, options)
                } catch {
                    // EV-40: what an unlock of the device proved is given silently; whatever else is in the way, nobody may be asked.
                    throw query.forbidsInteraction ? Status.interactionNotAllowed : error
                }
            }
            identifier = try Self.identifier(of: device)
        }
        throw Status.authFailed
    }

    /// AC-47: a context that cannot be had, an invalidated one for example, is a failed authentication.
    private static func identifier(of device: DeviceContext) throws -> String {
        do {
            return try device.identifier()
        } catch let error as TransportError {
            throw error
        } catch {
            throw Status.authFailed
        }
    }

    private static let maximumRounds = 20
}
