import ArgumentParser

/// `touchstone log`.
struct LogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Show which app asked a device for what, what its owner proved, and the result.",
        discussion: """
            The enclave writes the log. Each entry has its own code and the code of the entry before, so 'touchstone \
            log verify' finds an entry that was changed, removed, added or moved. The log never has a secret, a \
            passcode, an app's words or the name of an item.
            """,
        subcommands: [ShowLogCommand.self, VerifyLogCommand.self], defaultSubcommand: ShowLogCommand.self)
}
