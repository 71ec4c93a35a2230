import Foundation
import Testing
import TouchstoneCore

@testable import touchstone

/// What the alert says, and what it lets an app say (EV-10 to EV-16).
struct PromptAlertTests {
    private func prompt(
        name: String = "gate", reason: String = "log in", biometry: BiometryType = .touchID,
        operation: AccessControlOperation? = nil, keyLabel: String? = nil, phase: AgentInterface.Phase = .biometry,
        fallback: String? = nil, failures: Int = 0, wrong: Bool = false
    ) -> AgentInterface.Prompt {
        AgentInterface.Prompt(
            identifier: "1",
            app: AppIdentity(
                identifier: "/usr/bin/gate", evidence: .executable, name: name, processID: 42, userID: 1000),
            reason: reason, operation: operation, keyLabel: keyLabel, biometryType: biometry, phase: phase,
            cancelTitle: "Cancel", fallbackTitle: fallback,
            failures: failures, nonce: Data(), retryAfterSeconds: nil, wrongPasscode: wrong)
    }

    private func text(_ prompt: AgentInterface.Prompt, secondsLeft: Int = 0, entered: Int? = nil) -> [String] {
        PromptAlert(prompt: prompt, secondsLeft: secondsLeft, entered: entered).lines(columns: 80).map(\.text)
            .filter { !$0.isEmpty && !$0.hasPrefix("─") }
    }

    @Test func alertNamesTheAppWhatItsNameRestsOnAndMarksTheReasonAsAClaim() {
        #expect(
            text(prompt()) == [
                "  Touch ID for “gate”", "  known by its file only: /usr/bin/gate, process 42", "  It says: “log in”",
                "  Touch the fingerprint sensor.", "  [c] Cancel",
            ])
    }

    @Test func failureAndFallbackAreShownTogether() {
        let lines = text(prompt(fallback: "Enter Passcode", failures: 1))
        #expect(lines.contains("  Not recognised. Try again."))
        #expect(lines.last == "  [f] Enter Passcode · [c] Cancel")
    }

    @Test func faceIDShowsTheReasonOnlyAfterAFailure() {
        #expect(!text(prompt(biometry: .faceID)).contains("  It says: “log in”"))
        #expect(text(prompt(biometry: .faceID, failures: 1)).contains("  It says: “log in”"))
    }

    @Test func passcodeShowsDotsAndDelaysShowSeconds() {
        #expect(text(prompt(phase: .passcode), entered: 3).contains("  Enter the passcode: •••"))
        let later = text(prompt(phase: .passcode, wrong: true), secondsLeft: 60, entered: 0)
        #expect(later.contains("  Wrong passcode."))
        #expect(later.suffix(2) == ["  Try again in 60 s.", "  [Esc] Cancel"])
    }

    @Test func alertNamesTheKeyAndWhatIsToBeDoneWithIt() {
        let lines = text(prompt(operation: .useKeySign, keyLabel: "bank"))
        #expect(lines[2...3] == ["  It says: “log in”", "  Sign with the key “bank”"])
        #expect(
            text(prompt(operation: .useKeyDecrypt, keyLabel: "a\u{202E}b\n"))[3]
                == "  Decrypt with the key “a\u{FFFD}b\u{FFFD}”")
        #expect(text(prompt(operation: .useKeyKeyExchange))[3] == "  Exchange keys with a key")
        #expect(text(prompt(operation: .useItem, keyLabel: "bank")) == text(prompt()))
    }

    @Test func nothingAnAppSaysMovesTheCursor() {
        let lines = text(prompt(name: "\u{1B}[2Jgate\n", reason: "a\u{202E}b\u{7}"))
        #expect(lines[0] == "  Touch ID for “\u{FFFD}[2Jgate\u{FFFD}”")
        #expect(lines[2] == "  It says: “a\u{FFFD}b\u{FFFD}”")
    }
}
