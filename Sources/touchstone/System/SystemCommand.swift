import ArgumentParser
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneSystem

/// `touchstone system`: devices of the system's services, made and removed by root.
struct SystemCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "system",
        abstract: "Make or remove a user's device that the system keeps. For root.",
        discussion: """
            Its enclave and its keychain run as separate users, so no program of the user can read their memory or \
            their files.
            """,
        subcommands: [SystemCreateCommand.self, SystemRecoverCommand.self, SystemRemoveCommand.self])
}

/// `touchstone system create`.
struct SystemCreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make a user's device and start its sockets.",
        discussion: """
            Everything after -- goes to 'touchstone-enclave create' unchanged: the device's sensor and its root of \
            trust. The device is made in \(DevicePaths.systemState)/UID, and the user's programs find it by \
            themselves.
            """)

    @Argument(help: ArgumentHelp("The owner, by name or number.", valueName: "user")) var user: String
    @Option(help: "The kind of its sensor. To have a sensor, name it after -- too.") var biometry = Biometry.none
    @Argument(parsing: .postTerminator, help: .hidden) var options: [String] = []

    func run() throws {
        let device = try SystemDevice(user)
        try device.create(["--biometry", biometry.rawValue] + options)
        try device.enable()
        if device.hasTPM {
            StandardError.say(
                "Write down the recovery key above. It is shown only this once, and stored nowhere.")
        }
        StandardError.say("\(user) has a device; as \(user), set its passcode with 'touchstone device passcode set'")
    }
}

/// `touchstone system remove`.
struct SystemRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Stop a user's device and delete it, with everything in it.")

    @Argument(help: ArgumentHelp("The owner, by name or number.", valueName: "user")) var user: String
    @Flag(help: "Do not ask.") var yes = false

    func run() throws {
        let device = try SystemDevice(user)
        guard device.exists else { throw Failure(.unavailable, "\(user) has no device of the system") }
        if !yes {
            StandardError.write("This deletes everything in the device of \(user). To go on, type its owner's name: ")
            guard readLine() == user else { throw Failure(.cancelled, "nothing was removed") }
        }
        try device.disable()
        if try !device.forgetTPM() {
            StandardError.say("the device leaves its counter in the TPM, where it uses a little space")
        }
        try device.remove()
    }
}

/// `touchstone system recover`.
struct SystemRecoverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover",
        abstract: "Move a user's device to another TPM, or back to its own TPM after that was cleared.",
        discussion: """
            This is for a device that is bound to a TPM. The device is stopped meanwhile. The command asks for the \
            recovery key that was shown when the device was made, and for the passcode if one is set. Without a \
            terminal, each is a line of standard input. Everything in the device stays as it is, and the recovery key \
            stays the same.
            """)

    @Argument(help: ArgumentHelp("The owner, by name or number.", valueName: "user")) var user: String
    @Option(
        help: ArgumentHelp(
            "The address of the new TPM, device:PATH or swtpm:path=SOCKET (default: that of the old one).",
            valueName: "tcti"))
    var tcti: String?

    func run() throws {
        let device = try SystemDevice(user)
        guard device.exists else { throw Failure(.unavailable, "\(user) has no device of the system") }
        try device.recover(tcti: tcti)
        StandardError.say("the device of \(user) is now bound to this TPM")
    }
}
