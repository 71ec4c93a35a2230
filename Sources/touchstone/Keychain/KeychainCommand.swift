import ArgumentParser

/// `touchstone keychain`: the keychain as a whole.
struct KeychainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keychain",
        abstract: "Back up the keychain, import a backup, look for damage, limit what apps keep.",
        subcommands: [ExportCommand.self, ImportCommand.self, CheckCommand.self, QuotaCommand.self])
}
