import ArgumentParser
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem

/// `touchstone bridge`: ssh, git, docker and desktop programs ask Touchstone, or no longer.
struct BridgeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bridge",
        abstract: "Have ssh, git, docker and desktop programs use Touchstone, and undo that.",
        discussion: """
            Nothing takes the place of another agent or helper before you enable it here. The command says first \
            what it will change, and 'disable' puts back what was there.

            The bridges are \(Bridge.list).
            """,
        subcommands: [
            BridgeEnableCommand.self, BridgeDisableCommand.self, BridgeStatusCommand.self, BridgeGrantsCommand.self,
        ])

    /// Says what happens, and asks.
    ///
    /// - Throws: `Failure` (`usage`) without a terminal, `cancelled` for no.
    static func confirm(_ title: String, _ lines: [String], yes: Bool) throws {
        StandardOutput.say(title)
        for line in lines { StandardOutput.say("  \(line)") }
        guard !yes else { return }
        guard Terminal.isInput else {
            throw Failure(.usage, "nothing was changed, because there is no terminal to ask at; use --yes")
        }
        StandardOutput.write("Go on? [y/N] ")
        guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
            throw Failure(.cancelled, "nothing was changed")
        }
    }

    /// The files are in the home of who calls.
    static func refuseSudo() throws {
        guard geteuid() == 0, ProcessInfo.processInfo.environment["SUDO_UID"] != nil else { return }
        throw Failure(.refused, "this changes files of yours, so run it without sudo")
    }
}

/// `touchstone bridge enable`.
struct BridgeEnableCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Start a bridge, and have its programs ask it.",
        discussion: """
            The device has to be booted. The command says which files it changes, and asks. It writes the bridge's \
            manifest into a simulated device. For another device it says what root has to write. If your systemd \
            runs, the bridge is started by its socket when it is used, now and after each login. If it does not run, \
            the command says what to start by hand. Running it again changes nothing.

            ssh: writes IdentityAgent into ~/.ssh/config, and SSH_AUTH_SOCK into ~/.config/environment.d if no other \
            agent has that place. git: sets credential.helper. docker: sets credsStore. secret-service: brings in the \
            passwords of gnome-keyring, and stops if one cannot be read; then it takes the place of gnome-keyring. \
            pkcs11: writes touchstone.module into ~/.config/pkcs11/modules, and P11_KIT_SERVER_ADDRESS into \
            ~/.config/environment.d if it is not set. fido: changes no file. It needs the system's device, and says what root has \
            to run.

            Exit status: 0 it is enabled; 5 something else has the place; 8 you said no; 69 the device does not \
            answer; more in 'touchstone --help'.
            """)

    @Argument(help: "What to enable.") var bridge: Bridge
    @OptionGroup var option: DeviceOption
    @Flag(help: "Do not ask.") var yes = false
    @Flag(help: "Take the place of git's or docker's other helper; 'disable' puts it back.") var replace = false

    func run() throws {
        try BridgeCommand.refuseSudo()
        let plan = try BridgePlan(bridge, option.paths, replaces: replace)
        guard !plan.isDone else {
            plan.remarks.forEach(StandardOutput.say)
            return StandardOutput.say("\(bridge.rawValue) is enabled already; nothing was changed")
        }
        try BridgeCommand.confirm("This enables \(bridge.rawValue) (\(bridge.purpose)):", plan.lines, yes: yes)
        try plan.carryOut()
        plan.remarks.forEach(StandardOutput.say)
        StandardOutput.say(
            "\(bridge.rawValue) is enabled. 'touchstone bridge disable \(bridge.rawValue)' puts everything back. Now: \(bridge.next)"
        )
    }
}

