import ArgumentParser
import TouchstoneCore

/// `touchstone device match`.
struct MatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "match",
        abstract: "Lay a finger on the simulated sensor (or show a face).",
        discussion: """
            FINGER is one of 'touchstone device fingers', or 'nomatch' for one that is not enrolled.

            Exit status: 0 it matched, 1 it did not, 3 nothing was waiting for a finger, 4 the passcode is required.
            """)

    @Argument(help: "An enrolled finger, or 'nomatch'.")
    var finger: String
    @Option(help: ArgumentHelp("Wait so long for a prompt first.", valueName: "seconds"))
    var wait: Double?
    @Option(help: ArgumentHelp("Lay it on so many times; the exit status is the last one's.", valueName: "number"))
    var times = 1
    @OptionGroup var option: DeviceOption

    func validate() throws {
        try Seconds.check(wait, "--wait")
        guard (1...Self.maximumTimes).contains(times) else {
            throw ValidationError("--times takes a number between 1 and \(Self.maximumTimes)")
        }
        if finger != FingerName.noMatch { try FingerName.check(finger) }
    }

    func run() throws {
        let device = try DeviceConnection(option.paths)
        var touch = DeviceInterface.Touch.notWaiting
        for _ in 0..<times {
            if let wait { try device.waitForPrompt(within: .seconds(wait)) }
            touch = try device.present(finger == FingerName.noMatch ? nil : finger)
            if touch == .notWaiting { break }
        }
        try touch.conclude()
    }

    private static let maximumTimes = 100
}

extension DeviceConnection {
    func present(_ finger: String?) throws -> DeviceInterface.Touch {
        try call(DeviceInterface.PresentFinger.self, .init(finger: finger)).touch
    }

    /// - Throws: `Failure` (`notWaiting`) when no prompt comes within `limit`.
    func waitForPrompt(within limit: Duration) throws {
        let deadline = ContinuousClock.now + limit
        while try !status.hasPrompt {
            guard ContinuousClock.now < deadline else {
                throw Failure(.notWaiting, "no prompt came within \(limit.inSeconds) s")
            }
            Pause.sleep(Pause.prompt)
        }
    }
}

extension DeviceInterface.Touch {
    /// Says in one word what came of it, and ends the command with the status for it.
    func conclude() throws {
        switch self {
        case .matched: StandardOutput.say("matched")
        case .unlocked: StandardOutput.say("unlocked")
        case .notMatched: throw Failure(.no, "not recognised")
        case .passcodeRequired:
            throw Failure(.passcodeRequired, "the passcode is required: 'touchstone device unlock' takes it")
        case .notWaiting: throw Failure(.notWaiting, "nothing was waiting for a finger")
        }
    }
}
