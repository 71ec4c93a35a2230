import ArgumentParser

/// `touchstone device`: devices and their owners' hands.
struct DeviceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "Create, boot and drive simulated devices; set passcodes; lock and unlock.",
        discussion: """
            A simulated device is an enclave, a keychain, a sensor and a passcode in a directory of yours, as a \
            Simulator is to an iPhone. Driving commands (enroll, match, reboot, foreground, …) work only on a device \
            that was created as simulated.

            Every command takes --device NAME. If a command has no other argument, NAME alone works too. The passcode \
            commands are the exception, because a word there could be a passcode.
            """,
        groupedSubcommands: [
            CommandGroup(
                name: "Devices:",
                subcommands: [
                    CreateCommand.self, BootCommand.self, ShutdownCommand.self, ListCommand.self, StatusCommand.self,
                    RecoverCommand.self, EraseCommand.self,
                ]),
            CommandGroup(
                name: "Owner:",
                subcommands: [
                    PasscodeCommand.self, LockCommand.self, UnlockCommand.self, FaceIDPermissionCommand.self,
                ]),
            CommandGroup(
                name: "Driving a simulated device:",
                subcommands: [
                    EnrollCommand.self, RemoveCommand.self, FingersCommand.self, MatchCommand.self,
                    RebootCommand.self, ForegroundCommand.self, BackgroundCommand.self, SensorCommand.self,
                    AdvanceClockCommand.self,
                ]),
        ])
}
