import ArgumentParser
import Foundation
import TouchstoneCore

/// `touchstone item add`.
struct AddItemCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Keep a secret, from a hidden prompt or from standard input.",
        discussion: """
            The secret is never an argument, because other programs can read those. A line feed at the end is not a \
            part of it. Adding asks for no finger. With --replace you are asked before another secret goes in the \
            place of the one that is there.

            Examples:
              touchstone item add github.com octocat
              head -c 24 /dev/urandom | base64 | touchstone item add backup disk
            """)

    @Argument(help: "What it is for, such as github.com.") var service: String
    @Argument(help: "Whose it is there, such as octocat.") var account: String
    @Option(help: ArgumentHelp("A name for the list (default: the service).", valueName: "text")) var label: String?
    @Flag(help: "Store over the secret that is there.") var replace = false
    @Flag(help: "Say as JSON what was kept, without the secret.") var json = false
    @OptionGroup var option: DeviceOption

    func validate() throws {
        guard ItemName(service: service, account: account) != nil else {
            throw ValidationError(
                "a service and an account have 1 to \(ItemName.maximumPartBytes) bytes, without control characters")
        }
        guard label.map({ (1...ItemName.maximumPartBytes).contains($0.utf8.count) }) ?? true else {
            throw ValidationError("a label has 1 to \(ItemName.maximumPartBytes) bytes")
        }
    }

    func run() throws {
        guard let name = ItemName(service: service, account: account) else { return }
        let store = try ItemStore(option.paths)
        // Before anybody types: what cannot be done needs no secret.
        let entry = try store.entries().first { $0.name == name }
        if entry != nil, !replace {
            throw Failure(.no, "there already is a secret of \(name); --replace stores over it")
        }
        if entry != nil, label != nil {
            throw Failure(.usage, "--label is for a new secret; remove the old one first")
        }
        let secret = try SecretEntry.new()
        if let entry {
            try store.replace(entry, secret)
        } else {
            try store.add(name, label: label, secret)
        }
        if json {
            return try StandardOutput.json(ShownItem(name, label: entry?.label ?? label ?? service, modified: nil))
        }
        StandardOutput.say("kept; commands call it \(name.reference)")
    }
}

/// A secret as JSON, without the secret.
struct ShownItem: Encodable {
    var service: String
    var account: String
    var label: String
    /// `touchstone://SERVICE/ACCOUNT`.
    var reference: String
    /// ISO 8601.
    var modified: String?

    init(_ name: ItemName, label: String, modified: Double?) {
        service = name.service
        account = name.account
        self.label = label
        reference = name.reference
        self.modified = modified.map { Date(timeIntervalSinceReferenceDate: $0).ISO8601Format() }
    }
}
