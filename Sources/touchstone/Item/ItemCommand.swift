import ArgumentParser

/// `touchstone item`: passwords and other secrets of a person.
struct ItemCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "item",
        abstract: "Keep passwords and other secrets. You are asked before one is shown or copied.",
        discussion: """
            A secret has the name of what it is for, the service, and of whose it is there, the account. Commands \
            call it touchstone://SERVICE/ACCOUNT.

            Examples:
              touchstone item add github.com octocat
              touchstone item show github.com
              touchstone item copy github.com octocat
              touchstone item import passwords.csv
            """,
        subcommands: [
            AddItemCommand.self, ListItemsCommand.self, ShowItemCommand.self, CopyItemCommand.self,
            RemoveItemCommand.self, ImportItemsCommand.self, ExportItemsCommand.self,
        ])
}

/// `SERVICE [ACCOUNT]`, of an item that is there.
struct ItemArguments: ParsableArguments {
    @Argument(help: "What it is for.") var service: String
    @Argument(help: "Whose it is there. You may leave it out if the service has only one.") var account: String?
    @OptionGroup var option: DeviceOption
}
