import Foundation
import LocalAuthentication
import Synchronization
import Testing
import TouchstoneTesting

let biometrics = LAPolicy.deviceOwnerAuthenticationWithBiometrics
let deviceOwner = LAPolicy.deviceOwnerAuthentication
let companion = LAPolicy.deviceOwnerAuthenticationWithCompanion
let biometricsOrCompanion = LAPolicy.deviceOwnerAuthenticationWithBiometricsOrCompanion

/// The code of the refusal; nil for a yes.
func canEvaluate(_ policy: LAPolicy, on context: LAContext = LAContext()) -> LAError.Code? {
    var error: NSError?
    if context.canEvaluatePolicy(policy, error: &error) { return nil }
    return code(of: error)
}

/// The code with which the evaluation ended; nil for success.
nonisolated(nonsending) func evaluate(
    _ policy: LAPolicy, on context: LAContext = LAContext(), reason: String = "test"
) async -> LAError.Code? {
    do {
        try await context.evaluatePolicy(policy, localizedReason: reason)
        return nil
    } catch {
        return code(of: error)
    }
}

/// What is no `LAError` at all fails the test, and equals no code that a test expects.
func code(of error: (any Error)?) -> LAError.Code {
    guard let error = error as? LAError else {
        Issue.record("not an LAError: \(String(describing: error))")
        return .invalidDimensions
    }
    return error.code
}

/// Waits for something that other threads do; for what is never done, not longer than two minutes.
func eventually(
    _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation, _ condition: () throws -> Bool
) async rethrows {
    let clock = ContinuousClock()
    let end = clock.now + .seconds(120)
    while try !condition() {
        guard clock.now < end else {
            Issue.record(comment ?? "never came true", sourceLocation: sourceLocation)
            return
        }
        try? await Task.sleep(for: .milliseconds(1))
    }
}

/// Takes the replies of evaluations that are not waited for.
final class Replies: Sendable {
    private let received = Mutex<[LAError.Code?]>([])

    /// One for each reply so far: nil for success.
    var codes: [LAError.Code?] { received.withLock { $0 } }

    /// Begins an evaluation and returns at once.
    func collect(_ policy: LAPolicy, on context: LAContext) {
        context.evaluatePolicy(policy, localizedReason: "test") { [self] isSuccess, error in take(isSuccess, error) }
    }

    func take(_ isSuccess: Bool, _ error: (any Error)?) {
        #expect(isSuccess == (error == nil), "EV-03")
        received.withLock { $0.append(isSuccess ? nil : code(of: error)) }
    }

    /// The first reply, and that there is one only.
    func only(sourceLocation: SourceLocation = #_sourceLocation) async -> LAError.Code? {
        await eventually("no reply", sourceLocation: sourceLocation) { !codes.isEmpty }
        #expect(codes.count == 1, "EV-01: one reply", sourceLocation: sourceLocation)
        return codes.first ?? .invalidDimensions
    }
}

extension SimulatedDevice {
    /// Five non-matches, in as many evaluations as that takes (EV-26).
    func lockOutBiometry(_ biometry: Biometry = .touchID) async {
        switch biometry {
        case .touchID:
            present(.nonMatch, .nonMatch, .nonMatch)
            #expect(await evaluate(biometrics) == .authenticationFailed)
            present(.nonMatch, .nonMatch)
        case .faceID:
            for _ in 0..<2 {
                present(.nonMatch, .tryAgain, .nonMatch, .cancel)
                #expect(await evaluate(biometrics) == .userCancel)
            }
            present(.nonMatch)
        case .none: Issue.record("nothing to lock out")
        }
        #expect(await evaluate(biometrics) == .biometryLockout)
    }

    /// Has the finger open the lock screen.
    func lockAndUnlock(finger: Int) throws {
        try lock()
        #expect(try unlock(finger: finger))
    }

    /// Has the passcode open the lock screen.
    func lockAndUnlock(passcode: String) throws {
        try lock()
        try unlock(passcode: passcode)
    }
}
