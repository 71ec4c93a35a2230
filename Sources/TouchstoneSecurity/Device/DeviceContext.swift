internal import Dispatch
internal import Foundation
internal import Glibc
internal import Synchronization
package import TouchstoneCore
package import TouchstoneInterfaces
package import TouchstoneTransport

/// A context as the device knows it: what `LAContext` wraps, and what the keychain makes for one call where it was given none.
///
/// Registered with the device when it is first needed, and gone there with `invalidate()` or with this object.
package final class DeviceContext: Sendable {
    package typealias Failed = AuthenticationInterface.Failed

    /// The device it belongs to.
    package let endpoint: any VarlinkEndpoint

    private struct Registration {
        let identifier: String
        /// The connection that made the context; the device forgets it when this closes.
        let lifeline: VarlinkClient
        let process: pid_t
    }

    private struct State {
        var isInvalidated = false
        var registration: Registration?
        var evaluations: [ObjectIdentifier: VarlinkClient] = [:]
    }

    private let state = Mutex(State())
    /// Held while the context is being registered, so that it is registered once.
    private let registering = NSLock()

    package init(endpoint: any VarlinkEndpoint) {
        self.endpoint = endpoint
    }

    deinit {
        invalidate()
    }

    package var isInvalidated: Bool { state.withLock { $0.isInvalidated } }

    /// Whether the device knows the context.
    package var isRegistered: Bool { state.withLock { $0.registration != nil } }

    /// The name by which the device knows the context.
    ///
    /// - Throws: `Failed` with -10 where it was invalidated (EV-50); `TransportError` if there is no device.
    package func identifier() throws -> String {
        try registering.withLock {
            let (isInvalidated, known) = state.withLock { ($0.isInvalidated, $0.registration) }
            if isInvalidated || known.map({ $0.process != getpid() }) == true { throw Self.invalid }
            if let known { return known.identifier }
            let registration = try register()
            let isLate = state.withLock { state in
                if !state.isInvalidated { state.registration = registration }
                return state.isInvalidated
            }
            if isLate {
                Self.invalidate(registration, [])
                throw Self.invalid
            }
            return registration.identifier
        }
    }

    /// Whether a policy could be evaluated now, without asking anybody (CE).
    ///
    /// - Throws: `Failed` if the context is invalid (row 0 of the table) or there is no device (rows 1 and 7).
    package func canEvaluate(_ policy: Policy) throws(Failed) -> AuthenticationInterface.CanEvaluatePolicy.Reply {
        typealias Method = AuthenticationInterface.CanEvaluatePolicy
        let (isInvalidated, known) = state.withLock { ($0.isInvalidated, $0.registration?.identifier) }
        if isInvalidated { throw Self.invalid }
        do {
            let reply = try endpoint.call(Method.self, .init(context: known, policy: policy), isRepeatable: true)
            guard reply.code == .invalidContext, known != nil else { return reply }
            // The device was restarted and knows the context no more. What was proven is gone (EV-33), the context is not.
            forget(known)
            return try endpoint.call(Method.self, .init(context: nil, policy: policy), isRepeatable: true)
        } catch {
            throw failure(error, Requirement(policy))
        }
    }

    /// Gives the context a credential, or takes it away; blocks while the device stretches it.
    ///
    /// - Parameter seal: Seals the credential for the context of this name; nil takes it away.
    /// - Throws: What `seal` throws; `Failed` if the context is invalid or the device refuses; `TransportError`.
    package func setCredential(_ seal: (String) throws -> SealedPasscode?) throws {
        typealias Method = AuthenticationInterface.SetCredential
        let identifier = try identifier()
        do {
            _ = try endpoint.call(Method.self, .init(context: identifier, credential: seal(identifier)))
        } catch let error as RemoteError where error.as(Failed.self)?.code == .invalidContext && !isInvalidated {
            // The device was restarted since.
            forget(identifier)
            let identifier = try self.identifier()
            _ = try endpoint.call(Method.self, .init(context: identifier, credential: seal(identifier)))
        }
    }

    /// Whether the device has a credential of this context.
    package var isCredentialSet: Bool {
        let (isInvalidated, known) = state.withLock { ($0.isInvalidated, $0.registration?.identifier) }
        guard !isInvalidated, let known else { return false }
        let reply = try? endpoint.call(
            AuthenticationInterface.IsCredentialSet.self, .init(context: known), isRepeatable: true)
        return reply?.isSet == true
    }

    /// Has the owner asked; blocks until there is an answer.
    ///
    /// `function` is what the app called, for a line that explains a refusal; nil if a caller explains it.
    ///
    /// - Returns: The domain state, where DS-01 gives one.
    package func evaluate(
        _ policy: Policy, _ options: AuthenticationInterface.Options, explainedAs function: String? = nil
    ) throws(Failed) -> Data? {
        do {
            return try evaluate(AuthenticationInterface.EvaluatePolicy.self, Requirement(policy)) { context in
                .init(context: context, policy: policy, options: options)
            }.domainState
        } catch {
            if let function { RefusedCall(function, error, wanted: "\(policy)").explain(on: endpoint) }
            throw error
        }
    }

    /// As above, for one operation of an access control (EV-62).
    package func evaluate(
        _ accessControl: AccessControl, _ operation: AccessControlOperation,
        _ options: AuthenticationInterface.Options, explainedAs function: String? = nil
    ) throws(Failed) -> Data? {
        do {
            return try evaluate(AuthenticationInterface.EvaluateAccessControl.self, accessControl.requirement) {
                context in
                .init(context: context, accessControl: accessControl, operation: operation, options: options)
            }.domainState
        } catch {
            if let function { RefusedCall(function, error, wanted: accessControl.words).explain(on: endpoint) }
            throw error
        }
    }

    /// Ends the context: what is being evaluated fails with -9, what comes later with -10; harmless when repeated (EV-50).
    package func invalidate() {
        let (registration, evaluations) = state.withLock { state in
            defer {
                state.isInvalidated = true
                state.registration = nil
            }
            return (state.registration, Array(state.evaluations.values))
        }
        // A fork must leave its parent's connections alone.
        if let registration, registration.process != getpid() { return }
        guard let registration else { return evaluations.forEach { $0.close() } }
        Self.invalidate(registration, evaluations)
    }

    // MARK: - Registration

    private func register() throws -> Registration {
        typealias Method = AuthenticationInterface.CreateContext
        let pool = ConnectionPool.shared(endpoint)
        if let lifeline = pool?.lifeline {
            do {
                let reply = try lifeline.call(Method.self, .init())
                return Registration(identifier: reply.context, lifeline: lifeline, process: getpid())
            } catch is TransportError {
                // Closed, and every context it made with it. One that may have been made just now went the same way.
            }
        }
        do {
            let lifeline = try endpoint.client()
            let reply = try lifeline.call(Method.self, .init())
            pool?.setLifeline(lifeline)
            return Registration(identifier: reply.context, lifeline: lifeline, process: getpid())
        } catch TransportError.unreachable {
            UnreachableDevice.report(endpoint)
            throw TransportError.unreachable
        }
    }

    /// Of a context that the device knows no more: it is registered anew when it is next needed.
    func forget(_ identifier: String?) {
        state.withLock { state in
            if state.registration?.identifier == identifier { state.registration = nil }
        }
    }

    /// Tells the device, without waiting for it: a `deinit` may run anywhere.
    ///
    /// The device answers the evaluations first, so that an app that hears of -9 finds the prompt gone.
    private static func invalidate(_ registration: Registration, _ evaluations: [VarlinkClient]) {
        queue.async {
            // If this fails the connection is gone, and the context with it.
            _ = try? registration.lifeline.call(
                AuthenticationInterface.InvalidateContext.self, .init(context: registration.identifier))
            for evaluation in evaluations { evaluation.close() }
        }
    }

    // MARK: - Evaluation

    private func evaluate<M: VarlinkMethod>(
        _ method: M.Type, _ requirement: Requirement?, _ parameters: (String) -> M.Parameters
    ) throws(Failed) -> M.Reply {
        do {
            let identifier = try identifier()
            do {
                return try evaluateOnce(method, parameters(identifier))
            } catch let error as RemoteError where error.as(Failed.self)?.code == .invalidContext && !isInvalidated {
                // The device was restarted since: it is asked again with a context that it knows.
                forget(identifier)
                return try evaluateOnce(method, parameters(self.identifier()))
            }
        } catch {
            throw failure(error, requirement)
        }
    }

    /// On a connection of its own: closing that takes the prompt down.
    private func evaluateOnce<M: VarlinkMethod>(_ method: M.Type, _ parameters: M.Parameters) throws -> M.Reply {
        let client = try endpoint.client()
        let mayStart = state.withLock { state in
            if !state.isInvalidated { state.evaluations[ObjectIdentifier(client)] = client }
            return !state.isInvalidated
        }
        guard mayStart else { throw Self.invalid }
        defer { state.withLock { _ = $0.evaluations.removeValue(forKey: ObjectIdentifier(client)) } }
        do {
            return try client.call(method, parameters)
        } catch {
            Self.trapIfUndescribed(error)
            if isInvalidated { throw Failed(.appCancel, "Canceled by the app.", .cancelledByApp) }
            if case TransportError.unreachable = error { throw TransportError.closed }
            throw error
        }
    }

    /// CE-11: as on Apple's platforms, and only where TOUCHSTONE_STRICT asks for it.
    static func trapIfUndescribed(_ error: any Error) {
        guard (error as? RemoteError)?.as(AuthenticationInterface.MissingUsageDescription.self) != nil else { return }
        fatalError(
            "this app attempted to use Face ID without NSFaceIDUsageDescription, which docs/app-manifests.md describes")
    }

    private func failure(_ error: any Error, _ requirement: Requirement?) -> Failed {
        switch error {
        case let failed as Failed: failed
        case let remote as RemoteError:
            remote.as(Failed.self)
                ?? (remote.as(VarlinkServiceError.PermissionDenied.self) == nil
                    ? Failed(.authenticationFailed, "The device did not understand the request.", .notUnderstood)
                    : Failed(
                        .authenticationFailed, "The device does not know this program. Its log says why.", .unknownApp))
        // Without a device there is no passcode, and no sensor. What a passcode would do for lacks the passcode.
        case TransportError.unreachable where requirement?.isMetByPasscode == true:
            Failed(.passcodeNotSet, "No device is running.", .noDevice)
        case TransportError.unreachable: Failed(.biometryNotAvailable, "No device is running.", .noDevice)
        case TransportError.tooLarge: Failed(.authenticationFailed, "The request is too large.", .requestTooLarge)
        default: Failed(.systemCancel, "The connection to the device was lost.", .connectionLost)
        }
    }

    private static let invalid = Failed(.invalidContext, "The context was invalidated.", .contextInvalidated)
    private static let queue = DispatchQueue(label: "io.touchstone.contexts")
}
