import ArgumentParser
import TouchstoneCore

/// `touchstone device sensor`.
struct SensorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sensor",
        abstract: "Unplug the simulated sensor, or plug it in again.",
        subcommands: [ConnectCommand.self, DisconnectCommand.self])

    struct ConnectCommand: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "connect", abstract: "Plug the sensor in.")

        @OptionGroup var option: DeviceOption

        func run() throws { try option.setSensorConnected(true) }
    }

    struct DisconnectCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "disconnect",
            abstract: "Unplug the sensor: a prompt that waits for it goes on with the passcode, or ends.",
            discussion: "What is enrolled stays. After a reboot the sensor is plugged in.")

        @OptionGroup var option: DeviceOption

        func run() throws { try option.setSensorConnected(false) }
    }
}

extension DeviceOption {
    fileprivate func setSensorConnected(_ isConnected: Bool) throws {
        _ = try DeviceConnection(paths)
            .call(DeviceInterface.SetSensorConnected.self, .init(isConnected: isConnected))
    }
}
