public import Foundation
import TouchstoneCore
public import TouchstoneCoreFoundation
package import TouchstoneInterfaces
package import TouchstoneSecurity
import TouchstoneSystem
internal import TouchstoneTransport

/// A place where the owner proves something.
///
/// Hand it to the keychain, or ask it for a yes or no.
///
/// Its answer alone can be ignored by a changed program. So give the context to a keychain call, or let the keychain
/// make its own. Then the secret itself depends on the answer (EV-70).
///
/// It belongs to the simulated device in whose `run` it was made, elsewhere to the device that is current when it is used. Every member may be used from any thread.
///
/// Not declared `Sendable`, because Apple's is not: subclasses, such as the mocks in an app's tests, would have to say it again and
/// be warned if they do not, and the conformances that apps have added themselves would be refused.
open class LAContext: NSObject, AuthenticationContext {
    /// This context as the device knows it.
    package let deviceContext: DeviceContext

    private let properties = ContextProperties()

    /// Makes a context, which asks for nothing yet.
    public override init() {
        deviceContext = DeviceContext(endpoint: DeviceEndpoint.scoped ?? LateEndpoint())
        super.init()
    }

    deinit {
        // EV-50. No evaluation is running, because it would keep us alive (EV-04).
        deviceContext.invalidate()
    }

    // MARK: - Properties

    /// The title of the fallback button: nil for the default, empty to have none (EV-14).
    open var localizedFallbackTitle: String? {
        get { properties.current.fallbackTitle }
        set { properties.change { $0.fallbackTitle = newValue } }
    }

    /// The title of the cancel button: nil or empty for the default (EV-13).
    open var localizedCancelTitle: String? {
        get { properties.current.cancelTitle }
        set { properties.change { $0.cancelTitle = newValue } }
    }

    /// Without effect since iOS 9; kept and given back (EV-29).
    open var maxBiometryFailures: NSNumber? {
        get { properties.current.maximumFailures.map { NSNumber(value: $0) } }
        set { properties.change { $0.maximumFailures = newValue?.intValue } }
    }

    /// For how many seconds a biometric unlock of the device counts.
    ///
    /// It returns what was set, but at most 300 count (EV-42).
    open var touchIDAuthenticationAllowableReuseDuration: TimeInterval {
        get { properties.current.reuseDuration }
        set { properties.change { $0.reuseDuration = newValue } }
    }

    /// What the prompt says when the keychain asks (AC-27, EV-21).
    open var localizedReason: String {
        get { properties.current.reason }
        set { properties.change { $0.reason = newValue } }
    }

    /// Whether to fail rather than to ask the owner (EV-54).
    open var interactionNotAllowed: Bool {
        get { properties.current.interactionNotAllowed }
        set { properties.change { $0.interactionNotAllowed = newValue } }
    }

    /// Names the set of enrolled fingers or faces: compare with an earlier one (DS-07).
    ///
    /// Nil until DS-01 is met.
    open var evaluatedPolicyDomainState: Data? { properties.current.domainState }

    /// Names the means by which the owner can be recognised now.
    ///
    /// Needs no call before it (DS-09).
    ///
    /// > Source: DS-09. Without a device: every hash is nil.
    open var domainState: LADomainState {
        let method = AuthenticationInterface.GetEnvironment.self
        let reply = try? deviceContext.endpoint.call(method, Empty(), isRepeatable: true)
        return LADomainState(reply?.environment)
    }

    /// The sensor that the device has, ready or not (CE-06); asked for when it is first read (CE-07).
    open var biometryType: LABiometryType {
        if let known = properties.current.biometryType { return known }
        guard let reply = try? deviceContext.canEvaluate(.deviceOwnerAuthenticationWithBiometrics) else { return .none }
        let type = LABiometryType(reply.biometryType)
        properties.change { $0.biometryType = type }
        return type
    }

    // MARK: - Policies

    /// Whether a policy could be evaluated now; asks nobody (CE-10).
    ///
    /// > Source: section 1.1 of the rules; CE-06, CE-13. Without a device: false with `biometryNotAvailable`, and with `passcodeNotSet` for
    /// > a policy that the passcode would meet.
    ///
    /// - Parameters:
    ///   - policy: What the owner would have to prove.
    ///   - error: Takes the reason where the answer is no.
    /// - Returns: Whether it could.
    @discardableResult
    open func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool {
        ReplyThread.reportQuestion()
        let failure: AuthenticationInterface.Failed
        do {
            let reply = try deviceContext.canEvaluate(policy.value)
            properties.change { values in
                values.biometryType = LABiometryType(reply.biometryType)
                if policy.value.isBiometric { values.domainState = reply.domainState }
            }
            guard let code = reply.code else { return true }
            failure = AuthenticationInterface.Failed(code)
        } catch let thrown {
            failure = thrown
        }
        unsafe error?.pointee = NSError.localAuthentication(failure)
        return false
    }

