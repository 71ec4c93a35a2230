internal import Foundation
internal import Synchronization
internal import TouchstoneCore
import TouchstoneInterfaces
internal import TouchstoneSecurity
import TouchstoneSystem
internal import TouchstoneTransport

/// How far a right is authorised: its state, and the context in which the owner has proven what it wants.
///
/// The state is only a report. The enclave looks at the context to decide whether a key may sign or a secret may be read.
final class RightAuthorization: Sendable {
    typealias Handler = @Sendable ((any Error)?) -> Void

    /// The device it belongs to.
    let endpoint: any VarlinkEndpoint
    let flags: AccessControl.Flags

    /// One evaluation, and everybody who waits for it.
    private final class Attempt: Sendable {
        let context: DeviceContext
        private let waiting: Mutex<Waiting>

        private struct Waiting {
            var handlers: [Handler]
        }

        init(_ context: DeviceContext, _ handler: @escaping Handler) {
            self.context = context
            waiting = Mutex(Waiting(handlers: [handler]))
        }

        func join(_ handler: @escaping Handler) {
            waiting.withLock { $0.handlers.append(handler) }
        }

        func end(_ error: (any Error)?) {
            let handlers = waiting.withLock { waiting in
                defer { waiting.handlers = [] }
                return waiting.handlers
            }
            for handler in handlers { handler(error) }
        }
    }

    private struct Current {
        var state = LARight.State.unknown
        var context: SilentContext?
        var attempt: Attempt?
    }

    private let current = Mutex(Current())

    init(_ flags: AccessControl.Flags, on endpoint: any VarlinkEndpoint = DeviceEndpoint.current()) {
        self.endpoint = endpoint
        self.flags = flags
    }

    var state: LARight.State { current.withLock { $0.state } }

    /// What to hand to the keychain.
    ///
    /// It never shows a prompt, and opens everything for which the owner has proven enough.
    ///
    /// The enclave is asked, whatever the state says. If nothing was proven, it opens nothing.
    var context: SilentContext { current.withLock { $0.context } ?? SilentContext(endpoint) }

    /// Asks the owner, or waits together with earlier callers.
    ///
    /// A context that has proven enough already, as after an earlier authorisation, is enough without a prompt (EV-30).
    func authorize(_ reason: String, _ handler: @escaping Handler) {
        precondition(!reason.isEmpty, "localizedReason must not be empty")
        let attempt: Attempt? = current.withLock { current in
            if let attempt = current.attempt {
                attempt.join(handler)
                return nil
            }
            let context = current.context ?? SilentContext(endpoint)
            let attempt = Attempt(context.deviceContext, handler)
            current = Current(state: .authorizing, context: context, attempt: attempt)
            return attempt
        }
        guard let attempt else { return }
        OwnThread.run(on: endpoint) { [self] in
            let error = Self.evaluate(flags, reason, attempt.context)
            end(attempt, isSuccess: error == nil)
            attempt.end(error)
        }
    }

    /// Forgets what was proven; an authorisation that runs ends with -9.
    func deauthorize() {
        let context = current.withLock { current in
            defer { current = Current(state: .notAuthorized) }
            return current.context
        }
        context?.deviceContext.invalidate()
    }

    /// The device knows no authorisation, for example because it has locked since.
    func refused() {
        current.withLock { if $0.state == .authorized { $0.state = .notAuthorized } }
    }

    /// Why the owner cannot be asked now; nil if they can.
    func obstacle() -> (any Error)? {
        let policy: Policy =
            flags.isDisjoint(with: [.userPresence, .devicePasscode])
            ? .deviceOwnerAuthenticationWithBiometrics : .deviceOwnerAuthentication
        do {
            let reply = try DeviceContext(endpoint: endpoint).canEvaluate(policy)
            guard let code = reply.code else { return nil }
            return NSError.localAuthentication(.init(code))
        } catch {
            return NSError.localAuthentication(error)
        }
    }

    /// After this nobody joins the attempt any more.
    private func end(_ attempt: Attempt, isSuccess: Bool) {
        current.withLock { current in
            guard current.attempt === attempt else { return }
            current.attempt = nil
            current.state = isSuccess ? .authorized : .notAuthorized
            if !isSuccess { current.context = nil }
        }
    }

    private static func evaluate(
        _ flags: AccessControl.Flags, _ reason: String, _ context: DeviceContext
    ) -> (any Error)? {
        do {
            let control = try AccessControl(protection: StoredRight.protection, flags: flags)
            _ = try context.evaluate(control, .useItem, .init(reason: reason), explainedAs: "authorize")
            return nil
        } catch let failure as AuthenticationInterface.Failed {
            // Nobody else has the context, so it is invalid only because the right was deauthorised.
            return NSError.localAuthentication(
                failure.code == .invalidContext ? .init(.appCancel, "Canceled by the app.") : failure)
        } catch {
            return LAError(.authenticationFailed)
        }
    }
}

/// The context of a right as the keychain takes it: the owner is asked by `authorize` and by nothing else.
final class SilentContext: AuthenticationContext, Sendable {
    let deviceContext: DeviceContext

    init(_ endpoint: any VarlinkEndpoint) {
        deviceContext = DeviceContext(endpoint: endpoint)
    }

    deinit {
        deviceContext.invalidate()
    }

    var localizedReason: String { "" }

    func evaluationOptions(reason: String) -> AuthenticationInterface.Options {
        .init(reason: reason, reuseDuration: 0, interactionNotAllowed: true)
    }
}
