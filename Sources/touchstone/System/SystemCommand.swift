import ArgumentParser
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneSystem

/// `touchstone system`: devices of the system's services, made and removed by root.
struct SystemCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "system",
        abstract: "Give a user a device that the system keeps, or take it away. For root.",
        discussion: """
            Its enclave and its keychain run under users of their own, so that no program of the user's reads their memory or their files.
            """,
        subcommands: [SystemCreateCommand.self, SystemRecoverCommand.self, SystemRemoveCommand.self])
}

/// `touchstone system create`.
struct SystemCreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make a user's device and start its sockets.",
        discussion: """
            What stands behind -- goes to 'touchstone-enclave create' as it is: its sensor and its root of trust. It lies in \
            \(DevicePaths.systemState)/UID; the user's programs find it by themselves.
            """)

    @Argument(help: ArgumentHelp("The owner, by name or number.", valueName: "user")) var user: String
    @Option(help: "The sensor it has; without one in what stands behind --, none.") var biometry = Biometry.none
    @Argument(parsing: .postTerminator, help: .hidden) var options: [String] = []

    func run() throws {
        let device = try SystemDevice(user)
        try device.create(["--biometry", biometry.rawValue] + options)
        try device.enable()
        if device.hasTPM {
            StandardError.say(
                "Above is the recovery key of this device. It is shown this once, and kept nowhere: write it down.")
        }
        StandardError.say("\(user) has a device: set its passcode with 'touchstone device passcode set', as \(user)")
    }
}

/// `touchstone system remove`.
struct SystemRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Stop a user's device and remove it, with everything that is in it.")

    @Argument(help: ArgumentHelp("The owner, by name or number.", valueName: "user")) var user: String
    @Flag(help: "Do not ask.") var yes = false

    func run() throws {
        let device = try SystemDevice(user)
        guard device.exists else { throw Failure(.unavailable, "\(user) has no device of the system's") }
        if !yes {
            StandardError.write("Everything in the device of \(user) will be gone. Remove it? Type its owner's name: ")
            guard readLine() == user else { throw Failure(.cancelled, "nothing was removed") }
        }
        try device.disable()
        if try !device.forgetTPM() {
            StandardError.say("the device leaves its counter in the TPM, which takes a little of its room")
        }
        try device.remove()
    }
}

/// `touchstone system recover`.
struct SystemRecoverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover",
        abstract: "Move a user's device to another TPM, or to its own after that was cleared.",
        discussion: """
            For a device that is bound to a TPM. It is stopped meanwhile. Wants the recovery key that was shown when it was made, and \
            the passcode, where one is set: at a terminal it asks for them, elsewhere they are a line of standard input each. \
            Everything in the device stays as it is; the recovery key stays the same.
            """)

    @Argument(help: ArgumentHelp("The owner, by name or number.", valueName: "user")) var user: String
    @Option(
        help: ArgumentHelp(
            "Where the new TPM is, device:PATH or swtpm:path=SOCKET; without it, where the old one was.",
            valueName: "tcti"))
    var tcti: String?

    func run() throws {
        let device = try SystemDevice(user)
        guard device.exists else { throw Failure(.unavailable, "\(user) has no device of the system's") }
        try device.recover(tcti: tcti)
        StandardError.say("the device of \(user) is bound to this TPM now")
    }
}
