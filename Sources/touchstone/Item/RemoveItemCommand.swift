import ArgumentParser
import TouchstoneCore

/// `touchstone item remove`.
struct RemoveItemCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a secret for good.",
        discussion: "Asks first at a terminal. Without a terminal it needs --yes.")

    @OptionGroup var item: ItemArguments
    @Flag(name: .shortAndLong, help: "Do not ask.") var yes = false

    func run() throws {
        let store = try ItemStore(item.option.paths)
        let entry = try store.entry(item.service, item.account)
        if !yes { try confirm(entry.name) }
        try store.remove(entry)
        StandardOutput.say("removed the secret of \(entry.name)")
    }

    private func confirm(_ name: ItemName) throws {
        guard Terminal.isInput else {
            throw Failure(
                .cancelled, "the secret of \(name) was not removed, because there is no terminal to ask at; use --yes")
        }
        StandardError.write("Remove the secret of \(name) for good? [y/N] ")
        guard ["y", "yes"].contains((readLine() ?? "").lowercased()) else {
            throw Failure(.cancelled, "the secret of \(name) was not removed")
        }
    }
}
