import ArgumentParser
import Foundation
import Glibc
import TouchstoneAge
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneMemory

/// `touchstone keychain import`.
struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import a backup of the keychain, on this device or another one.",
        discussion: """
            The command changes nothing before it has checked that the file is complete. An item that the device \
            already has, by its primary key or its reference, stays as it is. With --replace the backup's item \
            replaces it. If an import was cut short, run it again: what came in stays, and the rest follows.

            Items of the classes …ThisDeviceOnly come back on the device from which they were exported. On any other \
            device they are left out. The device has to be unlocked, and the command asks for its passcode. It reads \
            both secrets as 'export' does.
            """)

    @Argument(help: ArgumentHelp("The backup.", valueName: "file"), completion: .file())
    var file: String
    @OptionGroup var option: DeviceOption
    @OptionGroup var passphrase: PassphraseOptions
    @Flag(help: "Replace items that are already there by those of the backup.") var replace = false

    /// Of the payload, for one call.
    private static let pieceBytes = 256 << 10

    func run() throws {
        let device = try BackupSession.connect(option.paths)
        let input = try InputFile(file)
        do {
            var reader = try AgeReader(passphrase: passphrase.current()) { try input.read($0) }
            try Self.verify(reader, input)
            guard var payload = try reader.next() else {
                throw Failure(.configuration, "\(file) is encrypted, but is not a backup of a keychain")
            }
            let key = try BackupPayload.key(&payload, file: file)
            let session = try BackupSession(.import, key: key, device: device)
            defer { session.end() }
            StandardOutput.say(Self.summary(try copy(&reader, beginning: payload, input, to: session)))
        } catch let error as AgeError {
            throw Self.failure(error, file)
        }
    }

    /// Reads the file to its end, and goes back to where the reader was.
    private static func verify(_ reader: AgeReader, _ input: InputFile) throws {
        let position = try input.position
        var reader = reader
        var progress = ProgressLine()
        defer { progress.clear() }
        while try reader.next() != nil { try progress.show("checking \(input.percent) %") }
        try input.seek(to: position)
    }

    private func copy(
        _ reader: inout AgeReader, beginning: Data, _ input: InputFile, to session: BackupSession
    ) throws -> BackupInterface.ImportCounts {
        var counts = BackupInterface.ImportCounts()
        var progress = ProgressLine()
        defer { progress.clear() }
        var piece = beginning
        var offset = 0
        var isWhole = true
        func send() throws {
            let reply = try session.device.call(
                BackupInterface.Import.self,
                .init(session: session.identifier, offset: offset, records: piece, replaces: replace))
            offset += piece.count
            piece = Data()
            isWhole = reply.isWhole
            counts.added += reply.counts.added
            counts.replaced += reply.counts.replaced
            counts.kept += reply.counts.kept
            counts.foreign += reply.counts.foreign
            counts.damaged += reply.counts.damaged
            try progress.show("importing \(input.percent) %")
        }
        while let part = try reader.next() {
            piece.append(part)
            if piece.count >= Self.pieceBytes { try send() }
        }
        // Also where nothing is left: a session that is not there has to be heard of.
        try send()
        guard isWhole else { throw Failure(.configuration, "\(file) ends in the middle of an item") }
        return counts
    }

    static func summary(_ counts: BackupInterface.ImportCounts) -> String {
        var parts = ["\(counts.added) added", "\(counts.replaced) replaced", "\(counts.kept) kept as they were"]
        if counts.foreign > 0 {
            parts.append(
                "\(counts.foreign) left out, because they open only on the device from which they were exported")
        }
        if counts.damaged > 0 { parts.append("\(counts.damaged) left out, because this version cannot read them") }
        return parts.joined(separator: "; ")
    }

    static func failure(_ error: AgeError, _ file: String) -> Failure {
        switch error {
        case .notAge: Failure(.configuration, "\(file) is not a backup, because it is not in the age format")
        case .unsupported:
            Failure(
                .configuration, "\(file) is not a backup, because it is not encrypted with exactly one passphrase")
        case .tooExpensive(let workFactor):
            Failure(
                .configuration,
                "\(file) needs too much memory to be opened (work factor \(workFactor), at most \(AgeFormat.maximumWorkFactor))"
            )
        case .wrongPassphrase: Failure(.wrongPasscode, "the passphrase does not open \(file); nothing changed")
        case .damaged: Failure(.configuration, "\(file) is damaged; nothing changed")
        case .truncated: Failure(.configuration, "\(file) is not complete, because its end is missing; nothing changed")
        case .noMemory:
            Failure(.internalError, "there is not enough memory to derive a key from the passphrase")
        }
    }
}

/// A file that is read forwards.
private final class InputFile {
    private let path: String
    private let descriptor: Int32
    private let size: Int

    init(_ path: String) throws {
        self.path = path
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(.no, "\(path): \(Failure.describe(errno))") }
        var facts = stat()
        guard unsafe fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw Failure(.configuration, "\(path) is not a file")
        }
        size = Int(facts.st_size)
    }

    deinit { close(descriptor) }

    func read(_ count: Int) throws -> Data {
        var bytes = Data(count: count)
        while true {
            let got = unsafe bytes.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress!, count) }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw Failure.system(path) }
            return bytes.prefix(got)
        }
    }

    var position: Int {
        get throws {
            let position = lseek(descriptor, 0, SEEK_CUR)
            guard position >= 0 else { throw Failure.system(path) }
            return position
        }
    }

    var percent: Int { get throws { try position * 100 / max(1, size) } }

    func seek(to position: Int) throws {
        guard lseek(descriptor, position, SEEK_SET) == position else { throw Failure.system(path) }
    }
}
