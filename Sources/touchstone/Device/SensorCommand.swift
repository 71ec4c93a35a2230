import ArgumentParser
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTransport

/// `touchstone device sensor`.
struct SensorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sensor",
        abstract: "Add or forget a fingerprint reader; unplug the simulated sensor, or plug it in again.",
        subcommands: [AddCommand.self, ForgetCommand.self, ConnectCommand.self, DisconnectCommand.self])

    struct AddCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add",
            abstract: "Give a device without a sensor of its own a fingerprint reader.",
            discussion: """
                The device then uses the reader that fprintd calls its default, with the fingers that are enrolled \
                there. What is bound to simulated fingers is gone for good, and a simulated device stays a simulated \
                device. The command asks for the passcode.

                  touchstone device sensor add fprintd
                """)

        enum Kind: String, CaseIterable, ExpressibleByArgument {
            case fprintd
        }

        @Argument(help: "The kind of sensor: fprintd.") var kind: Kind
        @OptionGroup var option: DeviceArgument
        @Option(help: "The socket of fprintd's D-Bus.", completion: .file())
        var bus = SensorOptions.defaultBus
        @Option(help: "The directory in which fprintd keeps the enrolled fingers.", completion: .directory)
        var templates = SensorOptions.defaultTemplates

        func run() throws {
            let paths = try option.paths
            let device = try DeviceClient(paths)
            let isOwn = bus == SensorOptions.defaultBus && templates == SensorOptions.defaultTemplates
            guard try isOwn || device.status.isSimulated else {
                throw Failure(
                    .usage,
                    "--bus and --templates are for simulated devices; \(paths.name) takes this machine's fprintd")
            }
            try device.checkPasscodeKey()
            let passcode = try PasscodeEntry.current()
            let (bus, templates) = (SensorOptions.path(bus), SensorOptions.path(templates))
            _ = try device.enter(
                DeviceInterface.AddReader.self, typed: passcode, for: .addReader(bus: bus, templates: templates)
            ) {
                .init(bus: bus, templates: templates, passcode: $0)
            }
            StandardOutput.say("\(paths.name) uses the reader of fprintd now; 'touchstone setup' enrols fingers")
        }
    }

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
            let device = try DeviceClient(paths)
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
        _ = try DeviceClient(paths)
            .call(DeviceInterface.SetSensorConnected.self, .init(isConnected: isConnected))
    }
}
