import ArgumentParser
import TouchstoneCore
import TouchstoneInterfaces

/// `touchstone device match`.
struct MatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "match",
        abstract: "Lay a finger on the simulated sensor (or show a face).",
        discussion: """
            FINGER is one of 'touchstone device fingers', or 'nomatch' for a finger that is not enrolled. Any other \
            name is refused.

            Exit status: 0 it matched, 1 it did not, 3 nothing was waiting for a finger, 4 the passcode is required, 5 \
            no enrolled finger has this name.
            """)

    @Argument(help: "An enrolled finger, or 'nomatch'.", completion: .fingers)
    var finger: String
    @Option(help: ArgumentHelp("Wait this long for a prompt first.", valueName: "seconds"))
    var wait: Double?
    @Option(
        help: ArgumentHelp("Lay it on this many times; the exit status is that of the last time.", valueName: "number"))
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
        let device = try DeviceClient(option.paths)
        let finger = try device.finger(named: finger)
        var touch = DeviceInterface.Touch.notWaiting
        for _ in 0..<times {
            if let wait { try device.waitForPrompt(within: .seconds(wait)) }
            touch = try device.present(finger)
            if touch == .notWaiting { break }
        }
        try touch.conclude()
    }

    private static let maximumTimes = 100
}

extension DeviceClient {
    /// The finger that this name means; nil for a finger that is not enrolled.
    ///
    /// - Throws: `Failure` (`refused`) for a name that nobody has, with those that there are.
    func finger(named name: String) throws -> String? {
        guard name != FingerName.noMatch else { return nil }
        // A real sensor refuses simulated fingers, whatever their names.
        guard try status.sensor?.kind == .simulated else { return name }
        let enrolled = try call(DeviceInterface.ListFingers.self).fingers
        guard !enrolled.contains(name) else { return name }
        throw Failure(
            .refused,
            "'\(PlainText.line(name))' is not enrolled; "
                + (enrolled.isEmpty
                    ? "no finger is enrolled yet: use 'touchstone device enroll'"
                    : "these are: \(enrolled.map(PlainText.line).joined(separator: ", "))")
                + ". '\(FingerName.noMatch)' is a finger that is not enrolled")
    }

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
    /// Prints the result in one word, and ends the command with its status.
    func conclude() throws {
        switch self {
        case .matched: StandardOutput.say("matched")
        case .unlocked: StandardOutput.say("unlocked")
        case .notMatched: throw Failure(.no, "not recognised")
        case .passcodeRequired:
            throw Failure(.passcodeRequired, "the passcode is required; enter it with 'touchstone device unlock'")
        case .notWaiting: throw Failure(.notWaiting, "nothing was waiting for a finger")
        }
    }
}
