import ArgumentParser
import Foundation
import TouchstoneCore
import TouchstoneSystem

/// `touchstone agent`.
struct AgentCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "Show the device's prompts, in this terminal or in a pinentry's dialogs.",
        discussion: """
            Prints a line that begins with "ready" when prompts can come, then waits. c or Esc cancels a prompt, f chooses the \
            other way it offers, t has Face ID look once more, a and d allow and deny its use; Ctrl-C cancels the prompt that \
            is up, or leaves when none is. The passcode does not show, and is sealed for the enclave before it leaves this process.

            PINENTRY
            With --pinentry the prompts are dialogs of a pinentry program, as GnuPG's are: pinentry-curses and pinentry-tty \
            in this terminal (or in $GPG_TTY), pinentry-gtk-2 and pinentry-qt as windows. A dialog closes by itself when the \
            finger matches.

            SCRIPTS
            With --script the answers come from a file, for tests and demonstrations on simulated devices only. With '-' they come \
            from standard input, and each line counts as soon as it is there, also for a prompt that is up already. One answer a \
            line, '#' begins a comment; each is given when a prompt reaches a state that takes it:
              cancel         press cancel
              fallback       press the other button, once it is offered
              retry          have Face ID look once more, once it has failed
              allow          allow the app the use of Face ID, once that is asked
              deny           deny it
              passcode TEXT  enter TEXT, once the passcode is asked for
              password TEXT  enter TEXT, once a password of the app's is asked for
              wait           leave the prompt until its next state
              ignore         leave the prompt until it is taken down
            While there is no line, prompts are shown and left alone.
            """)

    @OptionGroup var option: DeviceArgument
    @Option(help: ArgumentHelp("Answer from this file instead of the keyboard.", valueName: "file"))
    var script: String?
    @Option(help: ArgumentHelp("Show prompts with this pinentry, a name in PATH or a path.", valueName: "program"))
    var pinentry: String?
    @Flag(help: "Leave when the first prompt has been taken down.")
    var once = false
    @Flag(
        inversion: .prefixedNo,
        help: "Keep trying when the device goes away (the default at a terminal), or leave with status 1.")
    var reconnect: Bool?

    @Flag(help: "On a simulated device: the keys 1 to 9 are its enrolled fingers, n is one that is not enrolled.")
    var fingers = false

    func validate() throws {
        guard script == nil || !fingers else {
            throw ValidationError("--fingers are keys; with --script there are none")
        }
        guard pinentry == nil || (script == nil && !fingers) else {
            throw ValidationError("--pinentry asks the owner by itself: it goes with neither --script nor --fingers")
        }
    }

    func run() throws {
        let paths = try option.paths
        let script = try script.map { file in
            file == "-"
                ? ScriptedAnswers(input: STDIN_FILENO) : ScriptedAnswers(script: try AgentScript(contentsOf: file))
        }
        guard script != nil || pinentry != nil || Terminal.isInput else {
            throw Failure(
                .usage, "the agent takes its keys from a terminal; without one it wants --pinentry or --script")
        }
        // Asked before a line of the script is given away.
        if script != nil, try !DeviceConnection(paths).status.isSimulated {
            throw Failure(
                .notSimulated, "\(paths.name) is not a simulated device: a script must not answer for its owner")
        }
        let enrolled = fingers ? try DeviceConnection(paths).call(DeviceInterface.ListFingers.self).fingers : nil
        let answers: any PromptAnswers =
            if let script {
                script
            } else if let pinentry {
                try PinentryAnswers(pinentry)
            } else {
                KeyboardAnswers(fingers: enrolled)
            }
        try AgentSession(
            paths: paths, answers: answers, leavesAfterFirstPrompt: once, reconnects: reconnect ?? (script == nil)
        ).run()
    }
}
