import Foundation
import LocalAuthentication
import Outcome
import Security

/// Notices that the enrolled fingers or faces have changed since the app was registered.
///
/// The domain state tells the app, so that it can ask for its own password again. The item under `biometryCurrentSet` does
/// not depend on the app asking: it is gone with the set that it was stored under.
@main
struct ReRegistration {
    static func main() {
        switch CommandLine.arguments.dropFirst() {
        case ["register"]: register()
        case ["check"]: check()
        case ["forget"]: forget()
        default:
            FileHandle.standardError.write(Data("usage: re-registration register|check|forget\n".utf8))
            exit(2)
        }
    }

    /// Stores both items again and remembers the set of fingers they were stored under.
    private static func register() {
        let state = domainState(of: LAContext())
        deleteAll()
        for constraint in Constraint.allCases {
            let status = constraint.add()
            print("SecItemAdd \(constraint): \(description(of: status))")
            guard status == errSecSuccess else { exit(EXIT_FAILURE) }
        }
        UserDefaults.standard.set(state, forKey: domainStateKey)
        UserDefaults.standard.synchronize()
    }

    /// Compares the set of fingers with the remembered one and reads both items with one prompt.
    private static func check() {
        guard let remembered = UserDefaults.standard.data(forKey: domainStateKey) else {
            print("nothing registered")
            exit(EXIT_FAILURE)
        }
        let context = LAContext()
        context.localizedReason = "read what you registered"

        let isUnchanged = domainState(of: context) == remembered
        print("evaluatedPolicyDomainState: \(isUnchanged ? "unchanged" : "changed")")

        let statuses = Constraint.allCases.map { constraint in
            let status = constraint.read(context)
            print("SecItemCopyMatching \(constraint): \(description(of: status))")
            return status
        }
        exit(isUnchanged && statuses.allSatisfy { $0 == errSecSuccess } ? EXIT_SUCCESS : EXIT_FAILURE)
    }

    private static func forget() {
        deleteAll()
        UserDefaults.standard.removeObject(forKey: domainStateKey)
        UserDefaults.standard.synchronize()
    }

    /// The state of the enrolled set, which is nil until the context has been asked about a biometric policy.
    private static func domainState(of context: LAContext) -> Data {
        var error: NSError?
        guard context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error),
            let state = context.evaluatedPolicyDomainState
        else {
            print("canEvaluatePolicy: \(error.map { name(of: $0) } ?? "no error")")
            exit(EXIT_FAILURE)
        }
        return state
    }

    private static func deleteAll() {
        for constraint in Constraint.allCases {
            SecItemDelete(constraint.item as CFDictionary)
        }
    }

    private static let domainStateKey = "evaluatedPolicyDomainState"
}
