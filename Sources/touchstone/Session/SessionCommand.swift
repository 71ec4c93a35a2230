import ArgumentParser
import TouchstoneSystem

/// `touchstone session`: what starts when the owner logs in, or no longer.
struct SessionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session",
        abstract: "Have a device of your own and the window of prompts start with your session, and undo that.",
        discussion: """
            'touchstone setup' asks for the same. The command says first what it will change, and 'disable' puts back \
            what was there. 'touchstone doctor' says what is missing.

            device: your systemd boots the device when it is first used. It ends with your session. window: \
            touchstone-agent starts with your desktop, and shows prompts in a window.
            """,
        subcommands: [SessionEnableCommand.self, SessionDisableCommand.self])
}

/// `touchstone session enable`.
struct SessionEnableCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Have the device or the window start with your session.",
        discussion: """
            The command says which files it writes, and asks. The packages have the units already. Without the \
            packages, the units are written into ~/.config/systemd/user, for the programs that are beside this one. \
            The window also gets a file in ~/.config/autostart, for desktops that systemd does not start. A device \
            that runs is shut down, because systemd then listens in its place. Running it again changes nothing.

            Exit status: 0 it is enabled; 8 you said no; 69 your user systemd does not run, or there is no such device; \
            more in 'touchstone --help'.
            """)

    @Argument(help: "What to enable.") var part: SessionPart
    @OptionGroup var option: DeviceOption
    @Flag(help: "Do not ask.") var yes = false

    func run() throws {
        try BridgeCommand.refuseSudo()
        let plan = try SessionPlan(part, option.paths)
        guard !plan.isDone else {
            plan.remarks.forEach(StandardOutput.say)
            return StandardOutput.say("\(part.rawValue) is enabled already; nothing was changed")
        }
        try BridgeCommand.confirm("This starts the \(part.rawValue) with your session:", plan.lines, yes: yes)
        try plan.carryOut()
        plan.remarks.forEach(StandardOutput.say)
        StandardOutput.say(
            "The \(part.rawValue) starts with your session. To undo that: \(Self.undo(part, try option.paths))")
    }

    /// The command that takes it back.
    static func undo(_ part: SessionPart, _ paths: DevicePaths) -> String {
        "touchstone session disable \(part.rawValue)"
            + (part == .window || paths.name == DevicePaths.selected().name ? "" : " --device \(paths.name)")
    }
}

/// `touchstone session disable`.
struct SessionDisableCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Stop starting the device or the window with your session.",
        discussion: """
            The device is shut down, or the window ends, and the files that 'enable' wrote are removed. If a package \
            starts the window for every user, its unit is masked and its desktop entry hidden, for you alone. The device \
            keeps everything in it; 'touchstone device boot --detach' boots it by hand.

            Exit status: 0 it is not enabled any more, or was not; 1 a file has to be mended by hand; 8 you said no; \
            more in 'touchstone --help'.
            """)

    @Argument(help: "What to disable.") var part: SessionPart
    @OptionGroup var option: DeviceOption
    @Flag(help: "Do not ask.") var yes = false

    func run() throws {
        try BridgeCommand.refuseSudo()
        var undoing = try SessionPlan.Undoing(part, device: option.paths.name)
        guard undoing.isEnabled else {
            return StandardOutput.say("\(part.rawValue) does not start with your session; nothing was changed")
        }
        try BridgeCommand.confirm("This disables the \(part.rawValue):", undoing.lines, yes: yes)
        try undoing.carryOut()
        StandardOutput.say("The \(part.rawValue) no longer starts with your session")
    }
}
