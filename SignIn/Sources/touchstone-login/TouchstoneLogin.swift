import ArgumentParser
import Foundation
import TouchstoneSignIn

/// The `touchstone-login` command.
@main
struct TouchstoneLogin: AsyncParsableCommand {
    /// What servers know this program by; the default of `touchstone-signin`.
    static let application = "touchstone-login"

    static let configuration = CommandConfiguration(
        commandName: "touchstone-login",
        abstract: "Sign in to a server with a finger.",
        discussion: """
            Register this device once with the account's password, then sign in with a finger:
              touchstone-login register https://example.org --name alice
              touchstone-login sign-in

            Let pages in the browser sign in, too:
              touchstone-login approve

            The device keeps a key for each server in its Secure Enclave. A key works for the fingers or faces that \
            are enrolled when it is made. Everything else about a server is in the keychain.

            ENVIRONMENT
              TOUCHSTONE_DEVICE  the device whose owner signs in (default: "system" if you have that device, else \
            "default")
              XDG_RUNTIME_DIR    sockets of booted devices are in $XDG_RUNTIME_DIR/touchstone

            EXIT STATUS
              \(ExitStatus.table)
            """,
        version: "0.1.0",
        subcommands: [
            RegisterCommand.self, SignInCommand.self, ApproveCommand.self, StatusCommand.self, DevicesCommand.self,
            ConfirmCommand.self, RotateCommand.self, RevokeCommand.self, ForgetCommand.self,
        ])

    static func main() async {
        // A reader that went away is an error of the write, not a death without a word.
        signal(SIGPIPE, SIG_IGN)
        Foundation.exit(await run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }

    /// Runs one command line.
    private static func run(_ arguments: [String]) async -> ExitStatus {
        do {
            var command = try parseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            return .success
        } catch let failure as Failure {
            StandardError.say(failure.message)
            return failure.status
        } catch let error as SignInError {
            StandardError.say(error.description)
            return ExitStatus(error)
        } catch {
            let text = fullMessage(for: error)
            guard !exitCode(for: error).isSuccess else {
                StandardOutput.say(text)
                return .success
            }
            StandardError.say(text.hasPrefix("Error: ") ? String(text.dropFirst("Error: ".count)) : text)
            return exitCode(for: error) == .validationFailure ? .usage : .internalError
        }
    }
}
