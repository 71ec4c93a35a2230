import ArgumentParser
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneSystem

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
        try Program.become(try Resident.fido.program.locate(), arguments.isEmpty ? ["list"] : arguments)
    }
}

/// `touchstone bridge grants`: two programs keep passwords, and each answers for its own.
struct BridgeGrantsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grants", abstract: "List and revoke what programs may read without asking you.",
        discussion: """
            A program reads what it stored itself, and what you approved at a prompt. 'touchstone-security \
            add-generic-password -T PROGRAM' grants a program a password, too. If desktop programs keep passwords here, \
            you are asked before the list is shown, because it says which accounts you have. With --json the output is \
            an array of objects with secret, program, since, and digest where the program's file counts.

            Examples:
              touchstone bridge grants list
              touchstone bridge grants revoke /usr/local/bin/deploy
            """)

    @Argument(parsing: .captureForPassthrough, help: "list or revoke, and what it takes.")
    var arguments: [String] = []

    func run() throws {
        let words = ["grants"] + arguments
        let device = DevicePaths.selected()
        let run = try Program.run.locate()
        guard BridgeProbe.answers(.secretService, for: device) else { try Program.become(run, words) }
        let service = try Resident.secretService.program.locate()
        guard FileManager.default.fileExists(atPath: Resident.credentials.socket(for: device)),
            ["list", "revoke"].contains(arguments.first)
        else { try Program.become(service, words) }
        let isList = arguments.first == "list"
        if isList, arguments.contains("--json") {
            return try StandardOutput.write(Self.list(run, words, service) + "\n")
        }
        // Whoever has no such password says so, which is no news if the other one has it.
        let ending = try Child.start(run, words, inheriting: Self.streams(errors: isList), flags: 0).wait()
        guard ending == .exited(0), !isList else { try Program.become(service, words) }
        let other = try Child.start(service, words, inheriting: Self.streams(errors: false), flags: 0).wait()
        guard other == .exited(0) || other == .exited(1) else {
            throw Failure(.no, "the Secret Service did not answer; 'touchstone bridge status' says what is wrong")
        }
    }

    private static func streams(errors: Bool) -> [(number: Int32, from: Child.Inheritance)] {
        [
            (STDIN_FILENO, .file("/dev/null", flags: O_RDONLY)), (STDOUT_FILENO, .descriptor(STDOUT_FILENO)),
            (STDERR_FILENO, errors ? .descriptor(STDERR_FILENO) : .file("/dev/null", flags: O_WRONLY)),
        ]
    }

    /// One array of both.
    private static func list(_ run: String, _ words: [String], _ service: String) throws -> String {
        var all: [Any] = []
        for program in [run, service] {
            let (ending, output) = try Child.output(program, words)
            guard ending == .exited(0), let some = try? JSONSerialization.jsonObject(with: output) as? [Any] else {
                throw Failure(.no, "not all grants could be listed; 'touchstone bridge status' says what is wrong")
            }
            all += some
        }
        let text = try JSONSerialization.data(withJSONObject: all, options: [.sortedKeys, .withoutEscapingSlashes])
        return String(decoding: text, as: UTF8.self)
    }
}
