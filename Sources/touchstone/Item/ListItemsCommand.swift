import ArgumentParser
import TouchstoneCore

/// `touchstone item list`.
struct ListItemsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List what is kept, without the secrets.",
        discussion: "If the device is locked, you are asked to unlock it.")

    @Flag(help: "As JSON: an array of objects with service, account, label, reference and modified.") var json = false
    @OptionGroup var option: DeviceOption

    func run() throws {
        let entries = try ItemStore(option.paths).entries()
        guard !json else {
            return try StandardOutput.json(entries.map { ShownItem($0.name, label: $0.label, modified: $0.modified) })
        }
        guard !entries.isEmpty else {
            return StandardError.say("nothing is kept; 'touchstone item add' keeps a secret")
        }
        let rows = entries.map { [$0.name.service, $0.name.account, $0.label].map(PlainText.line) }
        for line in Table.lines([["SERVICE", "ACCOUNT", "LABEL"]] + rows) { StandardOutput.say(line) }
    }
}
