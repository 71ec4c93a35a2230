import ArgumentParser
import Foundation
import TouchstoneAge
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneMemory

/// `touchstone keychain export`.
struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write an encrypted backup of the keychain.",
        discussion: """
            The file is in the age format (age-encryption.org/v1), encrypted with a passphrase. Anybody who has both \
            can read what is in it. The device has to be unlocked, and the command asks for its passcode.

            The backup has the items of all apps. It leaves out items that need the owner (access control), items that \
            require a passcode to be set, and keys of the enclave. Items of the classes …ThisDeviceOnly are in it too, \
            and come back on this device only.

            The command asks for the passphrase at the terminal, twice, or reads it from --passphrase-fd. It reads the \
            passcode from the terminal, or from standard input.
            """)

    @Argument(help: ArgumentHelp("The file to write.", valueName: "file"), completion: .file())
    var file: String
    @OptionGroup var option: DeviceOption
    @OptionGroup var passphrase: PassphraseOptions
    @Flag(name: .shortAndLong, help: "Replace the file if it exists.") var force = false

    func run() throws {
        let device = try BackupSession.connect(option.paths)
        let output = try NewFile(file, replaces: force)
        let passphrase = try passphrase.new()
        let key = SecretBytes.random(count: BackupInterface.keyBytes)
        let session = try BackupSession(.export, key: key, device: device)
        defer { session.end() }
        let counts: BackupInterface.ExportCounts
        do {
            var writer = try AgeWriter(passphrase: passphrase) { try output.write($0) }
            try writer.write(BackupPayload.head(key))
            counts = try Self.copy(session, to: &writer)
            try writer.finish()
        } catch AgeError.noMemory {
            throw Failure(.internalError, "there is not enough memory to derive a key from the passphrase (256 MiB)")
        }
        try output.place()
        StandardOutput.say(Self.summary(counts, file: file))
    }

    private static func copy(_ session: BackupSession, to writer: inout AgeWriter) throws
        -> BackupInterface.ExportCounts
    {
        var counts = BackupInterface.ExportCounts()
        var after: Int64?
        var progress = ProgressLine()
        defer { progress.clear() }
        var total = 0
        while true {
            let page = try session.device.call(
                BackupInterface.Export.self, .init(session: session.identifier, after: after))
            try writer.write(page.records)
            if after == nil { total = page.total }
            counts.exported += page.counts.exported
            counts.thisDeviceOnly += page.counts.thisDeviceOnly
            counts.excluded += page.counts.excluded
            counts.damaged += page.counts.damaged
            let done = counts.exported + counts.excluded + counts.damaged
            progress.show("\(done) of \(total) items")
            guard let next = page.next else { return counts }
            after = next
        }
    }

    static func summary(_ counts: BackupInterface.ExportCounts, file: String) -> String {
        var parts = ["\(counts.exported) exported"]
        if counts.thisDeviceOnly > 0 { parts[0] += " (\(counts.thisDeviceOnly) for this device only)" }
        if counts.excluded > 0 {
            parts.append("\(counts.excluded) left out, because they need the owner or a set passcode")
        }
        if counts.damaged > 0 {
            parts.append("\(counts.damaged) left out, because they are damaged; see 'touchstone keychain check'")
        }
        return parts.joined(separator: "; ")
    }
}
