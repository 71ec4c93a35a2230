import Foundation
import Testing
import TouchstoneAgent
import TouchstoneCore
import TouchstoneInterfaces

@testable import touchstone

extension AgentInterface.Prompt {
    /// A prompt as an agent of these tests is shown it.
    static func test(
        name: String = "gate", identifier: String = "/usr/bin/gate", evidence: AppIdentity.Evidence = .executable,
        origin: ProcessOrigin? = nil, reason: String = "log in", operation: AccessControlOperation? = nil,
        keyLabel: String? = nil, items: AgentInterface.ItemNames? = nil, biometry: BiometryType = .touchID,
        phase: AgentInterface.Phase = .biometry,
        cancel: String = "Cancel", fallback: String? = nil, failures: Int = 0, wrong: Bool = false
    ) -> Self {
        AgentInterface.Prompt(
            identifier: "1",
            app: AppIdentity(
                identifier: AppIdentifier(identifier), evidence: evidence, name: name, processID: 42, userID: 1000),
            origin: origin, reason: reason, operation: operation, keyLabel: keyLabel, items: items,
            biometryType: biometry, phase: phase, cancelTitle: cancel, fallbackTitle: fallback, failures: failures,
            nonce: Data(), retryAfterSeconds: nil,
            wrongPasscode: wrong)
    }
}

/// What the alert says, and what it lets an app say (EV-10 to EV-16).
struct PromptAlertTests {
    private typealias Prompt = AgentInterface.Prompt

    private func text(_ prompt: AgentInterface.Prompt, secondsLeft: Int = 0, entered: Int? = nil) -> [String] {
        PromptAlert(prompt: prompt, secondsLeft: secondsLeft, entered: entered).lines(columns: 80).map(\.text)
            .filter { !$0.isEmpty && !$0.hasPrefix("─") }
    }

    /// As one line, wherever it was wrapped.
    private func joined(_ prompt: AgentInterface.Prompt) -> String {
        text(prompt).joined(separator: " ").split(separator: " ").joined(separator: " ")
    }

