import Foundation

#if canImport(TouchstoneSecurity)
import TouchstoneLocalAuthentication
#else
import LocalAuthentication
#endif

/// One question to the owner.
///
/// Whoever holds it can take it back, from any thread.
///
/// Unchecked: nothing but `invalidate` is called from elsewhere than the keychain's queue, and that may be called at any time; the lock
/// guards the only thing that changes.
@available(macOS 14, iOS 17, *)
final class Prompt: @unchecked Sendable {
    let context = LAContext()
    private let lock = NSLock()
    private var wasTakenBack = false

    /// - Parameter reason: Begins with a verb and says where and what is signed.
    init(reason: String) {
        context.localizedReason = reason
        // The finger alone signs: there is nothing to fall back to.
        context.localizedFallbackTitle = ""
    }

    /// Whether the caller has cancelled it: then its end did not come from the system.
    var isCancelled: Bool { lock.withLock { wasTakenBack } }

    func cancel() {
        lock.withLock { wasTakenBack = true }
        context.invalidate()
    }

    /// Fails where the owner could not be asked for a finger or a face now.
    ///
    /// Asks for nobody.
    static func checkBiometry() throws(SignInError) {
        var error: NSError?
        guard unsafe LAContext().canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error) else {
            throw error.map { KeyUseFailure.failure(authentication: $0) } ?? .notAvailable("no biometry")
        }
    }
}
