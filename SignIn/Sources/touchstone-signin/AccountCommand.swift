import ArgumentParser
import Foundation
import TouchstoneSignInServer

struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account", abstract: "Add, change, list and remove accounts in a server's database.",
        subcommands: [Add.self, Password.self, List.self, Remove.self])

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add an account. The password is read from the terminal, or from standard input.")
        @OptionGroup var database: DatabaseOptions
        @Argument var name: String

        func run() async throws {
            try await administer(database) {
                try await $0.addAccount(name, password: try PasswordInput.read(for: name))
            }
        }
    }

    struct Password: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set a new password. Every device of the account is revoked, and has to be registered again.")
        @OptionGroup var database: DatabaseOptions
        @Argument var name: String

        func run() async throws {
            try await administer(database) { try await $0.setPassword(try PasswordInput.read(for: name), of: name) }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the names, and when they were added.")
        @OptionGroup var database: DatabaseOptions

        func run() async throws {
            try await administer(database) { administration in
                for account in try await administration.accounts() {
                    print("\(account.createdAt.formatted(.iso8601))\t\(account.name)")
                }
            }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Remove an account with its devices and sessions.")
        @OptionGroup var database: DatabaseOptions
        @Argument var name: String

        func run() async throws {
            try await administer(database) { try await $0.removeAccount(name) }
        }
    }
}

/// Opens the database, does something with it, and says in words what did not work.
func administer(_ database: DatabaseOptions, _ work: (SignInAdministration) async throws -> Void) async throws {
    let store = try await database.open()
    do {
        try await work(try SignInAdministration(store: store))
    } catch {
        try? await store.close()
        throw said(error)
    }
    try await store.close()
}

private func said(_ error: any Error) -> any Error {
    switch error {
    case AdministrationError.name:
        ProgramFailure("a name has 1 to 128 characters, and all of them have to be visible.")
    case AdministrationError.nameTaken:
        ProgramFailure("this account already exists; `touchstone-signin account password` sets a new password.")
    case AdministrationError.noAccount:
        ProgramFailure("there is no such account; `touchstone-signin account list` shows them.")
    case AdministrationError.noSingleDevice(let count):
        ProgramFailure(
            count == 0
                ? "no active device has a key id that begins like that; `touchstone-signin device list` shows them."
                : "\(count) active devices have key ids that begin like that; give more of the key id.")
    case PasswordError.length: ProgramFailure("a password has 1 to 1024 bytes.")
    case StoreError.unavailable(let reason): ProgramFailure("the database does not answer: \(reason)")
    default: error
    }
}
