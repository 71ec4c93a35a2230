import ArgumentParser
import TouchstoneCore
import TouchstoneDevice
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTransport

/// `touchstone device passcode`.
struct PasscodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passcode",
        abstract: "Set, change or remove the passcode; erase the device after ten wrong ones.",
        discussion: """
            The passcode is read from the terminal and not shown. If standard input is not a terminal, give one line \
            for each passcode: the current one first, then the new one. It is sealed for the enclave before it leaves \
            this process.
            """,
        subcommands: [Set.self, Change.self, Remove.self, EraseData.self])

    /// `--kind KIND`, of the new passcode.
    struct KindOption: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "The kind of passcode: four-digit, six-digit, numeric (four or more digits), or alphanumeric (four or more bytes).",
                discussion: "Prompts show the keys for this kind, so anybody who sees a prompt sees the kind.",
                valueName: "kind"))
        var kind = Kind.alphanumeric

        enum Kind: String, ExpressibleByArgument, CaseIterable {
            case fourDigit = "four-digit"
            case sixDigit = "six-digit"
            case numeric, alphanumeric

            var value: PasscodeKind {
                switch self {
                case .fourDigit: .fourDigit
                case .sixDigit: .sixDigit
                case .numeric: .numeric
                case .alphanumeric: .alphanumeric
                }
            }
        }
    }

    struct Set: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Set the first passcode of a device.")
        @OptionGroup var kind: KindOption
        @OptionGroup var option: DeviceOption

        func run() throws {
            try PasscodeChange(option.paths).submit(current: nil, new: try PasscodeEntry.new(), kind: kind.kind.value)
        }
    }

    struct Change: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Replace the passcode. Items stay as they are.")
        @OptionGroup var kind: KindOption
        @OptionGroup var option: DeviceOption

        func run() throws {
            let change = try PasscodeChange(option.paths)
            let current = try PasscodeEntry.current()
            try change.submit(current: current, new: try PasscodeEntry.new(), kind: kind.kind.value)
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove the passcode, and with it every item that requires one to be set.",
            discussion:
                "Items stored with \u{2026}WhenPasscodeSetThisDeviceOnly are gone for good. Enrolled fingers stay, but do not count until there is a passcode again."
        )
        @OptionGroup var option: DeviceOption

        func run() throws {
            try PasscodeChange(option.paths).submit(current: try PasscodeEntry.current(), new: nil, kind: nil)
        }
    }

    struct EraseData: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Choose whether ten wrong passcodes in a row erase the device.",
            discussion: """
                This is off at first. Then each wrong passcode from the ninth on costs eight hours, and there is no \
                last one. With it on, the tenth wrong passcode in a row makes the device as new: every item, key and \
                finger and the passcode are gone for good. The command asks for the passcode.
                """)

        enum Setting: String, ExpressibleByArgument, CaseIterable { case on, off }

        @Argument(help: "on or off.") var setting: Setting
        @OptionGroup var option: DeviceOption

        func run() throws {
            let paths = try option.paths
            let device = try DeviceClient(paths)
            try device.checkPasscodeKey()
            let passcode = try PasscodeEntry.current()
            let isOn = setting == .on
            _ = try device.enter(DeviceInterface.SetEraseData.self, typed: passcode, for: .eraseData(isOn)) {
                .init(isOn: isOn, passcode: $0)
            }
        }
    }
}

/// One `ChangePasscode`.
///
/// Connects before it asks anybody anything; takes the nonce when the passcodes are there, so that it is fresh.
struct PasscodeChange {
    private let device: DeviceClient

    init(_ paths: DevicePaths) throws {
        device = try DeviceClient(paths)
        try device.checkPasscodeKey()
    }

    func submit(current: PasscodeBuffer?, new: PasscodeBuffer?, kind: PasscodeKind?) throws {
        _ = try device.enter(DeviceInterface.ChangePasscode.self, typed: current, new, for: .change) {
            .init(passcodes: $0, kind: kind)
        }
    }
}
