import TouchstoneAgent
import TouchstoneCore
import TouchstoneInterfaces

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

    /// - Parameters:
    ///   - columns: Of the terminal.
    ///   - rows: Of the terminal: claims are cut to leave the rest in sight.
    /// - Returns: The lines, none wider than the terminal.
    func lines(columns: Int, rows: Int = .max) -> [Line] {
        let width = max(Self.minimumColumns, min(columns - 1, Self.maximumColumns))
        let rule = Line(style: .plain, text: String(repeating: "─", count: width))
        let blank = Line(style: .plain, text: "")
        let text = PromptText(prompt: prompt, secondsLeft: secondsLeft)
        var lines: [Line] = []
        func add(_ style: Style, _ text: String) {
            lines += PlainText.wrap(text, columns: width - Self.indent.count).map {
                Line(style: style, text: Self.indent + $0)
            }
        }
        if prompt.isIndicator {
            // EV-11: an indicator, which stands for itself.
            add(.title, "\(text.title): \(PromptText.looking)")
            for line in text.verified { add(.plain, line) }
            add(.plain, buttons(text))
            return lines
        }
        // DA-3: what is asked, who asks, the rest.
        add(.title, text.headline)
        add(.plain, text.title)
        for line in text.verified { add(.plain, line) }
        lines.append(blank)
        if let failure = text.failure { add(.warning, failure) }
        add(.plain, text.instruction + dots)
        let above = [rule] + lines
        lines = []
        for claim in text.claims { add(.claim, claim) }
        var claims = lines
        lines = [blank]
        add(.plain, buttons(text))
        let below = lines + [rule]
        // Beside the blank line above them and the one that the cursor is on.
        let room = max(1, rows - above.count - below.count - 2)
        if claims.count > room { claims = claims.prefix(room - 1) + [Line(style: .claim, text: Self.indent + "…")] }
        return above + (claims.isEmpty ? [] : [blank] + claims) + below
    }

    private var dots: String {
        guard prompt.isTyped, secondsLeft == 0, let entered else { return "" }
        return " " + String(repeating: "•", count: min(entered, Self.maximumDots))
    }

    private func buttons(_ text: PromptText) -> String {
        let cancel = "[\(prompt.isTyped ? "Esc" : "c")] \(text.cancelButton)"
        if prompt.isTyped { return secondsLeft > 0 ? cancel : "[Return] \(PromptText.enterButton) \u{B7} " + cancel }
        if prompt.phase == .permission {
            return "[a] \(text.otherButton ?? "") \u{B7} [d] \(PromptText.denyButton) \u{B7} " + cancel
        }
        guard let other = text.otherButton else { return cancel }
        return "[\(prompt.phase == .retry ? "t" : "f")] \(other) \u{B7} " + cancel
    }

    private static let indent = "  "
    private static let minimumColumns = 20
    private static let maximumColumns = 76
    /// More dots than this tell nothing.
    private static let maximumDots = 24
}
