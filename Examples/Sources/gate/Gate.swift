import Foundation
import LocalAuthentication
import Outcome

/// Asks for a finger or a face and says how it went.
///
/// The Boolean ends in this process, and anybody who controls the process controls it. Guard a secret with the keychain
/// instead (`owner-check`, `credentials`).
@main
struct Gate {
    static func main() async {
        let context = LAContext()
        context.localizedFallbackTitle = "Use Password"

        var error: NSError?
        guard context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error) else {
            print("canEvaluatePolicy: \(error.map { name(of: $0) } ?? "no error")")
            exit(EXIT_FAILURE)
        }
        print("canEvaluatePolicy: success")

        do {
            try await context.evaluatePolicy(
                .deviceOwnerAuthenticationWithBiometrics, localizedReason: "open the gate")
            print("evaluatePolicy: success")
        } catch LAError.userFallback {
            // This policy has no passcode behind it: here the app would ask for its own password.
            print("evaluatePolicy: userFallback")
            exit(EXIT_FAILURE)
        } catch {
            print("evaluatePolicy: \(name(of: error))")
            exit(EXIT_FAILURE)
        }
    }
}
