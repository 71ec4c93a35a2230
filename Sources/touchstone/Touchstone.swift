import ArgumentParser
import Foundation
import TouchstoneCore

/// The `touchstone` command.
@main
struct Touchstone: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "touchstone",
        abstract: "The keychain, Touch ID / Face ID and the Secure Enclave for Linux.",
        discussion: """
            Set up a device, keep a password behind your finger, and sign commits with it:
              touchstone setup
              touchstone item add github.com octocat
              touchstone bridge enable ssh

            Or make a simulated device, start it and give it an owner:
              touchstone device create
              touchstone device boot --detach
              touchstone device passcode set
              touchstone device enroll right-index
              touchstone agent                       (in a second terminal)

            ENVIRONMENT
              TOUCHSTONE_DEVICE     the device to use if you name none
              XDG_STATE_HOME        devices are in its touchstone/devices
              XDG_RUNTIME_DIR       sockets of booted devices are in its touchstone
              TOUCHSTONE_SIMULATOR  the program behind 'touchstone simulator'
              NO_COLOR              no colours, also at a terminal

            EXIT STATUS
              \(ExitStatus.table)
            """,
        version: TouchstoneVersion.current,
        subcommands: [
            DeviceCommand.self, ItemCommand.self, KeychainCommand.self, AgentCommand.self, LogCommand.self,
            SimulatorCommand.self, SetupCommand.self, SystemCommand.self, SessionCommand.self, BridgeCommand.self,
            PAMCommand.self, SyncCommand.self,
            DoctorCommand.self,
            RunWithSecretsCommand.self, ReadSecretCommand.self, InjectSecretsCommand.self, SecretCommand.self,
            CredentialProcessCommand.self, FIDOCommand.self,
        ])

    static func main() {
        // A reader that went away is an error of the write, not a death without a word.
        signal(SIGPIPE, SIG_IGN)
        let status = run(Array(CommandLine.arguments.dropFirst()))
        Foundation.exit(status)
    }

    /// Runs one command line.
    ///
    /// - Returns: the exit status.
    static func run(_ arguments: [String]) -> Int32 {
        do {
            var command = try parseAsRoot(arguments)
            try command.run()
            return ExitStatus.success.rawValue
        } catch let failure as Failure {
            StandardError.say(failure.message)
            return failure.status.rawValue
        } catch {
            return tell(error)
        }
    }

    /// Prints what the parser has to say: help and version, or what is wrong with the command line.
    private static func tell(_ error: any Error) -> Int32 {
        let status = exitCode(for: error)
        let text = fullMessage(for: error)
        if status.isSuccess {
            StandardOutput.say(HelpText.ordered(text))
        } else if !text.isEmpty {
            StandardError.say(text.hasPrefix("Error: ") ? String(text.dropFirst("Error: ".count)) : text)
        }
        return status.rawValue
    }
}
