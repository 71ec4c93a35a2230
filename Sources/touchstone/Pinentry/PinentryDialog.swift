import Foundation
import TouchstoneAgent
import TouchstoneCore
import TouchstoneInterfaces

/// One dialog: what a pinentry is told to show, and what its buttons mean.
struct PinentryDialog {
    /// In this order; the last one's answer is the owner's.
    var commands: [Data]
    var confirmed: PromptAnswer?
    /// The third button.
    var refused: PromptAnswer?
    /// Whether the owner types something.
    var isEntry: Bool

    /// - Parameters:
    ///   - prompt: What to show.
    ///   - secondsLeft: Seconds until a passcode is looked at.
    init(_ prompt: AgentInterface.Prompt, secondsLeft: Int) {
        let text = PromptText(prompt: prompt, secondsLeft: secondsLeft)
        isEntry = prompt.isTyped && secondsLeft == 0
        // The first line has only our own words, so that no toolkit takes an app's name for mark-up.
        var lines = ["Touchstone", text.shortHeadline, text.title] + text.verified
        lines += [""] + (isEntry ? [] : [text.failure].compactMap { $0 }) + [text.instruction]
        // Last, since the end is what is cut off.
        if !text.claims.isEmpty { lines += [""] + text.claims }
        commands = [
            AssuanLine.command("SETTITLE", text.kind),
            AssuanLine.command("SETDESC", lines.joined(separator: "\n")),
        ]
        func button(_ command: String, _ title: String) {
            // An underscore alone marks the letter that is the button's key.
            commands.append(AssuanLine.command(command, title.replacingOccurrences(of: "_", with: "__")))
        }
        if isEntry {
            commands.append(
                AssuanLine.command("SETPROMPT", "\(text.entryLabel):"))
            if let failure = text.failure { commands.append(AssuanLine.command("SETERROR", failure)) }
            button("SETOK", PromptText.enterButton)
            button("SETCANCEL", text.cancelButton)
            commands.append(AssuanLine.command("GETPIN"))
            return
        }
        switch (prompt.phase, text.otherButton) {
        case (.permission, let other?):
            button("SETOK", other)
            button("SETNOTOK", PromptText.denyButton)
            button("SETCANCEL", text.cancelButton)
            (confirmed, refused) = (.permission(true), .permission(false))
        case (let phase, let other?):
            button("SETOK", other)
            button("SETCANCEL", text.cancelButton)
            confirmed = phase == .retry ? .tryAgain : .fallback
        case (_, nil):
            button("SETOK", text.cancelButton)
            commands.append(AssuanLine.command("CONFIRM --one-button"))
            confirmed = .cancel
            return
        }
        commands.append(AssuanLine.command("CONFIRM"))
    }
}
