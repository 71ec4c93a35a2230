import CTouchstoneWindow
import Foundation
import Glibc
import TouchstoneAgent

/// Shows the prompts of a device in a window.
let usage = """
    Usage: touchstone-agent [--device NAME]

    Shows the prompts of Touchstone in a window of the desktop. Start it with your
    session. It waits without a window, and ends with SIGTERM.

    The window closes by itself when the finger matches. It asks for the passcode
    of the device, and never for the password of your login.

      --device NAME  the device (default: $TOUCHSTONE_DEVICE, else "system" where
                     you have it, else "default")
      --version      print the version
      --help         print this

    """

func end(_ status: Int32, _ words: String) -> Never {
    Journal.write(words)
    exit(status)
}

var device: String?
var words = CommandLine.arguments.dropFirst()
while let word = words.popFirst() {
    switch word {
    case "--help", "-h":
        print(usage, terminator: "")
        exit(0)
    case "--version":
        print(PromptAgent.version)
        exit(0)
    case "--device":
        guard let name = words.popFirst() else { end(EX_USAGE, "--device needs a name, such as --device default") }
        device = name
    default: end(EX_USAGE, "there is no option \(word); see touchstone-agent --help")
    }
}

touchstone_main_forbid_cores()
signal(SIGPIPE, SIG_IGN)
let agent: PromptAgent
do throws(AgentFailure) {
    agent = try PromptAgent(device: device, presenter: WindowPresenter())
} catch {
    end(EX_USAGE, error.message)
}
guard touchstone_main_begin() else {
    end(EX_UNAVAILABLE, "there is no display; in a terminal use 'touchstone agent'")
}
for number in [SIGTERM, SIGINT, SIGHUP] {
    unsafe touchstone_main_on_signal(number, { _ in touchstone_main_end() }, nil)
}
WindowEvents.receiver = PromptWindow { answer, card in agent.answer(answer, to: card) }
Thread.detachNewThread {
    do throws(AgentFailure) {
        try agent.run()
    } catch {
        end(EX_UNAVAILABLE, error.message)
    }
}
touchstone_main_run()
WindowEvents.receiver?.remove()
