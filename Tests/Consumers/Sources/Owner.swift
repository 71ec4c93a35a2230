// swift-format-ignore-file: written as iOS apps are, force unwraps included.

import Foundation
import LocalAuthentication

/// Asks the owner, as iOS apps do.
final class Owner {
    private let context: LAContext

    init(context: LAContext = LAContext()) {
        self.context = context
        context.localizedFallbackTitle = ""
    }

    var canAsk: (Bool, NSError?) {
        var error: NSError?
        let canAsk = context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error)
        return (canAsk, error)
    }

    func ask() async -> String {
        do {
            try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "show your notes")
            return "yes"
        } catch LAError.userCancel {
            return "no"
        } catch let error as LAError where [.biometryNotAvailable, .passcodeNotSet].contains(error.code) {
            return "cannot"
        } catch {
            return "unexpected \((error as NSError).code)"
        }
    }
}

class MockContext: LAContext {
    override func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool {
        true
    }

    override func evaluatePolicy(
        _ policy: LAPolicy, localizedReason: String, reply: @escaping @Sendable (Bool, Error?) -> Void
    ) {
        reply(false, LAError(.userCancel))
    }
}
