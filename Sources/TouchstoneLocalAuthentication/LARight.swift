public import Foundation
internal import Synchronization

/// Something that the owner grants.
///
/// Once it is proven, it stays granted until it is taken back.
///
/// Alone it is only an answer, like that of a context (EV-70). Saved with `LARightStore`, it protects a key and a secret, which the enclave
/// gives only for the proof.
///
/// It belongs to the device that was current when it was made. Releasing it takes back what was proven. While the owner is asked it is
/// kept alive, even if every other reference is gone (EV-04).
///
/// > Source: EV-64.
///
/// > Concurrency: Every member may be used from any thread; completions run on a thread of their own. Not declared `Sendable`, as
/// > Apple's is not. `state` cannot be observed: there is no KVO on Linux.
open class LARight: NSObject {
    /// How far a right is authorised.
    public enum State: Int, Sendable {
        /// Nobody has been asked.
        case unknown = 0
        /// The owner is being asked.
        case authorizing = 1
        /// It was granted.
        case authorized = 2
        /// It was refused, or taken back.
        case notAuthorized = 3
    }

    let authorization: RightAuthorization
    private let ownTag = Mutex(0)

    /// Makes a right that requires a finger or a face, else the passcode.
    public override init() {
        authorization = RightAuthorization(LAAuthenticationRequirement.default.flags)
        super.init()
    }

    /// Makes a right.
    ///
    /// - Parameter requirement: What the owner has to prove.
    public init(requirement: LAAuthenticationRequirement) {
        authorization = RightAuthorization(requirement.flags)
        super.init()
    }

    init(_ authorization: RightAuthorization) {
        self.authorization = authorization
        super.init()
    }

    /// How far it is authorised.
    ///
    /// After the device has locked it may still say `authorized`. But the proof is gone then, and the next use of a key or a
    /// secret says so (EV-33).
    open var state: State { authorization.state }

    /// A number of the app's own; 0 at first.
    open var tag: Int {
        get { ownTag.withLock { $0 } }
        set { ownTag.withLock { $0 = newValue } }
    }

    /// Asks the owner to grant the right.
    ///
    /// If it is already authorised, asks again, but without a prompt as long as the proof holds (EV-30). While it is being authorised,
    /// waits for that.
    ///
    /// - Parameters:
    ///   - localizedReason: What the prompt says; empty is a programming error (EV-02).
    ///   - handler: Takes nil, or an `LAError`.
    open func authorize(localizedReason: String, completion handler: @escaping @Sendable ((any Error)?) -> Void) {
        // EV-04: kept until the handler has run. Its thread only keeps it alive.
        nonisolated(unsafe) let kept = self
        authorization.authorize(localizedReason) { error in unsafe withExtendedLifetime(kept) { handler(error) } }
    }

    /// Asks the owner to grant the right, and waits.
    ///
    /// - Parameter localizedReason: What the prompt says; empty is a programming error (EV-02).
    /// - Throws: An `LAError`.
    open func authorize(localizedReason: String) async throws {
        try await withCheckedThrowingContinuation { continuation in
            authorize(localizedReason: localizedReason, completion: Self.resuming(continuation))
        }
    }

    /// Whether the owner could be asked now; asks nobody, and leaves `state` as it is.
    ///
    /// - Parameter handler: Takes nil, or an `LAError` that says why not.
    open func checkCanAuthorize(completion handler: @escaping @Sendable ((any Error)?) -> Void) {
        OwnThread.run(on: authorization.endpoint) { [authorization] in
            handler(authorization.obstacle())
        }
    }

    /// Whether the owner could be asked now; asks nobody, and leaves `state` as it is.
    ///
    /// - Throws: An `LAError` that says why not.
    open func checkCanAuthorize() async throws {
        try await withCheckedThrowingContinuation { continuation in
            checkCanAuthorize(completion: Self.resuming(continuation))
        }
    }

    /// Takes back what was proven, so that keys and secrets are closed again.
    ///
    /// An authorisation that runs ends with `appCancel`.
    ///
    /// - Parameter handler: Runs when it is done.
    open func deauthorize(completion handler: @escaping @Sendable () -> Void) {
        authorization.deauthorize()
        OwnThread.run(on: authorization.endpoint, handler)
    }

    /// Takes back what was proven, and waits.
    open func deauthorize() async {
        await withCheckedContinuation { continuation in
            deauthorize { continuation.resume() }
        }
    }

    private static func resuming(
        _ continuation: CheckedContinuation<Void, any Error>
    ) -> @Sendable ((any Error)?) -> Void {
        { error in
            if let error { continuation.resume(throwing: error) } else { continuation.resume() }
        }
    }
}
