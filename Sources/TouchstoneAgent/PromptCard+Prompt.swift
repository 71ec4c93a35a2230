internal import TouchstoneCore
package import TouchstoneInterfaces

extension PromptCard {
    /// - Parameters:
    ///   - prompt: What to show.
    ///   - state: A number that is this state's alone.
    ///   - secondsLeft: Until a passcode is looked at.
    package init(_ prompt: AgentInterface.Prompt, state: Int, secondsLeft: Int = 0) {
        let text = PromptText(prompt: prompt, secondsLeft: secondsLeft, isolates: true)
        self.identifier = prompt.identifier
        self.state = state
        self.act = Self.act(of: prompt)
        self.kind = text.kind
        self.what = text.what
        self.object = text.object == text.what ? nil : text.object
        self.name = "\u{201C}\(text.name)\u{201D}"
        self.path = text.path
        self.warning = text.warning
        self.details =
            text.verified.map { Detail(source: .verified, text: $0) }
            + text.bridgeSays.map { Detail(source: .bridge, text: $0) }
            + text.appSays.map { Detail(source: .claim, text: $0) }
        self.failure = text.failure
        self.instruction = prompt.isIndicator ? PromptText.looking : text.instruction
        self.entry = prompt.isTyped && secondsLeft == 0 ? Entry(prompt, text.entryLabel) : nil
        self.buttons = Self.buttons(prompt, text, hasEntry: entry != nil)
    }

    private static func act(of prompt: AgentInterface.Prompt) -> Act {
        if prompt.phase == .unlock { return .door }
        let kinds = (prompt.facts ?? []).map(\.kind)
        return kinds.contains { [.command, .file, .recipient].contains($0) } ? .file : .key
    }

    private static func buttons(_ prompt: AgentInterface.Prompt, _ text: PromptText, hasEntry: Bool) -> [Button] {
        var buttons: [Button] = []
        if hasEntry { buttons.append(Button(action: .enter, title: PromptText.enterButton)) }
        if let other = text.otherButton {
            let action: Action =
                switch prompt.phase {
                case .permission: .allow
                case .retry: .tryAgain
                case .biometry, .fallback, .passcode, .applicationPassword, .unlock: .fallback
                }
            buttons.append(Button(action: action, title: other))
        }
        if prompt.phase == .permission { buttons.append(Button(action: .deny, title: PromptText.denyButton)) }
        return buttons + [Button(action: .cancel, title: text.cancelButton)]
    }
}

extension PromptCard.Entry {
    fileprivate init(_ prompt: AgentInterface.Prompt, _ label: String) {
        switch prompt.phase == .applicationPassword ? nil : prompt.passcodeKind {
        case .fourDigit: self.init(label: label, isDigits: true, length: 4)
        case .sixDigit: self.init(label: label, isDigits: true, length: 6)
        case .numeric: self.init(label: label, isDigits: true, length: nil)
        case .alphanumeric, nil: self.init(label: label, isDigits: false, length: nil)
        }
    }
}
