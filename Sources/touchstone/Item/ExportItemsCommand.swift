import ArgumentParser
import Foundation
import TouchstoneCore
import TouchstoneDevice

/// `touchstone item export`.
struct ExportItemsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write all of your secrets into a CSV file, after you were asked once.",
        discussion: """
            Other password managers import the file, and so does 'touchstone item import'. Other users cannot read it, \
            but all of your programs can, because it is not encrypted. Delete it when you have used it. Passwords of \
            git, docker and desktop programs are not in it.

            Example:
              touchstone item export passwords.csv
            """)

    @Argument(help: ArgumentHelp("The file to write.", valueName: "file"), completion: .file())
    var file: String
    @Flag(name: .shortAndLong, help: "Replace the file if it exists.") var force = false
    @OptionGroup var option: DeviceOption

    func run() throws {
        let store = try ItemStore(option.paths)
        let entries = try store.entries()
        guard !entries.isEmpty else { throw Failure(.no, "nothing is kept, so no file was written") }
        // Before anybody is asked: what cannot be written needs no secret.
        let output = try NewFile(file, replaces: force)
        try output.write(PasswordList.firstLine)
        var leftOut: [ItemName] = []
        try store.secrets(entries, to: "write \(entries.count) secrets into \(output.path)") { entry, secret in
            let line = unsafe secret?.withUnsafeBytes {
                unsafe PasswordList.line(entry.name, label: entry.label, secret: $0)
            }
            guard var line = line ?? nil else { return leftOut.append(entry.name) }
            defer { line.resetBytes(in: line.startIndex..<line.endIndex) }
            try output.write(line)
        }
        try output.place()
        StandardOutput.say("\(entries.count - leftOut.count) written; \(leftOut.count) left out")
        for name in leftOut {
            StandardOutput.say("  \(name): its secret is gone, or it is not text; 'touchstone item show' says more")
        }
        StandardOutput.say(
            "Everybody who can read \(PlainText.line(file)) has these passwords. Delete it with 'rm' when you have used it."
        )
    }
}
