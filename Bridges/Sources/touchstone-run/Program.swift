public import ArgumentParser
import BridgeProcesses
public import CredentialProtocol
import CredentialsClient
import Foundation
import Glibc

/// Secrets for commands.
@main struct Program: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "touchstone-run", abstract: "Give secrets to commands, after the owner was asked once.",
        version: BridgeVersion.current,
        subcommands: [Run.self, Read.self, Inject.self, Secret.self, CredentialProcess.self, Grants.self])

    static func main() {
        HelperProcess.leaveNoCore()
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch let failure as CommandFailure {
            HelperProcess.complain("touchstone-run: \(failure.message)")
            Glibc.exit(failure.status)
        } catch {
            exit(withError: error)
        }
    }
}

/// Why a command ends without its result.
struct CommandFailure: Error {
    var message: String
    var status: Int32

    init(_ message: String, status: Int32 = 2) {
        self.message = message
        self.status = status
    }

    init(_ failure: CredentialMessages.Failure) {
        self.init(failure.sentence, status: 1)
        status =
            switch failure {
            case .cancelled: 130
            case .denied, .busy: 51
            case .locked: 36
            case .unavailable: 53
            case .gone, .invalid, .duplicate: 2
            }
        if failure == .gone { message += ". To see what is kept, run: touchstone secret list" }
    }
}

/// The secrets that references name, opened together.
struct OpenedSecrets {
    private var secrets: [CredentialMessages.Item: [UInt8]] = [:]

    /// Asks for all of them at once (EX-2).
    ///
    /// - Parameters:
    ///   - references: Each may be there more than once.
    ///   - names: What the command calls each of them; nil where there is no command.
    ///   - command: What is run with them.
    ///   - reuse: Seconds.
    /// - Throws: What the person is told.
    init(_ references: [SecretReference], names: [String]? = nil, command: String? = nil, reuse: Double = 0) throws {
        var items: [CredentialMessages.Item] = []
        var itemNames: [CredentialMessages.Item: [String]] = [:]
        for (index, reference) in references.enumerated() {
            let item = Self.item(reference)
            if itemNames[item] == nil { items.append(item) }
            itemNames[item, default: []] += names.map { [$0[index]] } ?? []
        }
        guard !items.isEmpty else { return }
        var parameters = CredentialMessages.Parameters()
        parameters.items = items
        parameters.names = names.map { _ in items.map { itemNames[$0, default: []].joined(separator: ", ") } }
        parameters.command = command
        parameters.reuse = reuse
        do {
            let found = try CredentialsClient.call("Open", parameters).secrets ?? []
            guard found.count == items.count else { throw CommandFailure("the answer is malformed", status: 53) }
            for (item, secret) in zip(items, found) { secrets[item] = Array(secret) }
        } catch let failure as CredentialMessages.Failure {
            throw CommandFailure(failure)
        }
    }

    static func item(_ reference: SecretReference) -> CredentialMessages.Item {
        .init(kind: .secret, place: reference.service, account: reference.account)
    }

    func value(_ reference: SecretReference) throws -> [UInt8] {
        guard let value = reference.part(of: secrets[Self.item(reference)] ?? []) else {
            throw CommandFailure("the secret of \(reference) has no such field")
        }
        return value
    }
}

extension SecretReference: ExpressibleByArgument {
    /// A reference as a person types it: the prefix may be left out.
    public init?(argument: String) {
        self.init(argument.hasPrefix(Self.prefix) ? argument : Self.prefix + argument)
    }
}

/// `read` and `inject` write secrets, so not to a terminal by accident (EX-7).
func refuseTerminal(_ reveal: Bool) throws {
    guard reveal || isatty(1) == 0 else {
        throw CommandFailure("a secret would be shown on the terminal. Say --reveal, or write it to a file or a pipe.")
    }
}

struct Read: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write one secret to standard output.",
        discussion:
            "Example: touchstone read touchstone://docker/token | docker login --username octocat --password-stdin")

    @Argument(help: "touchstone://SERVICE/ACCOUNT, or with /FIELD of a JSON secret.")
    var reference: SecretReference

    @Flag(help: "Also if standard output is a terminal.")
    var reveal = false

    func run() throws {
        try refuseTerminal(reveal)
        let value = try OpenedSecrets([reference]).value(reference)
        HelperProcess.write(value + (isatty(1) == 0 ? [] : [0x0A]))
    }
}

struct Inject: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Put secrets into a text from standard input.",
        discussion:
            "{{ touchstone://SERVICE/ACCOUNT }} is replaced. Example: touchstone inject < config.template > config")

    @Flag(help: "Also if standard output is a terminal.")
    var reveal = false

    func run() throws {
        try refuseTerminal(reveal)
        let template: SecretTemplate
        do throws(SecretTemplateError) {
            template = try SecretTemplate(HelperProcess.input(SecretTemplate.maximumCount))
        } catch {
            throw CommandFailure("standard input: \(error)")
        }
        let references = template.references
        let secrets = try OpenedSecrets(references)
        var output: [UInt8] = []
        for piece in template.pieces {
            switch piece {
            case .text(let text): output += text
            case .reference(let reference): output += try secrets.value(reference)
            }
        }
        HelperProcess.write(output)
    }
}
