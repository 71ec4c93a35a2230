import ArgumentParser
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneDevice
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTransport

/// `touchstone setup`.
struct SetupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Set up your device, step by step: sensor, root of trust, passcode, fingers, window, self-test.",
        discussion: """
            With sudo, the command sets up the device that the system keeps for the user who calls sudo. Without sudo, \
            it sets up a device of your own.

            It creates the device, or continues with the device that is there. It destroys nothing. Ctrl-C stops at \
            any time. Each step is done or not, and the next 'touchstone setup' continues. A fingerprint reader is \
            used through fprintd. A reader that comes later is added with 'touchstone device sensor add fprintd'.

            If your systemd runs, it can boot a device of your own when it is first used. If touchstone-agent is \
            installed, it can show prompts in a window of your desktop. The command asks for both, and 'touchstone \
            session disable' undoes them.

            Answers are lines on standard input, also without a terminal. An empty line takes the answer in brackets. \
            Passcodes are not shown.

            Exit status: 0 set up and tested, 1 a step failed, 8 stopped; more in 'touchstone --help'.
            """)

    static let indent = "   "
    static var goesOn: String { "what is done stays, and '\(again)' continues from there" }
    /// What is called again.
    private static var again: String {
        (try? SystemDevice.ofSudo()) == nil ? "touchstone setup" : "sudo touchstone setup"
    }

    @OptionGroup var option: DeviceArgument
    @Option(help: "The socket of fprintd's D-Bus.", completion: .file())
    var bus: String?
    @Option(help: "The directory in which fprintd keeps the enrolled fingers.", completion: .directory)
    var templates: String?
    @Option(
        help: ArgumentHelp(
            "The address of the TPM, instead of \(RootOfTrustOptions.defaultAddress).", valueName: "tcti"))
    var tcti: String?

    func run() throws {
        let system = try SystemDevice.ofSudo()
        guard system == nil || [nil, DevicePaths.systemName].contains(option.named) else {
            throw Failure(
                .usage, "with sudo this sets up the system's device; run it without sudo to set up your own")
        }
        let paths =
            try system?.paths
            ?? DeviceName.own(
                option.paths, "sets up with 'sudo touchstone setup'; to set up your own, name it with --device")
        let user = try system?.user ?? NSUserName()
        // fprintd's programs are to look where the device will.
        if let bus { unsafe setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=\(URL(fileURLWithPath: bus).path)", 1) }
        mindInterruption()
        say("Setting up \(title(paths, system, user)). Ctrl-C stops at any time; \(Self.goesOn).")
        try setUpDevice(paths, system, user)
        let passcode = try setUpPasscode(paths)
        try setUpFingers(paths, user)
        let hasWindow = try setUpWindow(paths, system, user)
        try test(
            paths, passcode,
            recovery: system == nil ? "touchstone device recover" : "sudo touchstone system recover \(user)")
        say("")
        say("\(title(paths, system, user)) is set up. Now\(system == nil ? "" : ", as \(user)"):")
        if !hasWindow {
            say("  touchstone agent                shows its prompts, in this terminal or in a pinentry")
        }
        say("  touchstone item add example me  keeps a password, and asks you before it is shown")
        if (try? Resident.sshAgent.program.locate()) != nil {
            say("  touchstone bridge enable ssh    has ssh and git use keys that ask for you")
        }
        if hasWindow || (try? Resident.sshAgent.program.locate()) == nil {
            say("  touchstone doctor               shows what works, and what it cannot promise")
        }
    }

    private func title(_ paths: DevicePaths, _ system: SystemDevice?, _ user: String) -> String {
        system == nil ? paths.name : "the system's device of \(PlainText.line(user))"
    }

    private func mindInterruption() {
        if Self.again == "touchstone setup" {
            Terminal.sayWhenInterrupted(
                "\ntouchstone: stopped; what is done stays, and 'touchstone setup' continues from there\n")
        } else {
            Terminal.sayWhenInterrupted(
                "\ntouchstone: stopped; what is done stays, and 'sudo touchstone setup' continues from there\n")
        }
    }

    private func say(_ text: String) { StandardOutput.say(text) }

    private func tell(_ text: String) { Paragraph.lines(text, indent: Self.indent).forEach(say) }

    /// A failure's message, which begins small.
    private func tell(_ failure: Failure, _ more: String = "") {
        tell("\(failure.message.prefix(1).uppercased())\(failure.message.dropFirst()).\(more)")
    }

    private func begin(_ step: Int, _ title: String) {
        say("")
        say("\(step). \(title)")
    }

    // MARK: the device

    private func setUpDevice(_ paths: DevicePaths, _ system: SystemDevice?, _ user: String) throws {
        begin(1, "Sensor and root of trust")
        if system?.exists ?? paths.exists {
            tell("\(title(paths, system, user)) already exists, and stays as it was created.")
        } else {
            try create(paths, system, user)
        }
        if let system {
            do throws(DeviceOwner.Changed) { try DeviceOwner.check(system.ownerID, in: paths.state) } catch {
                throw Failure(.refused, "\(error)")
            }
            try system.enable()
        } else {
            try setUpStart(paths)
        }
        if system == nil, SupervisorLock.holder(paths) == nil, !PassedSocket.isWaiting(paths) {
            try DetachedSupervisor.start(paths, wait: Self.longestBoot, silence: Self.longestSilence)
        }
        let status = try DeviceClient(paths).status
        tell("Sensor: \(status.sensor?.line ?? "none; prompts ask for the passcode").")
        tell("Root of trust: \(status.rootOfTrustLine).")
    }

    /// Whether the user's systemd boots it, before it is booted by hand.
    private func setUpStart(_ paths: DevicePaths) throws {
        guard UserManager.isRunning else {
            return tell(
                "Your user systemd does not run here. After each login, boot it: touchstone device boot --detach")
        }
        guard !UserManager.isActive(PassedSocket.unit(paths)) else {
            return tell("Your systemd boots \(paths.name) when it is first used.")
        }
        guard
            try Question.yes(
                "Should your systemd boot \(paths.name) when it is first used, now and after each login?", default: true
            )
        else {
            return tell("After each login, boot it: touchstone device boot --detach")
        }
        try enable(SessionPlan(.device, paths), paths)
    }

    /// Whether prompts appear in a window of the owner's desktop.
    ///
    /// - Returns: Whether they do.
    private func setUpWindow(_ paths: DevicePaths, _ system: SystemDevice?, _ user: String) throws -> Bool {
        begin(4, "Window")
        guard (try? Program.agent.locate()) != nil else {
            tell("touchstone-agent is not installed, so prompts appear where 'touchstone agent' runs.")
            tell("The package touchstone-desktop has it, and 'make desktop' builds it.")
            return false
        }
        if system != nil {
            tell("As \(user), run 'touchstone session enable window': prompts then appear in a window.")
            return false
        }
        let plan = try SessionPlan(.window, paths)
        guard try plan.isDone || wantsWindow(plan, paths) else {
            tell("Prompts appear where 'touchstone agent' runs.")
            return false
        }
        try enable(plan, paths)
        return true
    }

    private func wantsWindow(_ plan: SessionPlan, _ paths: DevicePaths) throws -> Bool {
        guard let other = plan.otherDevice else {
            return try Question.yes("Should prompts appear in a window, now and after each login?", default: true)
        }
        tell("The window shows the prompts of \(PlainText.line(other)), and can show those of one device only.")
        return try Question.yes("Should it show those of \(paths.name) instead?", default: false)
    }

    private func enable(_ plan: SessionPlan, _ paths: DevicePaths) throws {
        if !plan.isDone {
            plan.lines.forEach { tell("This \($0).") }
            try plan.carryOut()
        }
        plan.remarks.forEach { tell($0) }
        tell("To undo that: \(SessionEnableCommand.undo(plan.part, paths))")
    }

    /// Seconds.
    private static let longestBoot = 10.0
    private static let longestSilence = 30.0

    private func create(_ paths: DevicePaths, _ system: SystemDevice?, _ user: String) throws {
        let root = try chooseRoot()
        tell("Looking for a fingerprint reader.")
        do {
            let reader = try FingerprintReader.find(for: user)
            if try Question.yes("A reader was found: \(reader.name). Use it?", default: true) {
                var options = SensorOptions()
                (options.sensor, options.bus, options.templates) = ("fprintd", bus, templates)
                return try create(paths, system, root, .touchid, sensor: options.arguments(.touchid))
            }
        } catch let failure as Failure where failure.status == .no {
            tell("No reader was found: \(failure.message).")
        }
        tell(
            "Without a reader, prompts ask for the passcode. To add a reader later, use 'touchstone device sensor add fprintd'."
        )
        guard try Question.yes("Continue without a reader?", default: true) else {
            throw Failure(.cancelled, "nothing was made; plug in the reader and run '\(Self.again)' again")
        }
        try create(paths, system, root, Biometry.none)
    }

    private func chooseRoot() throws -> RootOfTrustChoice {
        let choices = RootOfTrustChoice.available(tcti: tcti)
        guard choices.count > 1 else {
            tell(
                "The device is bound to \(RootOfTrustChoice.software.title), because this machine has nothing better that you may use."
            )
            tell(RootOfTrustChoice.software.worth)
            if RootOfTrustChoice.isForOthers {
                tell(
                    "There is a TPM, but you may not use it. To change that, run 'sudo adduser $USER tss', log in again, and begin again."
                )
            }
            return .software
        }
        for choice in choices { tell("\(choice.title): \(choice.worth)") }
        let title = try Question.choice("What should the device be bound to?", of: choices.map(\.title))
        return choices.first { $0.title == title } ?? .software
    }

    /// The one place where a choice becomes a device.
    private func create(
        _ paths: DevicePaths, _ system: SystemDevice?, _ root: RootOfTrustChoice, _ biometry: Biometry,
        sensor: [String] = []
    ) throws {
        // It has a handler of its own, which leaves none.
        defer { mindInterruption() }
        if let system {
            try system.create(["--biometry", biometry.rawValue] + sensor + root.arguments)
        } else {
            try CreateCommand.create(paths, biometry: biometry, sensor: sensor, rootOfTrust: root.arguments)
        }
        tell("\(paths.name) was made.")
        guard root != .software else { return }
        if system != nil { tell("Write down the recovery key above. It is stored nowhere.") }
        while !(try Question.yes("Is the recovery key on paper?", default: false)) {
            tell("It is shown only this once. Without it the device is lost if its TPM is cleared or breaks.")
        }
    }

    // MARK: the owner

    private static let maximumTries = 3

    /// Sets one, or asks for the one that is set: the self-test wants it.
    private func setUpPasscode(_ paths: DevicePaths) throws -> PasscodeBuffer {
        begin(2, "Passcode")
        let status = try DeviceClient(paths).status
        if status.isPasscodeDisabled {
            throw Failure(
                .no,
                "\(paths.name) has to be erased after ten wrong passcodes, and accepts no passcode now; 'touchstone doctor' says more"
            )
        }
        tell(
            status.isPasscodeSet
                ? "It is set. Enter it for the self-test."
                : "It opens the device after each start, and whenever a finger is not enough. It needs at least four characters; longer is better."
        )
        var tries = 0
        while true {
            tries += 1
            do {
                if status.isPasscodeSet {
                    let passcode = try PasscodeEntry.current()
                    try SelfTest(paths, passcode: passcode, tell: { _, _ in }).unlock()
                    return passcode
                }
                let change = try PasscodeChange(paths)
                let passcode = try PasscodeEntry.new()
                try change.submit(current: nil, new: passcode, kind: nil)
                tell("It is set.")
                return passcode
            } catch {
                let failure = Failure.of(error, paths)
                guard [.cancelled, .refused, .wrongPasscode].contains(failure.status), tries < Self.maximumTries else {
                    throw failure
                }
                tell(failure, " Try again:")
            }
        }
    }

    private func setUpFingers(_ paths: DevicePaths, _ user: String) throws {
        begin(3, "Fingers")
        let status = try statusWithSensor(paths)
        guard let sensor = status.sensor else {
            return tell("There is no sensor. Use 'touchstone device sensor add fprintd' once there is a reader.")
        }
        if let fault = sensor.fault {
            return tell("The sensor does not work: \(fault). 'touchstone doctor' says what to do.")
        }
        guard sensor.kind == .fprintd else {
            return tell(
                sensor.kind == .simulated
                    ? "They are simulated; use 'touchstone device enroll'."
                    : "The PAM service has its own program to enrol them.")
        }
        let reader = FingerprintReader(name: sensor.name ?? "", user: user)
        var enrolled = try fingers(paths)
        if !enrolled.isEmpty { tell("Enrolled: \(enrolled.map(PlainText.line).joined(separator: ", ")).") }
        while enrolled.count < FingerprintReader.fingers.count,
            try Question.yes(enrolled.isEmpty ? "Enrol a finger?" : "Enrol another?", default: enrolled.isEmpty)
        {
            let finger = try Question.choice(
                "Which one?", of: FingerprintReader.fingers.filter { !enrolled.contains($0) })
            tell("Touch the reader with it until it is enrolled.")
            do {
                try reader.enroll(finger, tell: tell)
                enrolled = try fingers(paths, with: finger)
            } catch let failure as Failure where failure.status == .no {
                tell(failure)
                enrolled = try fingers(paths)
            }
        }
        if enrolled.isEmpty { tell("No finger is enrolled. To enrol one later, use 'fprintd-enroll'.") }
    }

    /// How the device is once it has asked its sensor: that takes a moment after a boot.
    private func statusWithSensor(_ paths: DevicePaths) throws -> DeviceInterface.Status {
        let device = try DeviceClient(paths)
        return try ask({ try device.status }, until: { $0.sensor?.problem != .starting })
    }

    /// As the device knows them: the enclave looks at each question, and hears of what fprintd did when it comes to it.
    ///
    /// `finger` is one that fprintd has just enrolled.
    private func fingers(_ paths: DevicePaths, with finger: String? = nil) throws -> [String] {
        let device = try DeviceClient(paths)
        return try ask(
            {
                // The look.
                _ = try device.status
                return try device.call(DeviceInterface.ListFingers.self).fingers
            },
            until: { fingers in finger.map(fingers.contains) ?? true })
    }

    /// Asks until the answer is the one that has to come; the last one, where it does not come for long.
    private func ask<Answer>(_ question: () throws -> Answer, until isTold: (Answer) -> Bool) throws -> Answer {
        let deadline = ContinuousClock.now + Self.longestLook
        while true {
            let answer = try question()
            if isTold(answer) || ContinuousClock.now >= deadline { return answer }
            Pause.sleep(Pause.prompt)
        }
    }

    private static let longestLook = Duration.seconds(20)

    // MARK: the test

    private func test(_ paths: DevicePaths, _ passcode: PasscodeBuffer, recovery: String) throws {
        begin(5, "Recovery")
        tell(
            try DeviceClient(paths).status.rootOfTrust == "software"
                ? "With \(RootOfTrustChoice.software.title) there is no recovery key. If you forget the passcode, everything in the device is lost."
                : "To move to another TPM, or to this one after it was cleared, use the recovery key: '\(recovery)'. If you forget the "
                    + "passcode, everything in the device is lost all the same."
        )
        tell("'touchstone keychain export FILE' writes an encrypted backup.")
        begin(6, "Self-test")
        let test = try SelfTest(paths, passcode: passcode) { isGood, step in tell("[\(isGood ? "ok" : "no")] \(step)") }
        try test.run()
        let status = try DeviceClient(paths).status
        if status.sensor?.kind == .fprintd, status.sensor?.problem == nil, status.isEnrolled { try touch(paths, test) }
    }

    /// The lock screen, opened by a finger; Enter goes on without.
    private func touch(_ paths: DevicePaths, _ test: SelfTest) throws {
        let device = try DeviceClient(paths)
        _ = try device.call(DeviceInterface.Lock.self, .init())
        StandardOutput.write("\(Self.indent)Now touch the reader with the finger (Enter: skip this) ")
        let deadline = ContinuousClock.now + Self.longestTouch
        var isLeftOut = false
        while try device.status.isLocked, !isLeftOut, ContinuousClock.now < deadline {
            var entry = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&entry, 1, Self.lookMilliseconds) > 0 else { continue }
            _ = PasscodeBuffer(lineFrom: STDIN_FILENO)
            isLeftOut = true
        }
        if !isLeftOut || !Terminal.isInput { say("") }
        guard try device.status.isLocked else { return tell("[ok] unlocks with the finger") }
        try test.unlock()
        guard isLeftOut else { throw Failure(.no, "the reader saw no enrolled finger; \(Self.goesOn)") }
        tell("[--] unlocks with the finger: skipped")
    }

    private static let longestTouch = Duration.seconds(30)
    private static let lookMilliseconds: Int32 = 100
}
