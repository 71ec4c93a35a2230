import ArgumentParser
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneDevice

/// `touchstone item import`.
struct ImportItemsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import passwords from a CSV file of KeePassXC, 1Password, Bitwarden or Touchstone.",
        discussion: """
            The first line says whose file it is. The service of a password is the host of its address, or its title \
            if it has no address. One that is there already stays as it is, so the command can be run again. Notes, \
            one-time codes and cards are not imported. Nobody is asked. The file keeps its passwords: delete it \
            afterwards.
            """)

    @Argument(help: ArgumentHelp("The file.", valueName: "file"), completion: .file())
    var file: String
    @OptionGroup var option: DeviceOption

    /// Most reasons that are shown.
    private static let mostReasons = 20

    func run() throws {
        let store = try ItemStore(option.paths)
        let passwords: PasswordList
        do throws(CSVError) {
            passwords = try PasswordList(CSVTable(Self.bytes(of: file)))
        } catch {
            throw Failure(.configuration, "\(PlainText.line(file)): \(error); nothing was imported")
        }
        var leftOut = passwords.leftOut
        var names = Set(try store.entries().map(\.name))
        let before = names
        var taken = 0
        var progress = ProgressLine()
        defer { progress.clear() }
        for password in passwords.all {
            guard names.insert(password.name).inserted else {
                let why = before.contains(password.name) ? "is kept already" : "is in the file twice"
                leftOut.append((password.line, "\(password.name) \(why)"))
                continue
            }
            try store.add(password.name, label: password.label, SecretBuffer(password.secret.utf8))
            taken += 1
            progress.show("\(taken) of \(passwords.all.count)")
        }
        progress.clear()
        StandardOutput.say("\(taken) imported from \(passwords.source.rawValue); \(leftOut.count) left out")
        leftOut.sort { $0.line < $1.line }
        for (line, reason) in leftOut.prefix(Self.mostReasons) { StandardOutput.say("  line \(line): \(reason)") }
        if leftOut.count > Self.mostReasons { StandardOutput.say("  and \(leftOut.count - Self.mostReasons) more") }
        if passwords.withMore > 0 {
            StandardOutput.say("\(passwords.withMore) have notes or one-time codes, which are not imported")
        }
        StandardOutput.say(
            "\(PlainText.line(file)) still has all of its passwords, for everybody to read who has the file. Look at "
                + "'touchstone item list', then delete the file with 'rm', and delete copies of it in backups, too.")
    }

    private static func bytes(of file: String) throws(CSVError) -> [UInt8] {
        let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .unreadable(Failure.describe(errno)) }
        defer { close(descriptor) }
        var all: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while all.count <= CSVTable.maximumBytes {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .unreadable(Failure.describe(errno)) }
            if count == 0 { break }
            all += chunk[..<count]
        }
        return all
    }
}
