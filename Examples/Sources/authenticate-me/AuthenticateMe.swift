import Foundation
import LocalAuthentication
import Outcome

/// The shortest ways to ask for a finger, as many apps have them: nobody keeps the context.
///
/// The evaluation keeps it until the reply has run. An app that wants to take the prompt down keeps the context as well,
/// to call `invalidate()` (`gate` has one).
@main
struct AuthenticateMe {
    static func main() {
        switch CommandLine.arguments.dropFirst().first {
        case nil: authenticateMe()
        case "inline": authenticateInline()
        case let argument?:
            FileHandle.standardError.write(Data("authenticate-me: \(argument)? usage: authenticate-me [inline]\n".utf8))
            exit(2)
        }
        // The reply comes to the main queue.
        dispatchMain()
    }

    private static func authenticateMe() {
        let context = LAContext()
        var error: NSError?
        if context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error) {
            context.evaluatePolicy(
                .deviceOwnerAuthenticationWithBiometrics, localizedReason: "To add a new chore"
            ) { success, error in
                DispatchQueue.main.async { end(success, error) }
            }
        } else {
            end(false, error)
        }
    }

    private static func authenticateInline() {
        LAContext().evaluatePolicy(
            .deviceOwnerAuthenticationWithBiometrics, localizedReason: "To add a new chore"
        ) { success, error in
            DispatchQueue.main.async { end(success, error) }
        }
    }

    private static func end(_ success: Bool, _ error: (any Error)?) {
        print("authenticateMe: \(success ? "success" : error.map { name(of: $0) } ?? "no error")")
        exit(success ? EXIT_SUCCESS : EXIT_FAILURE)
    }
}
