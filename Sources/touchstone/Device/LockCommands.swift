import ArgumentParser
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTransport

/// `touchstone device lock`.
struct LockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Lock the device.",
        discussion: """
            With --require-passcode no finger unlocks the device again, only the passcode. This also works if the \
            device is already locked. A phone that was locked from afar does the same.
            """)

    @Flag(help: "Refuse every finger until the passcode was entered.") var requirePasscode = false
    @OptionGroup var option: DeviceArgument

    func run() throws {
        _ = try DeviceClient(option.paths)
            .call(DeviceInterface.Lock.self, .init(requiresPasscode: requirePasscode))
    }
}

/// `touchstone device unlock`.
struct UnlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Unlock the device with the passcode, or with a simulated finger.",
        discussion: """
            The passcode is read from the terminal without showing it, or as one line from standard input. \
            With --finger the exit status is that of 'touchstone device match'.
            """)

    @Option(help: ArgumentHelp("Lay this finger on the sensor instead, or 'nomatch'.", valueName: "finger"))
    var finger: String?
    @OptionGroup var option: DeviceOption

    func validate() throws {
        if let finger, finger != FingerName.noMatch { try FingerName.check(finger) }
    }

    func run() throws {
        let paths = try option.paths
        let device = try DeviceClient(paths)
        if let finger {
            return try device.present(device.finger(named: finger)).conclude()
        }
        try device.checkPasscodeKey()
        let passcode = try PasscodeEntry.current()
        _ = try device.enter(DeviceInterface.Unlock.self, typed: passcode, for: .unlock) { .init(passcode: $0) }
    }
}

/// `touchstone device reboot`.
struct RebootCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reboot", abstract: "Restart the device, so that it forgets every key that needs the passcode.")

    @Option(help: ArgumentHelp("Wait this long until it answers again.", valueName: "seconds"))
    var wait = 10.0
    @OptionGroup var option: DeviceArgument

    func validate() throws { try Seconds.check(wait, "--wait") }

    func run() throws {
        let paths = try option.paths
        let device = try DeviceClient(paths)
        _ = try device.call(DeviceInterface.Reboot.self)
        // Until the old daemons are gone, an answer does not come from the new ones.
        device.waitUntilClosed()
        _ = try DeviceClient.answering(paths, within: .seconds(wait)) {
            guard SupervisorLock.holder(paths) == nil else { return }
            throw Failure(
                .unavailable,
                "\(paths.name) did not come back; '\(paths.bootCommand)' boots it, or says why not")
        }
    }
}

/// `touchstone device foreground`.
struct ForegroundCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "foreground", abstract: "Bring an app to the foreground. Every app begins in the foreground.")

    @Argument(
        help: "The application identifier, as prompts show it: a path, flatpak:org.example.App, …", completion: .apps)
    var app: String
    @OptionGroup var option: DeviceOption

    func run() throws {
        _ = try DeviceClient(option.paths)
            .call(DeviceInterface.SetApplicationState.self, .init(app: AppIdentifier(app), state: .foreground))
    }
}

/// `touchstone device background`.
struct BackgroundCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "background", abstract: "Send an app to the background. Its prompt is removed.")

    @Argument(
        help: "The application identifier, as prompts show it: a path, flatpak:org.example.App, …", completion: .apps)
    var app: String
    @OptionGroup var option: DeviceOption

    func run() throws {
        _ = try DeviceClient(option.paths)
            .call(DeviceInterface.SetApplicationState.self, .init(app: AppIdentifier(app), state: .background))
    }
}
