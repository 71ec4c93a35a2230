import ArgumentParser

/// `touchstone log`.
struct LogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Show who asked a device for what, what its owner proved, and what came of it.",
        discussion: """
            The enclave writes the log; each entry has a code of its own and that of the one before, so that 'touchstone log \
            verify' finds an entry that was changed, removed, added or moved. It never has a secret, a passcode, an \
            app's words or the name of an item.
            """,
        subcommands: [ShowLogCommand.self, VerifyLogCommand.self], defaultSubcommand: ShowLogCommand.self)
}
