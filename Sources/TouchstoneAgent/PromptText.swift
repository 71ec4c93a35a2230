internal import Glibc
package import TouchstoneCore
package import TouchstoneInterfaces

/// What every agent says of a prompt, in its own looks: what was verified apart from what the app claims (AT-17, EV-10 to EV-16).
///
/// Claims stand in quotation marks behind "says" or "calls", and nowhere else but on buttons. Names, identifiers and paths stand in
/// them, too, and each has a largest size, so that all that is verified, and the instruction, have room in every alert (`AssuanLine`).
/// Claims come last: they may be cut.
package struct PromptText {
    package var prompt: AgentInterface.Prompt
    /// Seconds until a passcode is looked at.
    package var secondsLeft: Int

    /// Whether each text from elsewhere stands in a span of its own direction (DA-3): for screens that order text by its letters.
    package var isolates: Bool

    package init(prompt: AgentInterface.Prompt, secondsLeft: Int = 0, isolates: Bool = false) {
        self.prompt = prompt
        self.secondsLeft = secondsLeft
        self.isolates = isolates
    }

    /// Who asks: a bridge's client in the place of the bridge (ND-1).
    private var asker: AppIdentity { prompt.client ?? prompt.app }
    package var name: String { isolated(PlainText.quotable(asker.name, bytes: Limits.name)) }

    /// Nothing in here is the app's word.
    package var kind: String {
        switch prompt.phase {
        case .passcode: return "Passcode"
        case .applicationPassword: return "App password"
        case .unlock: return "Unlock"
        case .permission, .biometry, .retry, .fallback: break
        }
        return switch prompt.biometryType {
        case .touchID: "Touch ID"
        case .faceID: "Face ID"
        case .opticID: "Optic ID"
        case .none: "Passcode"
        }
    }

    package var title: String { "\(kind) for \u{201C}\(name)\u{201D}" }

    // MARK: what and who, for a screen that has large letters

    /// What is asked for, as one line: the reason, else what an access control is to allow.
    ///
    /// Our words, and in quotation marks those of a bridge or an app. A bridge's reason has its warnings and who asks from afar (BR-20).
    package var what: String { what(prompt.facts == nil ? Limits.headline : Limits.sentence) }

    /// The same as the first of many lines: cut, because the whole stands among the claims.
    package var headline: String { what(Limits.headline) }

    /// The same where all lines together have little room (`AssuanLine`).
    package var shortHeadline: String { what(Limits.shortHeadline) }

    private func what(_ limit: Int) -> String {
        if prompt.phase == .unlock { return "Unlock this device" }
        if prompt.phase == .permission { return "Use \(kind)" }
        if !prompt.reason.isEmpty {
            return quoted(prompt.reason, limit)
        }
        return object(min(limit, Limits.headline)) ?? "Confirm that it is you"
    }

    /// The item or the key that it is about, or what Face ID is to be used for, where `what` does not say.
    package var object: String? { object(Limits.headline) }

    private func object(_ limit: Int) -> String? {
        // CE-11: what it wants Face ID for.
        if prompt.phase == .permission, !prompt.reason.isEmpty { return quoted(prompt.reason, limit) }
        guard let wish else { return nil }
        let label = prompt.keyLabel.map { " \(quoted($0, limit))" } ?? itemNames(" ", limit)
        return wish.prefix(1).uppercased() + wish.dropFirst() + label
    }

    /// Where the one who asks lies, or which sandbox it is: verified.
    package var path: String { isolated(PlainText.quotable(asker.identifier.rawValue, bytes: Limits.identifier)) }

    /// Verified, and worth a warning: what asks came over a network.
    package var warning: String? { prompt.origin?.place == .remote ? place : nil }

    /// The bridge's word, apart from the app's.
    package var bridgeSays: [String] {
        (prompt.facts ?? []).map { "the bridge says: \($0.kind.words) \(quoted($0.text, Limits.claim))" }
    }

    // MARK: verified

    /// Who asks, from where, and who started it: each a line.
    package var verified: [String] { [described(asker), place, startedBy, bridge].compactMap { $0 } }

    /// The way by which a client asks.
    private var bridge: String? {
        guard prompt.client != nil else { return nil }
        return
            "through \(quoted(prompt.app.name, Limits.name)), \(quoted(prompt.app.identifier.rawValue, Limits.bridge))"
    }

    private func described(_ app: AppIdentity) -> String {
        let evidence =
            switch app.evidence {
            case .flatpak: "Flatpak sandbox"
            case .snap: "Snap sandbox"
            case .systemdUnit: "systemd unit"
            case .executable: "executable"
            case .process: "this process"
            }
        let user = app.userID == 0 && geteuid() != 0 ? ", as root" : ""
        return "asked by \(quoted(app.identifier.rawValue, Limits.identifier)) (verified: \(evidence)), process "
            + "\(app.processID)\(user)"
    }

    private var startedBy: String? {
        guard let ancestors = prompt.origin?.ancestors else { return nil }
        guard !ancestors.isEmpty else { return "started by a program that has ended" }
        let shown = ancestors.prefix(Limits.ancestors).map { ancestor in
            // A name without a file behind it is that process's own word.
            ancestor.executable.map { quoted($0, Limits.executable) }
                ?? "a process that calls itself \(quoted(ancestor.name, Limits.processName))"
        }
        return "started by " + shown.joined(separator: " \u{2190} ")
            + (ancestors.count > shown.count ? " \u{2190} …" : "")
    }

    private var place: String? {
        guard let origin = prompt.origin else { return nil }
        let terminal =
            origin.terminal.map { ", on \(PlainText.quotable($0, bytes: Limits.terminal))" } ?? ", without a terminal"
        return switch origin.place {
        case .local: "in a local session\(terminal)"
        case .remote:
            "in a REMOTE session (\(PlainText.quotable(origin.remote ?? "of unknown origin", bytes: Limits.remote)))\(terminal)"
        case .unknown: "in a session that may not be local\(terminal)"
        }
    }

    // MARK: claimed

    /// The bridge's word, then the app's words: each a line that says so.
    package var claims: [String] {
        // ND-5: neither verified nor an app's free text.
        bridgeSays + appSays
    }

    /// The app's words.
    package var appSays: [String] {
        var claims: [String] = []
        if prompt.phase == .unlock { claims.append("wants the device to be unlocked") }
        if let wish {
            let label = prompt.keyLabel.map { " that it calls \(quoted($0, Limits.claim))" } ?? ""
            claims.append("wants to \(wish)\(label)\(itemNames(" called ", Limits.claim))")
        }
        if !prompt.reason.isEmpty { claims.append("says: \(quoted(prompt.reason, Limits.claim))") }
        return claims
    }

    private var wish: String? {
        switch prompt.operation {
        case nil: prompt.keyLabel == nil ? nil : "use a key"
        case .createItem: "store an item"
        case .useItem: "use \(prompt.items.map { $0.count == 1 ? "an item" : "\($0.count) items" } ?? "an item")"
        case .createKey: "create a key"
        case .useKeySign: "sign with a key"
        case .useKeyDecrypt: "decrypt with a key"
        case .useKeyKeyExchange: "agree on a secret with a key"
        }
    }

    /// The items, as the apps that stored them call them.
    private func itemNames(_ before: String, _ limit: Int) -> String {
        guard let items = prompt.items, !items.names.isEmpty else { return "" }
        let shown = limit > Limits.shortHeadline ? items.names[...] : items.names.prefix(1)
        let names = shown.map { quoted($0, items.count == 1 ? limit : min(limit, Limits.itemName)) }
        return before + names.joined(separator: ", ") + (items.count > names.count ? " …" : "")
    }

    // MARK: how it stands

    package var failure: String? {
        switch prompt.phase {
        case .passcode: prompt.wrongPasscode ? "Wrong passcode." : nil
        case .applicationPassword: prompt.wrongPasscode ? "Wrong password." : nil
        case .unlock: prompt.wrongPasscode ? "Wrong passcode." : nil
        case .permission: nil
        case .biometry: hint ?? (prompt.failures > 0 ? "Not recognised. Try again." : nil)
        case .retry, .fallback: "Not recognised."
        }
    }

    /// What the sensor asks of the owner.
    private var hint: String? {
        switch prompt.hint {
        case nil: nil
        case .scanAgain: "Not read. Touch the sensor once more."
        case .swipeTooShort: "Too short. Swipe the whole finger."
        case .swipeTooFast: "Too fast. Swipe slower."
        case .fingerNotCentered: "Not centred. Move the finger to the middle of the sensor."
        case .removeAndRetry: "Take the finger off the sensor, then touch it once more."
        case .readerBusy: "The fingerprint reader is in use by another program. It will be asked again."
        case .readerFailed: "The sensor does not work. It is being tried again."
        }
    }

    /// What to do, where the alert is an indicator (EV-11).
    package static let looking = "Looking…"

    package var instruction: String {
        switch prompt.phase {
        case .permission: "Do you want to allow \u{201C}\(name)\u{201D} to use \(kind)?"
        case .biometry: prompt.biometryType == .touchID ? "Touch the fingerprint sensor." : "Look at the camera."
        case .retry, .fallback: "Choose how to continue."
        case .passcode, .unlock:
            secondsLeft > 0 ? "Try again in \(secondsLeft) s." : "Enter the \(passcodeKind)passcode of this device."
        case .applicationPassword:
            "Enter the password that you use for this in \u{201C}\(name)\u{201D}. It is not your passcode."
        }
    }

    /// PC-06: which keys to type.
    private var passcodeKind: String {
        switch prompt.passcodeKind {
        case .fourDigit: "four-digit "
        case .sixDigit: "six-digit "
        case .numeric: "numeric "
        case .alphanumeric, nil: ""
        }
    }

    /// The button beside Cancel, where there is one.
    package var otherButton: String? {
        switch prompt.phase {
        case .permission: "Allow"
        case .retry: "Try \(kind) Again"
        case .biometry, .fallback: prompt.fallbackTitle.map { PlainText.quotable($0, bytes: Limits.button) }
        case .passcode, .applicationPassword, .unlock: nil
        }
    }

    /// What is typed is called.
    package var entryLabel: String { prompt.phase == .applicationPassword ? "App password" : "Passcode" }
    package static let enterButton = "OK"
    package static let denyButton = "Don\u{2019}t Allow"
    package var cancelButton: String { PlainText.quotable(prompt.cancelTitle, bytes: Limits.button) }

    private func quoted(_ text: String, _ limit: Int) -> String {
        "\u{201C}\(isolated(PlainText.quotable(text, bytes: limit)))\u{201D}"
    }

    /// In a span that its own letters cannot leave: of format characters a plain text has none.
    private func isolated(_ text: String) -> String { isolates ? "\u{2068}\(text)\u{2069}" : text }

    /// Largest sizes in bytes, and the number of ancestors: together they leave room in a line of Assuan.
    private enum Limits {
        static let name = 40
        static let identifier = 100
        static let bridge = 60
        static let ancestors = 5
        static let executable = 75
        static let processName = 45
        static let remote = 60
        static let terminal = 20
        static let button = 60
        /// Large letters: who asks stays on the screen below it.
        static let headline = 120
        static let shortHeadline = 60
        /// A bridge's reason, whole: 256 characters.
        static let sentence = 1024
        /// Cut where there is less room.
        static let claim = 1200
        static let itemName = 100
    }
}

extension AgentInterface.FactKind {
    /// What it is, for a person.
    fileprivate var words: String {
        switch self {
        case .host: "host"
        case .hostKey: "host key"
        case .user: "user"
        case .namespace: "namespace"
        case .item: "item"
        case .site: "site"
        case .account: "account"
        case .command: "command"
        case .file: "file"
        case .secrets: "secrets"
        case .recipient: "recipient"
        }
    }
}

extension AgentInterface.Prompt {
    /// Whether a passcode, or an app's password, is to be typed.
    package var isTyped: Bool { [.passcode, .applicationPassword, .unlock].contains(phase) }
    /// Whether a passcode would be looked at now.
    package var takesPasscode: Bool { [.passcode, .unlock].contains(phase) && (retryAfterSeconds ?? 0) <= 0 }
    /// EV-11: Face ID looks with an indicator, not with an alert.
    package var isIndicator: Bool { phase == .biometry && biometryType == .faceID }
    /// What is typed at the prompt is sealed for.
    package var purpose: SealedPasscode.Purpose {
        if phase == .unlock {
            .unlock
        } else if phase == .applicationPassword, let context {
            .credential(context: context)
        } else {
            .prompt(app: app.identifier)
        }
    }
}