/// `touchstone bridge disable`.
struct BridgeDisableCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Put back what was there before a bridge was enabled.",
        discussion: """
            Each file gets back the lines that it had. If it was changed meanwhile, the other lines stay as they are \
            now. Keys and passwords stay in the device. secret-service: the passwords also go back to gnome-keyring, \
            for which you are asked once. If that fails, it stays enabled.

            Exit status: 0 it is not enabled any more, or was not; 1 a file has to be mended by hand, or not every \
            password was given back; 5 the device is locked, or no agent shows prompts; 8 you said no; \
            more in 'touchstone --help'.
            """)

    @Argument(help: "What to disable.") var bridge: Bridge
    @Flag(help: "Do not ask.") var yes = false

    func run() throws {
        try BridgeCommand.refuseSudo()
        var record = try ChangeRecord.read()
        guard record.enabled.contains(.bridge(bridge)) else {
            return StandardOutput.say("\(bridge.rawValue) was not enabled with this command; nothing was changed")
        }
        let resident = bridge.resident
        let isLast = !record.needs(resident, besides: bridge)
        let owners: [ChangeOwner] =
            isLast ? [.bridge(bridge), .resident(resident)] : bridge == .credentials ? [] : [.bridge(bridge)]
        let unit = resident.firstUnit
        // Root may have enabled the system's service since: what runs as the user's own ends all the same.
        let stops = isLast && UserManager.isRunning && (UserManager.starts(unit) || UserManager.isActive(unit))
        try BridgeCommand.confirm(
            "This disables \(bridge.rawValue):",
            (stops ? ["runs systemctl --user disable --now \(unit)"] : [])
                + record.lines(undoing: owners)
                + (resident.isOnBus ? ["gives the passwords to gnome-keyring, after you agreed"] : []), yes: yes)
        let device = UserUnit.chosenDevice(for: resident.serviceUnit) ?? DevicePaths.selected().name
        if resident.isOnBus { try Self.checkThatAnOwnerCanBeAsked(device) }
        if stops {
            // A unit that is gone, with its package for example, keeps no file from being put back.
            for words in [["disable", "--now", unit], ["stop", resident.serviceUnit]] {
                do { try UserManager.control(words) } catch { StandardError.say("touchstone: \(error)") }
            }
        }
        let undone = Result { try record.undo(owners, disabling: .bridge(bridge)) }
        if stops { try UserManager.control("daemon-reload") }
        if resident.isOnBus, (try? resident.run("export", for: device)) != .exited(0) {
            try enableAgain(device)
            throw Failure(
                .no,
                "\(bridge.rawValue) is still enabled, because not every password was given back; they are all in the device"
            )
        }
        try undone.get()
        StandardOutput.say(
            "\(bridge.rawValue) is disabled"
                + (isLast ? "" : "; \(resident.rawValue) still runs for another bridge"))
        if isLast, resident.isSystemService {
            StandardOutput.say(
                "The system's \(resident.rawValue) still runs. To stop it: \(resident.rootCommand("disable"))")
        }
    }
}

extension BridgeDisableCommand {
    /// The passwords go back only with the owner's approval, so nothing is stopped where nobody can give it.
    private static func checkThatAnOwnerCanBeAsked(_ device: String) throws {
        let status = try DeviceClient(DevicePaths(name: device)).status
        guard !status.isLocked else {
            throw Failure(.refused, "nothing was changed, because the device is locked; unlock it, and run this again")
        }
        guard status.hasAgent else {
            throw Failure(
                .refused,
                "nothing was changed, because no agent shows prompts; 'touchstone doctor' says how to start one")
        }
    }

    /// Programs that do not find their passwords may throw away what they had encrypted with them.
    private func enableAgain(_ device: String) throws {
        do {
            try BridgePlan(bridge, DevicePaths(name: device), replaces: false, bringsIn: false).carryOut()
        } catch {
            throw Failure(
                .no,
                "\(bridge.rawValue) is disabled, but not every password was given back, and it could not be enabled again "
                    + "(\(error)); they are all still in the device. Try again: touchstone bridge enable \(bridge.rawValue)"
            )
        }
    }
}

/// `touchstone bridge status`.
struct BridgeStatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show which bridges are enabled, and whether they answer.",
        discussion: """
            With --json the output is an array of objects with name, state (notEnabled, answers or broken), text, and \
            fix if a command helps.

            Exit status: 0 those that are enabled answer; 1 one does not.
            """)

    @Flag(help: "As JSON.") var json = false

    func run() throws {
        let reports = Bridge.allCases.map { BridgeReport($0, device: .selected()) }
        if json {
            try StandardOutput.json(reports)
        } else {
            for report in reports {
                StandardOutput.say("\(report.name.rawValue): \(report.text)")
                if let fix = report.fix { StandardOutput.say("     repair it: \(fix)") }
            }
        }
        guard reports.allSatisfy({ $0.state != .broken }) else { throw Failure(.no, "a bridge does not work") }
    }
}
