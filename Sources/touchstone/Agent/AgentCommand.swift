import ArgumentParser
import Foundation
import Glibc
import TouchstoneAgent
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem

/// `touchstone agent`.
struct AgentCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "Show the device's prompts in this terminal or in dialogs of a pinentry.",
        discussion: """
            Prints a line that begins with "ready" when prompts can come, then waits. c or Esc cancels a prompt. f \
            chooses the other way that the prompt offers. t makes Face ID look once more. a and d allow and deny the \
            use of Face ID. Ctrl-C cancels the prompt on the screen, or ends the agent if there is no prompt. The \
            passcode is not shown. It is sealed for the enclave before it leaves this process.

            PINENTRY
            With --pinentry the prompts are dialogs of a pinentry program, as in GnuPG: pinentry-curses and \
            pinentry-tty in this terminal (or in $GPG_TTY), pinentry-gtk-2 and pinentry-qt as windows. A dialog closes \
            by itself when the finger matches.

            SCRIPTS
            With --script the answers come from a file. This is for tests and demonstrations on simulated devices \
            only. With '-' they come from standard input. Each line then counts as soon as it arrives, also for a \
            prompt that is already on the screen. Write one answer on each line; '#' begins a comment. The agent gives \
            an answer when a prompt reaches a state that accepts it:
              cancel         press cancel
              fallback       press the other button, once it is offered
              retry          let Face ID look once more, after it has failed
              allow          allow the app to use Face ID, once it asks
              deny           deny it
              passcode TEXT  enter TEXT, once the prompt asks for the passcode
              password TEXT  enter TEXT, once the prompt asks for a password of the app
              wait           leave the prompt alone until its next state
              ignore         leave the prompt alone until it ends
            If there is no line, prompts are shown and left alone.
            """)

    @OptionGroup var option: DeviceArgument
    @Option(help: ArgumentHelp("Answer from this file instead of the keyboard.", valueName: "file"))
    var script: String?
    @Option(
        help: ArgumentHelp("Show prompts with this pinentry, a name in PATH or a path.", valueName: "program"),
        completion: .pinentries)
    var pinentry: String?
    @Flag(help: "Leave when the first prompt has ended.")
    var once = false
    @Flag(
        inversion: .prefixedNo,
        help: "Keep trying when the device goes away (the default at a terminal), or leave with status 1.")
    var reconnect: Bool?

    @Flag(help: "On a simulated device: the keys 1 to 9 are its enrolled fingers, n is one that is not enrolled.")
    var fingers = false

    func validate() throws {
        guard script == nil || !fingers else {
            throw ValidationError(
                "--fingers cannot be used with --script, because --fingers reads keys and a script has none")
        }
        guard pinentry == nil || (script == nil && !fingers) else {
            throw ValidationError(
                "--pinentry cannot be used with --script or --fingers, because it asks the owner by itself")
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
                .usage, "the agent reads keys from a terminal; without a terminal, use --pinentry or --script")
        }
        // Asked before a line of the script is given away.
        if script != nil, try !DeviceClient(paths).status.isSimulated {
            throw Failure(
                .notSimulated, "\(paths.name) is not a simulated device, so a script must not answer for its owner")
        }
        let enrolled = fingers ? try DeviceClient(paths).call(DeviceInterface.ListFingers.self).fingers : nil
        let answers: any TerminalAnswers =
            if let script {
                script
            } else if let pinentry {
                try PinentryAnswers(pinentry)
            } else {
                KeyboardAnswers(fingers: enrolled)
            }
        do {
            let session = try AgentSession(
                paths: paths, answers: answers, screen: TerminalScreen(paths, answers), leavesAfterFirstPrompt: once,
                reconnects: reconnect ?? (script == nil))
            session.inbox.takeSignals([SIGINT, SIGTERM, SIGHUP, SIGWINCH])
            try session.run()
        } catch AgentError.ended(let error) {
            throw Failure(
                .no, error.map { Failure.of($0, paths).message } ?? "\(paths.name) ended the agent's connection")
        } catch {
            throw Failure.of(error, paths)
        }
    }
}

extension AgentInbox {
    /// Waits for `numbers` in a thread of its own instead of being interrupted by them.
    fileprivate func takeSignals(_ numbers: [Int32]) {
        let signals = SignalWait(numbers)
        Thread.detachNewThread { [self] in
            while let number = signals.next(within: nil) { post(.signal(number)) }
        }
    }
}
