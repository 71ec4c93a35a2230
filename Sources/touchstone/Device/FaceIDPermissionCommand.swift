import ArgumentParser
import TouchstoneCore
import TouchstoneInterfaces

/// `touchstone device face-id-permission`.
struct FaceIDPermissionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "face-id-permission",
        abstract: "Show or change which apps may use Face ID.",
        discussion: """
            If an app has no answer yet, the owner is asked when it first wants to use Face ID. An app that was denied \
            can use the passcode if that is enough, and fails if it is not.
            """,
        subcommands: [List.self, Allow.self, Deny.self, Reset.self])

    /// `touchstone device face-id-permission list`.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the apps that were allowed or denied, one on each line.")

        @Flag(help: "As JSON.") var json = false
        @OptionGroup var option: DeviceArgument

        func run() throws {
            let permissions = try DeviceClient(option.paths)
                .call(DeviceInterface.ListFaceIDPermissions.self).permissions
            if json { return try StandardOutput.json(permissions.map { try JSONValue($0) }) }
            let rows = permissions.map { [$0.isAllowed ? "allowed" : "denied", PlainText.line($0.app.rawValue)] }
            for line in Table.lines(rows) { StandardOutput.say(line) }
        }
    }

    /// `touchstone device face-id-permission allow`.
    struct Allow: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "allow", abstract: "Allow an app to use Face ID.")

        @OptionGroup var change: Change
        func run() throws { try change.set(true) }
    }

    /// `touchstone device face-id-permission deny`.
    struct Deny: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "deny", abstract: "Forbid an app to use Face ID.")

        @OptionGroup var change: Change
        func run() throws { try change.set(false) }
    }

    /// `touchstone device face-id-permission reset`.
    struct Reset: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "reset", abstract: "Forget the answer for an app, so that the owner is asked again.")

        @OptionGroup var change: Change
        func run() throws { try change.set(nil) }
    }

    struct Change: ParsableArguments {
        @Argument(
            help: "The application identifier, as prompts show it: a path, flatpak:org.example.App, …",
            completion: .apps)
        var app: String
        @OptionGroup var option: DeviceOption

        func validate() throws {
            guard (1...1024).contains(app.utf8.count) else {
                throw ValidationError("an application identifier is 1 to 1024 bytes")
            }
        }

        func set(_ isAllowed: Bool?) throws {
            _ = try DeviceClient(option.paths)
                .call(DeviceInterface.SetFaceIDPermission.self, .init(app: AppIdentifier(app), isAllowed: isAllowed))
        }
    }
}