    @Test("DA-3: what is asked comes first, then who asks; a bridge's long words stand whole among the claims")
    func order() {
        #expect(text(.test(reason: "", phase: .unlock))[0] == "  Unlock this device")
        #expect(
            text(.test(reason: "", operation: .useItem, items: .init(names: ["mail"], count: 1)))[0]
                == "  Use an item “mail”")
        var prompt = Prompt.test(reason: String(repeating: "word ", count: 50) + "end")
        prompt.facts = []
        #expect(PromptText(prompt: prompt).headline.utf8.count < 140)
        #expect(joined(prompt).contains("word end”"))
    }

    @Test("EV-10, AT-17: the alert names the app, what that rests on, and marks the reason as the app's word")
    func verifiedAndClaimed() {
        #expect(
            text(.test()) == [
                "  “log in”", "  Touch ID for “gate”", "  asked by “/usr/bin/gate” (verified: executable), process 42",
                "  Touch the fingerprint sensor.", "  says: “log in”", "  [c] Cancel",
            ])
    }

    @Test(
        "AT-17: each kind of evidence is named",
        arguments: [
            (AppIdentity.Evidence.flatpak, "Flatpak sandbox"), (.snap, "Snap sandbox"), (.systemdUnit, "systemd unit"),
            (.executable, "executable"), (.process, "this process"),
        ])
    func evidence(kind: AppIdentity.Evidence, words: String) {
        #expect(
            joined(.test(identifier: "app", evidence: kind)).contains("asked by “app” (verified: \(words)), process 42")
        )
    }

    @Test(
        "AT-17: who started the app stands with what is verified; a name without a file is only what a process calls itself"
    )
    func startedBy() {
        let origin = ProcessOrigin(
            ancestors: [
                .init(processID: 3, executable: "/usr/bin/bash", name: "sshd"),
                .init(processID: 2, executable: nil, name: "sshd"),
            ], terminal: "pts/3", session: "7", place: .remote, remote: "sshd")
        let lines = joined(.test(origin: origin))
        #expect(lines.contains("started by “/usr/bin/bash” ← a process that calls itself “sshd”"))
        #expect(lines.contains("in a REMOTE session (sshd), on pts/3"))
        let alone = ProcessOrigin(ancestors: [], terminal: nil, session: nil, place: .unknown, remote: nil)
        #expect(joined(.test(origin: alone)).contains("started by a program that has ended"))
        #expect(joined(.test(origin: alone)).contains("in a session that may not be local, without a terminal"))
        let local = ProcessOrigin(ancestors: [], terminal: "tty2", session: "2", place: .local, remote: nil)
        #expect(joined(.test(origin: local)).contains("in a local session, on tty2"))
    }

    @Test("AT-17: a long chain is cut, and says so") func longChain() {
        let ancestors = (1...9).map { ProcessOrigin.Ancestor(processID: $0, executable: "/bin/\($0)", name: "x") }
        let origin = ProcessOrigin(ancestors: ancestors, terminal: nil, session: nil, place: .unknown, remote: nil)
        #expect(
            joined(.test(origin: origin)).contains(
                "started by “/bin/1” ← “/bin/2” ← “/bin/3” ← “/bin/4” ← “/bin/5” ← … T"))
    }

    @Test("The key and its use are shown as the app's wish") func keys() {
        #expect(
            text(.test(operation: .useKeySign, keyLabel: "login key")).contains(
                "  wants to sign with a key that it calls “login key”"))
        #expect(text(.test(reason: "", operation: .useKeyDecrypt)).contains("  wants to decrypt with a key"))
    }

    @Test("The items are named as the apps call them") func items() {
        #expect(
            joined(.test(operation: .useItem, items: .init(names: ["mail"], count: 1))).contains(
                "wants to use an item called “mail”"))
        #expect(
            joined(.test(operation: .useItem, items: .init(names: ["a", "b"], count: 3))).contains(
                "wants to use 3 items called “a”, “b” …"))
        #expect(text(.test(reason: "", operation: .useItem)).contains("  wants to use an item"))
    }

    @Test("EV-15: failure and fallback are shown together") func failureAndFallback() {
        let lines = text(.test(fallback: "Enter Passcode", failures: 1))
        #expect(lines.contains("  Not recognised. Try again."))
        #expect(lines.last == "  [f] Enter Passcode · [c] Cancel")
    }

    @Test("ND-1: a bridge's client is who asks, and the bridge the way it came; without one the app is") func client() {
        var prompt = Prompt.test(name: "ssh agent", identifier: "unit:touchstone-ssh@1000.service", reason: "")
        #expect(text(prompt).contains("  Touch ID for “ssh agent”"))
        prompt.client = AppIdentity(
            identifier: "/usr/bin/ssh", evidence: .executable, name: "ssh", processID: 7, userID: 1000)
        let lines = text(prompt)
        #expect(lines.contains("  Touch ID for “ssh”"))
        #expect(lines.contains("  asked by “/usr/bin/ssh” (verified: executable), process 7"))
        #expect(lines.contains("  through “ssh agent”, “unit:touchstone-ssh@1000.service”"))
    }

    @Test("ND-5: a fact is said to be the bridge's, in quotation marks that it cannot end") func facts() {
        var prompt = Prompt.test(reason: "sign in")
        prompt.facts = [.init(kind: .host, text: "a\u{201D} b"), .init(kind: .hostKey, text: "SHA256:x")]
        let lines = text(prompt)
        #expect(lines.contains("  the bridge says: host “a' b”"))
        #expect(lines.contains("  the bridge says: host key “SHA256:x”"))
    }

    @Test("ND-6: to unlock the device its passcode is typed, and sealed for the lock screen alone") func unlock() {
        var prompt = Prompt.test(reason: "", biometry: .none, phase: .unlock)
        let lines = text(prompt, entered: 2)
        #expect(lines.contains("  Unlock for “gate”"))
        #expect(lines.contains("  wants the device to be unlocked"))
        #expect(lines.contains("  Enter the passcode of this device. ••"))
        #expect(prompt.purpose == .unlock && prompt.isTyped && prompt.takesPasscode)
        prompt.wrongPasscode = true
        #expect(text(prompt).contains("  Wrong passcode."))
        prompt.phase = .passcode
        #expect(prompt.purpose != .unlock)
    }

    @Test("EV-11: Face ID begins with an indicator: no alert, no reason") func indicator() {
        let lines = PromptAlert(prompt: .test(reason: "", biometry: .faceID), secondsLeft: 0, entered: nil)
            .lines(columns: 80).map(\.text)
        #expect(
            lines == [
                "  Face ID for “gate”: Looking…", "  asked by “/usr/bin/gate” (verified: executable), process 42",
                "  [c] Cancel",
            ])
    }

    @Test("EV-16: Face ID's two dialogs, and CE-10's question") func faceIDDialogs() {
        let retry = text(.test(biometry: .faceID, phase: .retry, failures: 1))
        #expect(retry.contains("  Choose how to continue."))
        #expect(retry.last == "  [t] Try Face ID Again · [c] Cancel")
        let fallback = text(.test(biometry: .faceID, phase: .fallback, fallback: "Use PIN", failures: 2))
        #expect(fallback.last == "  [f] Use PIN · [c] Cancel")
        let permission = text(.test(reason: "find you", biometry: .faceID, phase: .permission))
        #expect(permission.contains("  Do you want to allow “gate” to use Face ID?"))
        #expect(permission.contains("  says: “find you”"))
        #expect(permission.last == "  [a] Allow · [d] Don’t Allow · [c] Cancel")
    }

    @Test("PC-01: the passcode shows dots, and a delay seconds") func passcode() {
        #expect(text(.test(phase: .passcode), entered: 3).contains("  Enter the passcode of this device. •••"))
        let later = text(.test(phase: .passcode, wrong: true), secondsLeft: 60, entered: 0)
        #expect(later.contains("  Wrong passcode."))
        #expect(later.contains("  Try again in 60 s."))
        #expect(later.last == "  [Esc] Cancel")
    }

    @Test(
        "PC-06: the entry says what the passcode is made of",
        arguments: [
            (PasscodeKind.fourDigit, "Enter the four-digit passcode of this device."),
            (.sixDigit, "Enter the six-digit passcode of this device."),
            (.numeric, "Enter the numeric passcode of this device."),
            (.alphanumeric, "Enter the passcode of this device."), (nil, "Enter the passcode of this device."),
        ] as [(PasscodeKind?, String)])
    func passcodeKind(kind: PasscodeKind?, words: String) {
        var prompt = Prompt.test(phase: .passcode)
        prompt.passcodeKind = kind
        #expect(text(prompt).contains("  \(words)"))
        #expect(PromptText(prompt: prompt).instruction == words)
    }

    @Test("AT-17: in a low terminal the claims are cut, and nothing else") func rows() {
        let prompt = Prompt.test(
            name: "gate", reason: String(repeating: "word ", count: 100), phase: .applicationPassword)
        let whole = PromptAlert(prompt: prompt, secondsLeft: 0, entered: 0).lines(columns: 80)
        let low = PromptAlert(prompt: prompt, secondsLeft: 0, entered: 0).lines(columns: 80, rows: 14)
        #expect(whole.count > 14 && low.count == 13)
        #expect(low.filter { $0.style != .claim } == whole.filter { $0.style != .claim })
        #expect(low.last { $0.style == .claim }?.text == "  …")
        let high = PromptAlert(prompt: prompt, secondsLeft: 0, entered: 0).lines(columns: 80, rows: whole.count + 1)
        #expect(high == whole)
    }

    @Test(
        "AT-17: no quotation mark of an app's looks like the one that ends its words",
        arguments: ["\u{201D}", "\u{201C}", "\u{201E}", "\u{201F}", "\u{2033}", "\u{301E}", "\u{FF02}", "\""])
    func quotationMarks(mark: String) {
        let words = "a\(mark) b"
        let lines = text(.test(name: words, identifier: "/x/\(words)", reason: words, keyLabel: words))
        for line in ["Touch ID for “a' b”", "says: “a' b”", "wants to use a key that it calls “a' b”"] {
            #expect(lines.contains("  \(line)"))
        }
        #expect(lines.contains("  asked by “/x/a' b” (verified: executable), process 42"))
    }

    @Test("EV-61: the prompt distinguishes an app's password from the passcode") func applicationPassword() {
        let lines = text(.test(phase: .applicationPassword, wrong: true), entered: 2)
        #expect(lines[1] == "  App password for “gate”")
        #expect(lines.contains("  Wrong password."))
        // The sentence may go over two lines.
        let words = lines.map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: " ")
        #expect(words.contains("It is not your passcode."))
        #expect(lines.last == "  [Return] OK · [Esc] Cancel")
    }

    @Test(
        "AT-17: nothing an app says leaves its place",
        arguments: [
            ("\u{1B}[2Jgate\n", "a\u{202E}b\u{7}", "“\u{FFFD}[2Jgate\u{FFFD}”", "says: “a\u{FFFD}b\u{FFFD}”"),
            ("g\u{200B}ate", "x\u{E0041}y", "“g\u{FFFD}ate”", "says: “x\u{FFFD}y”"),
            ("gate", "a\u{2028}b\u{85}c", "“gate”", "says: “a\u{FFFD}b\u{FFFD}c”"),
        ])
    func hostileWords(name: String, reason: String, shownName: String, shownReason: String) {
        let lines = text(.test(name: name, reason: reason))
        #expect(lines[0] == "  \(shownReason.dropFirst("says: ".count))")
        #expect(lines[1] == "  Touch ID for \(shownName)")
        #expect(lines[4] == "  \(shownReason)")
    }

    @Test("AT-17: a path with line breaks and overrides in it cannot write a line of its own") func hostilePath() {
        let origin = ProcessOrigin(
            ancestors: [.init(processID: 3, executable: "/tmp/a\nasked by /usr/bin/bank", name: "a")], terminal: nil,
            session: nil, place: .unknown, remote: nil)
        let lines = text(.test(identifier: "/tmp/x\u{202E}\nstarted by root", origin: origin))
        #expect(
            !lines.contains {
                $0.hasPrefix("  asked by /usr/bin/bank") || $0.hasPrefix("  asked by “/usr/bin/bank")
                    || $0.hasPrefix("  started by root")
            })
    }
}
