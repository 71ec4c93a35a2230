import ArgumentParser
import TouchstoneCore
import TouchstoneTransport

/// `touchstone device passcode`.
struct PasscodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passcode",
        abstract: "Set, change or remove the passcode.",
        discussion: """
            The passcode is read from the terminal without showing it, or, where standard input is no terminal, one line for \
            each: the current one first, then the new one. It is sealed for the enclave before it leaves this process.
            """,
        subcommands: [Set.self, Change.self, Remove.self])

    struct Set: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Give a device without a passcode its first one.")
        @OptionGroup var option: DeviceOption

        func run() throws {
            try PasscodeChange(option.paths).submit(current: nil, new: try PasscodeEntry.new())
        }
    }

    struct Change: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Replace the passcode. Items stay as they are.")
        @OptionGroup var option: DeviceOption

        func run() throws {
            let change = try PasscodeChange(option.paths)
            let current = try PasscodeEntry.current()
            try change.submit(current: current, new: try PasscodeEntry.new())
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove the passcode, and with it every item that wants one to be set.",
            discussion:
                "Items stored with \u{2026}WhenPasscodeSetThisDeviceOnly are gone for good. Enrolled fingers stay, and count for nothing until there is a passcode again."
        )
        @OptionGroup var option: DeviceOption

        func run() throws {
            try PasscodeChange(option.paths).submit(current: try PasscodeEntry.current(), new: nil)
        }
    }
}

/// One `ChangePasscode`.
///
/// Connects before it asks anybody anything; takes the nonce when the passcodes are there, so that it is fresh.
private struct PasscodeChange {
    let device: DeviceConnection
    let seal: PasscodeSeal

    init(_ paths: DevicePaths) throws {
        device = try DeviceConnection(paths)
        seal = try PasscodeSeal(paths)
    }

    func submit(current: PasscodeBuffer?, new: PasscodeBuffer?) throws {
        let nonce = try device.call(DeviceInterface.GetNonce.self).nonce
        let sealed = try seal.seal(typed: current, new, for: .change, nonce: nonce)
        _ = try device.call(DeviceInterface.ChangePasscode.self, .init(passcodes: sealed))
    }
}
