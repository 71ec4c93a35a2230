internal import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem
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
    private let function: String

    /// `function` is what the app called, for a line that explains a refusal.
    package init(_ authentication: Authentication, as function: String = #function) {
        self.authentication = authentication
        self.function = function
    }

    /// Calls until the device has what it needs.
    ///
    /// Blocks for as long as a prompt is up (AC-26). A caller that gives no context is asked every time (AC-25).
    ///
    /// - Parameter body: The call, to the device and with the context given.
    /// - Returns: What the last call returned.
    /// - Throws: What the last call has thrown, or why the owner's proof was not had.
    package func run<Reply>(_ body: (any VarlinkEndpoint, String?) throws -> Reply) throws -> Reply {
        let endpoint = authentication.context?.deviceContext.endpoint ?? DeviceEndpoint.current()
        var wanted: AccessControl?
        do {
            return try run(on: endpoint, wanted: &wanted, body)
        } catch {
            RefusedCall(function, error, wanted: wanted)?.explain(on: endpoint)
            throw error
        }
    }

    private func run<Reply>(
        on endpoint: any VarlinkEndpoint, wanted: inout AccessControl?,
        _ body: (any VarlinkEndpoint, String?) throws -> Reply
    ) throws -> Reply {
        guard let context = authentication.context else {
            let device = DeviceContext(endpoint: endpoint)
            defer { device.invalidate() }
            return try run(
                endpoint, device, options: { AuthenticationInterface.Options(reason: $0) }, identifier: nil,
                wanted: &wanted, body)
        }
        let device = context.deviceContext
        return try run(
            endpoint, device, options: { context.evaluationOptions(reason: $0) },
            identifier: try Self.identifier(of: device), wanted: &wanted, body)
    }

    /// `wanted` takes what the owner was asked for last.
    private func run<Reply>(
        _ endpoint: any VarlinkEndpoint, _ device: DeviceContext,
        options: (String) -> AuthenticationInterface.Options, identifier: String?, wanted: inout AccessControl?,
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
            for operation in needed {
                wanted = operation.accessControl
                var options = options(authentication.reason)
                // AC-41. With a context that has proven enough the device does not ask, and we do not get here (AC-42).
                if authentication.forbidsInteraction { options.interactionNotAllowed = true }
                do throws(DeviceContext.Failed) {
                    _ = try device.evaluate(
                        operation.accessControl, operation.operation, keyLabel: authentication.keyLabel, options)
                } catch {
                    // EV-40: what an unlock of the device proved is given silently; whatever else is in the way, nobody may be asked.
                    guard authentication.forbidsInteraction else { throw error }
                    throw DeviceContext.Failed(
                        .notInteractive, "User interaction required.",
                        error.reason.flatMap(RefusalCause.init) ?? .interactionForbidden)
                }
            }
            identifier = try Self.identifier(of: device)
        }
        throw DeviceContext.Failed(
            .authenticationFailed, "The device asked for the owner too often.", .tooManyRounds)
    }

    /// AC-47: a context that cannot be had is a failed authentication; of an invalidated one it is said that it is invalid.
    private static func identifier(of device: DeviceContext) throws -> String {
        do {
            return try device.identifier()
        } catch let error where error is TransportError || error is DeviceContext.Failed {
            throw error
        } catch let error as RemoteError {
            throw error.as(DeviceContext.Failed.self) ?? Status.authFailed as any Error
        }
    }

    private static let maximumRounds = 20
}
