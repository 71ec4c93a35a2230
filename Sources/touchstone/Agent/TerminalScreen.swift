import TouchstoneAgent
import TouchstoneInterfaces
import TouchstoneSystem

/// Says on standard output and standard error how a session stands, and draws its prompts where its answers do not.
final class TerminalScreen: AgentScreen {
    private let paths: DevicePaths
    private let answers: any TerminalAnswers
    private var screen = PromptScreen()

    init(_ paths: DevicePaths, _ answers: any TerminalAnswers) {
        self.paths = paths
        self.answers = answers
    }

    func ready() {
        StandardOutput.say(
            "ready: prompts of \(paths.name) appear \(answers.place)" + (Terminal.isInput ? "; Ctrl-C leaves" : ""))
    }

    func waits(_ reason: AgentWait) {
        switch reason {
        case .notBooted: say("\(Failure.notAnswering(paths).message); waiting for it")
        case .wentAway: say("\(paths.name) went away; waiting for it")
        }
    }

    func draw(_ prompt: AgentInterface.Prompt, secondsLeft: Int) {
        guard answers.drawsHere else { return }
        screen.draw(PromptAlert(prompt: prompt, secondsLeft: secondsLeft, entered: answers.entered))
    }

    func replace(with line: String) { screen.replace(with: line) }

    func say(_ trouble: String) { StandardError.say(trouble) }
}
