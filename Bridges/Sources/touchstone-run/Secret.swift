import ArgumentParser
import CredentialProtocol
import CredentialsClient
import Foundation
import Glibc

/// What is kept for commands (EX-6).
struct Secret: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Keep, list and remove secrets.", subcommands: [Set.self, List.self, Remove.self])

    struct Set: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Keep a secret, from standard input or from a hidden prompt.",
            discussion: """
                A line feed at the end is not part of it. A secret is never an argument: other programs can read those.

                Example: touchstone secret set touchstone://npm/token
                """)

        @Argument(help: "touchstone://SERVICE/ACCOUNT")
        var reference: SecretReference

        func run() throws {
            guard reference.field == nil else {
                throw CommandFailure("a field cannot be set by itself: set the whole secret")
            }
            var secret = try isatty(0) == 0 ? HelperProcess.input(CredentialMessages.maximumSecretCount + 1) : typed()
            if secret.last == 0x0A { secret.removeLast() }
            guard !secret.isEmpty else { throw CommandFailure("the secret is empty") }
            guard secret.count <= CredentialMessages.maximumSecretCount else {
                throw CommandFailure("a secret has at most 64 KiB")
            }
            var parameters = CredentialMessages.Parameters()
            parameters.item = OpenedSecrets.item(reference)
            parameters.secret = Data(secret)
            try call("Store", parameters)
        }

        private func typed() throws -> [UInt8] {
            var before = termios()
            guard unsafe tcgetattr(0, &before) == 0 else {
                throw CommandFailure("the terminal cannot hide what you type")
            }
            var hidden = before
            hidden.c_lflag &= ~tcflag_t(ECHO)
            guard unsafe tcsetattr(0, TCSAFLUSH, &hidden) == 0 else {
                throw CommandFailure("the terminal cannot hide what you type")
            }
            defer { _ = unsafe tcsetattr(0, TCSAFLUSH, &before) }
            HelperProcess.write(Array("Secret: ".utf8), to: 2)
            let line = readLine(strippingNewline: true) ?? ""
            HelperProcess.write([0x0A], to: 2)
            return Array(line.utf8)
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the references of what is kept.")

        @Flag(help: "As JSON.")
        var json = false

        func run() throws {
            var parameters = CredentialMessages.Parameters()
            parameters.item = .init(kind: .secret, place: "")
            let items = try call("List", parameters).items ?? []
            let references = items.compactMap { item in
                item.account.flatMap { SecretReference(service: item.place, account: $0)?.description }
            }.sorted()
            if json {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.withoutEscapingSlashes]
                HelperProcess.write(Array(try encoder.encode(references)) + [0x0A])
            } else {
                HelperProcess.write(Array(references.map { $0 + "\n" }.joined().utf8))
            }
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Remove a secret, after the owner was asked.")

        @Argument(help: "touchstone://SERVICE/ACCOUNT")
        var reference: SecretReference

        func run() throws {
            var parameters = CredentialMessages.Parameters()
            parameters.item = OpenedSecrets.item(reference)
            try call("Erase", parameters)
        }
    }
}

@discardableResult
private func call(_ method: String, _ parameters: CredentialMessages.Parameters) throws -> CredentialMessages.Results {
    do throws(CredentialMessages.Failure) {
        return try CredentialsClient.call(method, parameters)
    } catch {
        throw CommandFailure(error)
    }
}
