import TouchstoneCore

/// The alert as lines of text: what it says depends on nothing but the prompt (EV-10 to EV-16).
struct PromptAlert {
    var prompt: AgentInterface.Prompt
    /// Seconds until a passcode is looked at.
    var secondsLeft: Int
    /// Characters of the passcode entered so far; nil: keys are not for this agent to read.
    var entered: Int?

    enum Style { case plain, title, claim, warning }

    struct Line: Equatable {
        var style: Style
        var text: String
    }

    func lines(columns: Int) -> [Line] {
        let width = max(Self.minimumColumns, min(columns - 1, Self.maximumColumns))
        let rule = Line(style: .plain, text: String(repeating: "─", count: width))
        // EV-11: Face ID looks without an alert.
        if prompt.phase == .biometry, prompt.biometryType == .faceID {
            return PlainText.wrap(
                "Face ID for \u{201C}\(PlainText.line(prompt.app.name))\u{201D}: look at the camera \u{B7} \(buttons)",
                columns: width
            ).map { Line(style: .plain, text: $0) }
        }
        var lines = [rule]
        func add(_ style: Style, _ text: String) {
            lines += PlainText.wrap(text, columns: width - Self.indent.count).map {
                Line(style: style, text: Self.indent + $0)
            }
        }
        add(.title, "\(title) for \u{201C}\(PlainText.line(prompt.app.name))\u{201D}")
        add(.plain, evidence)
        // EV-11: the device leaves it out where it is not to be shown.
        if !prompt.reason.isEmpty {
            add(.claim, "It says: \u{201C}\(PlainText.line(prompt.reason))\u{201D}")
        }
        if let use { add(.claim, use) }
        lines.append(Line(style: .plain, text: ""))
        if let failure { add(.warning, failure) }
        add(.plain, instruction)
        lines.append(Line(style: .plain, text: ""))
        add(.plain, buttons)
        lines.append(rule)
        return lines
    }

    private var title: String {
        if prompt.phase == .passcode { return "Passcode" }
        return switch prompt.biometryType {
        case .touchID: "Touch ID"
        case .faceID: "Face ID"
        case .opticID: "Optic ID"
        case .none: "Passcode"
        }
    }

    /// What the name rests on: a label of a certain strength, and never more.
    private var evidence: String {
        let identifier = PlainText.line(prompt.app.identifier)
        let process = "process \(prompt.app.processID)"
        return switch prompt.app.evidence {
        case .flatpak: "Flatpak sandbox \(identifier), \(process)"
        case .snap: "Snap sandbox \(identifier), \(process)"
        case .systemdUnit: "systemd unit \(identifier), \(process)"
        case .executable: "known by its file only: \(identifier), \(process)"
        case .process: "the test process itself: \(identifier), \(process)"
        }
    }

    /// What is to be done with a key, and what the app calls it.
    private var use: String? {
        let key = prompt.keyLabel.map { "the key \u{201C}\(PlainText.line($0))\u{201D}" } ?? "a key"
        return switch prompt.operation {
        case .useKeySign: "Sign with \(key)"
        case .useKeyDecrypt: "Decrypt with \(key)"
        case .useKeyKeyExchange: "Exchange keys with \(key)"
        case .createItem, .useItem, .createKey, nil: nil
        }
    }

    private var failure: String? {
        if prompt.phase == .passcode { return prompt.wrongPasscode ? "Wrong passcode." : nil }
        guard prompt.failures > 0 else { return nil }
        return prompt.phase == .biometry ? "Not recognised. Try again." : "Not recognised."
    }

    private var instruction: String {
        switch prompt.phase {
        case .permission: return "May it use Face ID on this device?"
        case .retry: return "Face ID looks once more when you are ready."
        case .biometry:
            return prompt.biometryType == .touchID ? "Touch the fingerprint sensor." : "Look at the camera."
        case .fallback: return "Choose how to go on."
        case .passcode:
            if secondsLeft > 0 { return "Try again in \(secondsLeft) s." }
            guard let entered else { return "Enter the passcode." }
            return "Enter the passcode: " + String(repeating: "•", count: min(entered, Self.maximumDots))
        }
    }

    private var buttons: String {
        let cancel = "[\(prompt.phase == .passcode ? "Esc" : "c")] \(PlainText.line(prompt.cancelTitle))"
        if prompt.phase == .passcode { return secondsLeft > 0 ? cancel : "[Return] OK \u{B7} " + cancel }
        if prompt.phase == .permission { return "[a] Allow \u{B7} [d] Don\u{2019}t Allow \u{B7} " + cancel }
        if prompt.phase == .retry { return "[t] Try Face ID Again \u{B7} " + cancel }
        guard let fallback = prompt.fallbackTitle else { return cancel }
        return "[f] \(PlainText.line(fallback)) \u{B7} " + cancel
    }

    private static let indent = "  "
    private static let minimumColumns = 20
    private static let maximumColumns = 76
    /// More dots than this tell nothing.
    private static let maximumDots = 24
}
