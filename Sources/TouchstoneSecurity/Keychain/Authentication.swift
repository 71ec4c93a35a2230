package import TouchstoneCore
package import TouchstoneInterfaces
import TouchstoneSystem
internal import TouchstoneTransport

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
    private var reason: String {
        if let reason = context?.localizedReason, !reason.isEmpty { return reason }
        if let operationPrompt, !operationPrompt.isEmpty { return operationPrompt }
        return "access an item in your keychain"
    }

    private var options: AuthenticationInterface.Options {
        var options = context?.evaluationOptions(reason: reason) ?? AuthenticationInterface.Options(reason: reason)
        // AC-41. With a context that has proven enough the device does not ask (AC-42).
        if forbidsInteraction { options.interactionNotAllowed = true }
        return options
    }
}

/// What a call for an item or a key says of the owner's proof.
package struct CallAuthentication {
    /// The context of the app's, as the device knows it.
    package var context: String?
    /// How the owner is asked; nil: not at all.
    package var options: AuthenticationInterface.Options?
    package var keyLabel: String?
}

extension Authentication {
    /// Calls the device, which has the owner asked where that is needed (AC-40).
    ///
    /// Blocks for as long as a prompt is up (AC-26). A caller that gives no context is asked every time (AC-25).
    ///
    /// - Parameters:
    ///   - method: What is called.
    ///   - function: What the app called, for a line that explains a refusal.
    ///   - isRepeatable: Whether the call may be made again where the connection broke.
    ///   - parameters: What it says, with what is said of the owner's proof.
    /// - Returns: The answer.
    /// - Throws: What the call throws; `DeviceContext.Failed` where the context or the owner is in the way.
    package func call<M: VarlinkMethod>(
        _ method: M.Type, as function: String = #function, isRepeatable: Bool = false,
        _ parameters: (CallAuthentication) -> M.Parameters
    ) throws -> M.Reply {
        try run(as: function) { endpoint, authentication in
            try endpoint.call(
                method, parameters(authentication),
                repeating: isRepeatable ? parameters(authentication.silent) : nil)
        }
    }

    /// The same where the answer comes in parts, of each of which `body` makes elements.
    package func stream<M: VarlinkMethod, Element>(
        _ method: M.Type, as function: String = #function, _ parameters: (CallAuthentication) -> M.Parameters,
        _ body: (M.Reply) -> [Element]
    ) throws -> [Element] {
        try run(as: function) { endpoint, authentication in
            try endpoint.stream(
                method, parameters(authentication), repeating: parameters(authentication.silent), body)
        }
    }

    private func run<Reply>(
        as function: String, _ body: (any VarlinkEndpoint, CallAuthentication) throws -> Reply
    ) throws -> Reply {
        let endpoint = context?.deviceContext.endpoint ?? DeviceEndpoint.current()
        do {
            return try onContext { context in
                try body(endpoint, CallAuthentication(context: context, options: options, keyLabel: keyLabel))
            }
        } catch {
            DeviceContext.trapIfUndescribed(error)
            let wanted = (error as? RemoteError)?.proofNotGiven?.accessControl
            let error = asForbidden(error)
            RefusedCall(function, error, wanted: wanted)?.explain(on: endpoint)
            throw error
        }
    }

    /// On the context that the app gave, which the device may have forgotten: it was restarted since.
    private func onContext<Reply>(_ body: (String?) throws -> Reply) throws -> Reply {
        guard let device = context?.deviceContext else { return try body(nil) }
        let identifier = try Self.identifier(of: device)
        do {
            return try body(identifier)
        } catch let error as RemoteError
            where error.proofNotGiven?.failed.code == .invalidContext && !device.isInvalidated
        {
            device.forget(identifier)
            return try body(Self.identifier(of: device))
        }
    }

    /// EV-40: what an unlock of the device proved is given silently; whatever else is in the way, nobody may be asked.
    private func asForbidden(_ error: any Error) -> any Error {
        guard forbidsInteraction, let failed = (error as? RemoteError)?.proofNotGiven?.failed else { return error }
        return DeviceContext.Failed(
            .notInteractive, "User interaction required.",
            failed.reason.flatMap(RefusalCause.init) ?? .interactionForbidden)
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
}

extension CallAuthentication {
    /// The same call, for which nobody is asked.
    fileprivate var silent: CallAuthentication {
        CallAuthentication(context: context, options: nil, keyLabel: keyLabel)
    }
}

extension VarlinkEndpoint {
    /// One call on a connection that nobody else uses.
    ///
    /// Where the connection broke the call may have been carried out, and its prompt may have been up. What is made again then is the call
    /// that asks nobody, so that the owner is never asked twice.
    fileprivate func call<M: VarlinkMethod>(
        _ method: M.Type, _ parameters: M.Parameters, repeating silent: M.Parameters?
    ) throws -> M.Reply {
        try attempt(isRepeatable: silent != nil) { client, isAgain in
            guard isAgain, let silent else { return try client.call(method, parameters) }
            return try client.askingNobody { try $0.call(method, silent) }
        }
    }

    fileprivate func stream<M: VarlinkMethod, Element>(
        _ method: M.Type, _ parameters: M.Parameters, repeating silent: M.Parameters, _ body: (M.Reply) -> [Element]
    ) throws -> [Element] {
        try attempt(isRepeatable: true) { client, isAgain in
            guard isAgain else { return try client.elements(method, parameters, body) }
            return try client.askingNobody { try $0.elements(method, silent, body) }
        }
    }
}

extension VarlinkClient {
    /// Makes a call again that may have had its prompt up: where it needs one it is lost, with the connection.
    fileprivate func askingNobody<Reply>(_ body: (VarlinkClient) throws -> Reply) throws -> Reply {
        do {
            return try body(self)
        } catch let error as RemoteError where error.isRefusedForWantOfPrompt {
            throw DeviceContext.Failed(.systemCancel, "The connection to the device was lost.", .connectionLost)
        }
    }
}

extension RemoteError {
    /// Why the owner's proof was not given, and of what; nil for any other answer.
    var proofNotGiven: (failed: AuthenticationInterface.Failed, accessControl: AccessControl?)? {
        func told(
            _ code: AuthenticationFailure?, _ message: String?, _ reason: String?
        ) -> AuthenticationInterface.Failed? {
            code.map { AuthenticationInterface.Failed(code: $0, message: message ?? "", reason: reason) }
        }
        if let failed = self.as(KeychainInterface.Failed.self) {
            return told(failed.code, failed.message, failed.reason).map { ($0, failed.accessControl) }
        }
        guard let failed = self.as(KeyInterface.Failed.self) else { return nil }
        return told(failed.code, failed.message, failed.reason).map { ($0, failed.accessControl) }
    }

    /// Whether the call needed a prompt and did not say what it is to look like.
    fileprivate var isRefusedForWantOfPrompt: Bool {
        let reason = self.as(KeychainInterface.Failed.self)?.reason ?? self.as(KeyInterface.Failed.self)?.reason
        return reason == RefusalCause.interactionForbidden.rawValue
    }
}
