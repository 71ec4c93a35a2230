import Glibc
import TouchstoneCore

/// What every agent says of a prompt, in its own looks: what was verified apart from what the app claims (AT-17, EV-10 to EV-16).
///
/// Claims stand in quotation marks behind "says", and nowhere else but on buttons.
struct PromptText {
    var prompt: AgentInterface.Prompt
    /// Seconds until a passcode is looked at.
    var secondsLeft = 0

    var name: String { PlainText.line(prompt.app.name) }

    /// Nothing in here is the app's word.
    var kind: String {
        switch prompt.phase {
        case .passcode: return "Passcode"
        case .applicationPassword: return "App password"
        case .permission, .biometry, .retry, .fallback: break
        }
        return switch prompt.biometryType {
        case .touchID: "Touch ID"
        case .faceID: "Face ID"
        case .opticID: "Optic ID"
        case .none: "Passcode"
        }
    }

    var title: String { "\(kind) for \u{201C}\(name)\u{201D}" }

    // MARK: verified

    /// Who asks, who started it, and from where: each a line.
    var verified: [String] { [app, startedBy, place].compactMap { $0 } }

    private var app: String {
        let evidence =
            switch prompt.app.evidence {
            case .flatpak: "Flatpak sandbox"
            case .snap: "Snap sandbox"
            case .systemdUnit: "systemd unit"
            case .executable: "executable"
            case .process: "this process"
            }
        let user = prompt.app.userID == 0 && geteuid() != 0 ? ", as root" : ""
        return "asked by \(PlainText.line(prompt.app.identifier)) (verified: \(evidence)), process "
            + "\(prompt.app.processID)\(user)"
    }

    private var startedBy: String? {
        guard let ancestors = prompt.origin?.ancestors else { return nil }
        guard !ancestors.isEmpty else { return "started by nobody who still runs" }
        let shown = ancestors.prefix(Self.maximumAncestors).map { ancestor in
            // A name without a file behind it is that process's own word.
            ancestor.executable.map(PlainText.line) ?? "a process that calls itself \(PlainText.line(ancestor.name))"
        }
        return "started by " + shown.joined(separator: " \u{2190} ")
            + (ancestors.count > shown.count ? " \u{2190} …" : "")
    }

    private var place: String? {
        guard let origin = prompt.origin else { return nil }
        let terminal = origin.terminal.map { ", on \(PlainText.line($0))" } ?? ", on no terminal"
        return switch origin.place {
        case .local: "in a local session\(terminal)"
        case .remote: "in a REMOTE session (\(PlainText.line(origin.remote ?? "of unknown origin")))\(terminal)"
        case .unknown: "in no session that is known to be local\(terminal)"
        }
    }

    // MARK: claimed

    /// The app's words: each a line that says so.
    var claims: [String] {
        var claims: [String] = []
        if let wish {
            let label = prompt.keyLabel.map { " that it calls \u{201C}\(PlainText.line($0))\u{201D}" } ?? ""
            claims.append("wants to \(wish)\(label)")
        }
        if !prompt.reason.isEmpty { claims.append("says: \u{201C}\(PlainText.line(prompt.reason))\u{201D}") }
        return claims
    }

    private var wish: String? {
        switch prompt.operation {
        case nil: prompt.keyLabel == nil ? nil : "use a key"
        case .createItem: "store an item"
        case .useItem: "use an item"
        case .createKey: "create a key"
        case .useKeySign: "sign with a key"
        case .useKeyDecrypt: "decrypt with a key"
        case .useKeyKeyExchange: "agree on a secret with a key"
        }
    }

    // MARK: how it stands

    var failure: String? {
        switch prompt.phase {
        case .passcode: prompt.wrongPasscode ? "Wrong passcode." : nil
        case .applicationPassword: prompt.wrongPasscode ? "Wrong password." : nil
        case .permission: nil
        case .biometry: prompt.failures > 0 ? "Not recognised. Try again." : nil
        case .retry, .fallback: "Not recognised."
        }
    }

    var instruction: String {
        switch prompt.phase {
        case .permission: "Do you want to allow \u{201C}\(name)\u{201D} to use \(kind)?"
        case .biometry: prompt.biometryType == .touchID ? "Touch the fingerprint sensor." : "Look at the camera."
        case .retry, .fallback: "Choose how to go on."
        case .passcode: secondsLeft > 0 ? "Try again in \(secondsLeft) s." : "Enter the passcode of this device."
        case .applicationPassword: "Enter the password that “\(name)” keeps this under. It is not your passcode."
        }
    }

    /// The button beside Cancel, where there is one.
    var otherButton: String? {
        switch prompt.phase {
        case .permission: "Allow"
        case .retry: "Try \(kind) Again"
        case .biometry, .fallback: prompt.fallbackTitle.map(PlainText.line)
        case .passcode, .applicationPassword: nil
        }
    }

    static let denyButton = "Don\u{2019}t Allow"
    var cancelButton: String { PlainText.line(prompt.cancelTitle) }

    /// More of them tell little, and the rest of the alert would go out of sight.
    private static let maximumAncestors = 5
}

extension AgentInterface.Prompt {
    /// Whether a passcode, or an app's password, is to be typed.
    var isTyped: Bool { phase == .passcode || phase == .applicationPassword }
    /// Whether a passcode would be looked at now.
    var takesPasscode: Bool { phase == .passcode && (retryAfterSeconds ?? 0) <= 0 }
    /// EV-11: Face ID looks with an indicator, not with an alert.
    var isIndicator: Bool { phase == .biometry && biometryType == .faceID }
    /// What is typed at the prompt is sealed for.
    var purpose: SealedPasscode.Purpose {
        if phase == .applicationPassword, let context {
            .credential(context: context)
        } else {
            .prompt(app: app.identifier)
        }
    }
}
