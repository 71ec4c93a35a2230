import ArgumentParser
import Foundation
import TouchstoneCore
import TouchstoneInterfaces

/// `touchstone sync history`.
struct SyncHistoryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "List versions of items that another device replaced or deleted, and put one back.",
        discussion: """
            If two devices change an item at once, the newer change wins. The device that had the other version keeps it \
            for 30 days, and up to ten of each item. Other devices do not list it. The command asks for this device's \
            passcode. --restore puts a version back as the newest one, on all devices. What it replaces is kept in turn. \
            No password is shown.

            Examples:
              touchstone sync history
              touchstone sync history --restore 3

            Exit status: 0 there is a list, or the version is back; 1 there is no such version, or this device is in no \
            circle; 5 the device is locked; 6 the passcode is wrong.
            """)

    @Option(help: ArgumentHelp("Put the version of this number back.", valueName: "number")) var restore: Int64?
    @Flag(help: "As JSON: an array of objects.") var json = false
    @OptionGroup var option: DeviceOption

    func validate() throws {
        guard restore == nil || !json else { throw ValidationError("--json is for the list") }
    }

    func run() throws {
        let circle = try CircleClient(option.paths)
        _ = try circle.circle()
        if let restore {
            try circle.change(SyncInterface.Restore.self, for: .restoreVersion(number: restore)) {
                .init(number: restore, passcode: $0)
            }
            return StandardOutput.say(
                "Version \(restore) is the newest one again, here at once and soon on your other devices.")
        }
        let versions = try circle.change(SyncInterface.ListReplaced.self, for: .showHistory) { .init(passcode: $0) }
            .versions
        if json { return try StandardOutput.json(versions.map { try JSONValue($0) }) }
        guard !versions.isEmpty else {
            return StandardOutput.say("No other device replaced or deleted anything here in the last 30 days.")
        }
        Self.lines(versions).forEach(StandardOutput.say)
        StandardOutput.say("To put one back: touchstone sync history --restore NUMBER")
    }

    static func lines(_ versions: [SyncInterface.ReplacedVersion]) -> [String] {
        Table.lines(
            [["Number", "Item", "Account", "Written", "By", "Replaced"]]
                + versions.map { version in
                    [
                        "\(version.number)", PlainText.line(version.place ?? version.label ?? version.itemClass),
                        PlainText.line(version.account ?? "-"), time(version.writtenAt),
                        PlainText.line(version.writerName ?? "a removed device"), time(version.replacedAt),
                    ]
                })
    }

    private static func time(_ seconds: Double) -> String {
        Date(timeIntervalSinceReferenceDate: seconds).formatted(.iso8601)
    }
}
