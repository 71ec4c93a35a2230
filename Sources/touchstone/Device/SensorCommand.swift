import ArgumentParser
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneTransport

/// `touchstone device sensor`.
struct SensorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sensor",
        abstract: "Unplug the simulated sensor, or plug it in again; forget a fingerprint reader.",
        subcommands: [ConnectCommand.self, DisconnectCommand.self, ForgetCommand.self])

    struct ConnectCommand: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "connect", abstract: "Plug the sensor in.")

        @OptionGroup var option: DeviceArgument

        func run() throws { try option.setSensorConnected(true) }
    }

    struct DisconnectCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "disconnect",
            abstract: "Unplug the sensor. A prompt that waits for it then asks for the passcode, or ends.",
            discussion: "Enrolled fingers stay. After a reboot the sensor is plugged in again.")

        @OptionGroup var option: DeviceArgument

        func run() throws { try option.setSensorConnected(false) }
    }

    struct ForgetCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "forget",
            abstract: "Move to another fingerprint reader, and forget the one on which the fingers were enrolled.",
            discussion: """
                From then on, the device uses the reader that fprintd calls its default, with the fingers that are \
                enrolled there. What is bound to the current fingers is gone for good. The command asks for the \
                passcode.
                """)

        @OptionGroup var option: DeviceArgument

        func run() throws {
            let paths = try option.paths
            let device = try DeviceConnection(paths)
            try device.checkPasscodeKey()
            let passcode = try PasscodeEntry.current()
            _ = try device.enter(DeviceInterface.ForgetReader.self, typed: passcode, for: .forgetReader) {
                .init(passcode: $0)
            }
        }
    }
}

extension DeviceArgument {
    fileprivate func setSensorConnected(_ isConnected: Bool) throws {
        _ = try DeviceConnection(paths)
            .call(DeviceInterface.SetSensorConnected.self, .init(isConnected: isConnected))
    }
}