    /// Asks the owner to prove something.
    ///
    /// Returns at once. Until the reply has run, the context stays alive without another reference; `invalidate()` ends it (EV-04).
    ///
    /// > Source: EV-01...EV-07; section 2.1 of the rules. Without a device: as `canEvaluatePolicy`.
    ///
    /// > Concurrency: The reply runs once, on a thread of its own and never on the main one.
    ///
    /// - Parameters:
    ///   - policy: What to prove.
    ///   - localizedReason: What the prompt says; empty is a programming error (EV-02).
    ///   - reply: Takes true, or false and an `LAError`.
    open func evaluatePolicy(
        _ policy: LAPolicy, localizedReason: String, reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        let policy = policy.value
        evaluate(localizedReason, reply) { context, options throws(AuthenticationInterface.Failed) in
            try context.evaluate(policy, options, explainedAs: "evaluatePolicy")
        }
    }

    /// Has the owner prove something, and waits.
    ///
    /// - Parameters:
    ///   - policy: What to prove.
    ///   - localizedReason: What the prompt says; empty is a programming error (EV-02).
    /// - Returns: True.
    /// - Throws: An `LAError`.
    @discardableResult
    open func evaluatePolicy(_ policy: LAPolicy, localizedReason: String) async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            evaluatePolicy(policy, localizedReason: localizedReason, reply: Self.resuming(continuation))
        }
    }

    // MARK: - Access controls

    /// Has the owner prove what an access control wants for an operation, to hand the context to the keychain afterwards.
    ///
    /// An operation that the access control does not grant fails at once with -1009: the use of an item for one with `privateKeyUsage`,
    /// the use of a key for one with constraints and without `privateKeyUsage`.
    ///
    /// > Source: EV-04, EV-62, AC-20, AC-49. Without a device: as `evaluatePolicy`.
    ///
    /// > Concurrency: The reply runs once, on a thread of its own and never on the main one.
    ///
    /// - Parameters:
    ///   - accessControl: The access control of the item.
    ///   - operation: What is to be done with the item.
    ///   - localizedReason: What the prompt says; empty is a programming error (EV-02).
    ///   - reply: Takes true, or false and an `LAError`.
    open func evaluateAccessControl(
        _ accessControl: SecAccessControl, operation: LAAccessControlOperation, localizedReason: String,
        reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        let (control, operation) = (accessControl.value, operation.value)
        evaluate(localizedReason, reply) { context, options throws(AuthenticationInterface.Failed) in
            try context.evaluate(control, operation, options, explainedAs: "evaluateAccessControl")
        }
    }

    /// Has the owner prove what an access control wants for an operation, and waits.
    ///
    /// - Parameters:
    ///   - accessControl: The access control of the item.
    ///   - operation: What is to be done with the item.
    ///   - localizedReason: What the prompt says; empty is a programming error (EV-02).
    /// - Returns: True.
    /// - Throws: An `LAError`.
    @discardableResult
    open func evaluateAccessControl(
        _ accessControl: SecAccessControl, operation: LAAccessControlOperation, localizedReason: String
    ) async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            evaluateAccessControl(
                accessControl, operation: operation, localizedReason: localizedReason,
                reply: Self.resuming(continuation))
        }
    }

    // MARK: - Credentials

    /// Gives the context the app's own password, for items whose access control has `applicationPassword`; nil takes it away.
    ///
    /// It goes to the device's enclave, sealed to the enclave's own key, and nowhere else: this object does not keep it. Blocks
    /// while the enclave stretches it, which takes some tens of milliseconds. Whether it is right shows when an item is read; one
    /// that was wrong is forgotten (AC-46). It is gone with the context and when the device restarts.
    ///
    /// > Source: EV-60, AC-48.
    ///
    /// - Parameters:
    ///   - credential: The password: at most 256 bytes.
    ///   - type: `applicationPassword`; there are no smart cards.
    /// - Returns: Whether it is set, or was taken away; false if no device runs, its key cannot be had, or the context is invalid.
    @discardableResult
    open func setCredential(_ credential: Data?, type: LACredentialType) -> Bool {
        guard type == .applicationPassword else { return credential == nil }
        if credential == nil, !deviceContext.isRegistered { return !deviceContext.isInvalidated }
        do {
            try deviceContext.setCredential { context in
                guard let credential else { return nil }
                guard credential.count <= SealedPasscode.maximumPasscodeLength else {
                    throw AuthenticationFailure.authenticationFailed
                }
                // After the context, so that both are of the same boot.
                return try PasscodeSeal(enclaveKey: deviceContext.endpoint.passcodeKey()).seal(
                    [credential], for: .credential(context: context), nonce: Data())
            }
            return true
        } catch {
            return false
        }
    }

    /// Whether the context has a credential.
    ///
    /// > Source: EV-60.
    ///
    /// - Parameter type: Its kind.
    /// - Returns: Whether one is set, as the device knows it.
    @discardableResult
    open func isCredentialSet(_ type: LACredentialType) -> Bool {
        type == .applicationPassword && deviceContext.isCredentialSet
    }

    /// Ends the context: evaluations that run fail with `appCancel`, later ones with `invalidContext`.
    ///
    /// Harmless when repeated (EV-50).
    open func invalidate() {
        deviceContext.invalidate()
    }

    // MARK: - Inside

    package func evaluationOptions(reason: String) -> AuthenticationInterface.Options {
        let duration = touchIDAuthenticationAllowableReuseDuration
        return AuthenticationInterface.Options(
            reason: reason, fallbackTitle: localizedFallbackTitle, cancelTitle: localizedCancelTitle,
            // The device clamps (EV-42); what JSON cannot carry is clamped here.
            reuseDuration: duration.isFinite
                ? duration : duration > 0 ? LATouchIDAuthenticationMaximumAllowableReuseDuration : 0,
            interactionNotAllowed: interactionNotAllowed, isStrict: Self.isStrict ? true : nil)
    }

    /// `TOUCHSTONE_STRICT=1` has the process trap where Apple's would end it (CE-11).
    private static let isStrict = ProcessInfo.processInfo.environment["TOUCHSTONE_STRICT"] == "1"

    /// Evaluates on a thread of its own, which waits for the owner for as long as that takes and keeps us until the reply has run (EV-04).
    private func evaluate(
        _ reason: String, _ reply: @escaping @Sendable (Bool, (any Error)?) -> Void,
        _ body:
            @escaping @Sendable (DeviceContext, AuthenticationInterface.Options) throws(AuthenticationInterface.Failed)
            -> Data?
    ) {
        precondition(!reason.isEmpty, "localizedReason must not be empty")
        let options = evaluationOptions(reason: reason)
        let context = deviceContext
        let wasInvalid = context.isInvalidated
        let scoped = DeviceEndpoint.scoped
        // Of no use to the thread, but to keep it: every member may be used from any thread, `deinit` too.
        nonisolated(unsafe) let kept = self
        Thread.detachNewThread { [properties] in
            defer { unsafe withExtendedLifetime(kept) {} }
            // The reply belongs to the same device as the call, whatever thread it runs on.
            DeviceEndpoint.$scoped.withValue(scoped) {
                let result = Result { () throws(AuthenticationInterface.Failed) in try body(context, options) }
                ReplyThread.begin()
                switch result {
                case .success(let domainState):
                    // DS-01: a policy that is not biometric says nothing of it, and takes nothing back.
                    if let domainState { properties.change { $0.domainState = domainState } }
                    reply(true, nil)
                case .failure(let failure):
                    // Invalidated after the call, if before the thread: what was pending ends with -9 (EV-50).
                    let isPending = failure.code == .invalidContext && !wasInvalid && context.isInvalidated
                    let told = isPending ? AuthenticationInterface.Failed(.appCancel, "Canceled by the app.") : failure
                    reply(false, NSError.localAuthentication(told))
                }
            }
        }
    }

    private static func resuming(
        _ continuation: CheckedContinuation<Bool, any Error>
    ) -> @Sendable (Bool, (any Error)?) -> Void {
        { isSuccess, error in
            if isSuccess {
                continuation.resume(returning: true)
            } else {
                continuation.resume(throwing: error ?? LAError(.authenticationFailed))
            }
        }
    }
}
