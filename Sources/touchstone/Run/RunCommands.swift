import ArgumentParser
import TouchstoneCore

/// A command that `touchstone-run` does: this process becomes that program, as git does it with its commands.
///
/// So the status, the signals and the terminal are that program's (EX-3), and the owner reads who asks as if it had been started directly.
protocol RunCommand: ParsableCommand {
    /// What follows the command, as it was typed, `--help` too.
    var arguments: [String] { get }
}

extension RunCommand {
    func run() throws {
        let path = try Program.run.locate()
        try Program.become(path, [Self._commandName] + arguments)
    }
}

/// What the help of each of them says.
private let more = "It is a part of the program touchstone-run. 'touchstone COMMAND --help' shows its options."

/// `touchstone run`.
struct RunWithSecretsCommand: RunCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run a command with secrets in the place of references.",
        discussion: """
            Each variable whose whole value is a reference, touchstone://SERVICE/ACCOUNT, has the secret instead. You \
            are asked once, for all of them. \(more)

            Example:
              touchstone run --env-file .env -- npm publish
            """)

    @Argument(parsing: .captureForPassthrough, help: "Options, then -- and the command.")
    var arguments: [String] = []
}

/// `touchstone read`.
struct ReadSecretCommand: RunCommand {
    static let configuration = CommandConfiguration(
        commandName: "read", abstract: "Write one secret to standard output.",
        discussion: """
            You are asked first. \(more)

            Example:
              touchstone read touchstone://docker/token | docker login --username octocat --password-stdin
            """)

    @Argument(parsing: .captureForPassthrough, help: "touchstone://SERVICE/ACCOUNT, and options.")
    var arguments: [String] = []
}

/// `touchstone inject`.
struct InjectSecretsCommand: RunCommand {
    static let configuration = CommandConfiguration(
        commandName: "inject", abstract: "Put secrets into a text from standard input.",
        discussion: """
            {{ touchstone://SERVICE/ACCOUNT }} is replaced. You are asked first. \(more)

            Example:
              touchstone inject < settings.template > settings
            """)

    @Argument(parsing: .captureForPassthrough, help: "Options.")
    var arguments: [String] = []
}

/// `touchstone credential-process`.
struct CredentialProcessCommand: RunCommand {
    static let configuration = CommandConfiguration(
        commandName: "credential-process", abstract: "Write the credentials that AWS's command or kubectl asks for.",
        discussion: """
            You are asked first. \(more)

            Example, a line of ~/.aws/config:
              credential_process = touchstone credential-process aws aws/work
            """)

    @Argument(parsing: .captureForPassthrough, help: "aws or kubernetes, the secret, and options.")
    var arguments: [String] = []
}

/// `touchstone secret`.
struct SecretCommand: RunCommand {
    static let configuration = CommandConfiguration(
        commandName: "secret", abstract: "Keep, list and remove the secrets of commands.",
        discussion: """
            \(more)

            Examples:
              touchstone secret set touchstone://npm/token
              touchstone secret list
            """)

    @Argument(parsing: .captureForPassthrough, help: "set, list or remove, and what it takes.")
    var arguments: [String] = []
}

/// `touchstone fido`: the program that serves passkeys lists and removes them.
struct FIDOCommand: RunCommand {
    static let configuration = CommandConfiguration(
        commandName: "fido", abstract: "List and remove passkeys.",
        discussion: """
            'touchstone bridge enable fido' makes this computer a security key. The command is a part of the program \
            touchstone-fido. 'touchstone fido COMMAND --help' shows its options.

            Examples:
              touchstone fido list
              touchstone fido remove example.com
            """)

    @Argument(parsing: .captureForPassthrough, help: "list or remove, and what it takes.")
    var arguments: [String] = []

    func run() throws {
        try Program.become(try Program.fido.locate(), arguments.isEmpty ? ["list"] : arguments)
    }
}

/// `touchstone bridge grants`.
struct BridgeGrantsCommand: RunCommand {
    static let configuration = CommandConfiguration(
        commandName: "grants", abstract: "List and revoke what programs may read without asking you.",
        discussion: """
            'touchstone-security add-generic-password -T PROGRAM' grants a program a password. \(more)

            Examples:
              touchstone bridge grants list
              touchstone bridge grants revoke /usr/local/bin/deploy
            """)

    @Argument(parsing: .captureForPassthrough, help: "list or revoke, and what it takes.")
    var arguments: [String] = []
}
