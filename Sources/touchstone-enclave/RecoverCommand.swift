import ArgumentParser
import Crypto
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneFileRoot
import TouchstoneMemory
import TouchstoneSystem
import TouchstoneTPMRoot

/// Moves a device to another TPM, or the same one after it was cleared.
struct RecoverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover", abstract: "Moves a device to another TPM, or to its own after that was cleared.",
        discussion: """
            One line of standard input is the recovery key, the next the passcode, where one is set:
              touchstone-enclave recover --state ~/device/enclave
            """)

    @OptionGroup var stateOptions: StateOptions
    @Option(
        help: ArgumentHelp(
            "The TPM: device:PATH or swtpm:path=SOCKET; without it, the one that it had.", valueName: "address"))
    var tpm: String?

    func run() throws {
        let directory = stateOptions.state
        let paths = EnclaveFiles(directory)
        let lock = try EnclaveProgram.lock(directory)
        defer { close(lock) }
        let file = PrivateFile(paths.state)
        guard let state = try file.load() else { throw EnclaveStateError.missing }
        guard let recoveryKey = RecoveryKey(text: try Self.line("Recovery key: ")) else {
            throw InputError(
                description: "that is not a recovery key, which has 32 letters and digits in groups of four")
        }
        let recovering = PrivateFile(paths.recoveringTPM)
        defer { if (try? recovering.load())?.isEmpty == true { unsafe unlink(paths.recoveringTPM.path) } }
        try TPMRoot.recover(
            PrivateFile(paths.rootTPM), recovering: recovering, address: tpm,
            recoveryKey: recoveryKey
        ) { root, revision in
            let passcode = try Enclave.hasPasscode(stateFile: state, root: root) ? Self.line("Passcode: ") : nil
            try file.replace(
                Enclave.recovered(
                    stateFile: state, root: root, recoveryKey: recoveryKey.privateKey, passcode: passcode,
                    revision: revision))
        }
    }

    /// One line of standard input, byte by byte: no buffer of a library's keeps a copy.
    static func line(_ question: String) throws -> SecretBytes {
        if isatty(STDERR_FILENO) == 1 { FileHandle.standardError.write(Data(question.utf8)) }
        defer { if isatty(STDERR_FILENO) == 1 { FileHandle.standardError.write(Data("\n".utf8)) } }
        var bytes = ContiguousArray<UInt8>(repeating: 0, count: maximumLine)
        defer { for index in bytes.indices { bytes[index] = 0 } }
        var count = 0
        while count < maximumLine {
            let got = unsafe bytes.withUnsafeMutableBytes {
                unsafe Glibc.read(STDIN_FILENO, $0.baseAddress! + count, 1)
            }
            if got < 0, errno == EINTR { continue }
            guard got > 0 || count > 0 else {
                throw InputError(description: "standard input ended before the answer")
            }
            if got == 0 || bytes[count] == 0x0A { break }
            count += 1
        }
        return SecretBytes(bytes.prefix(count))
    }

    private static let maximumLine = 512
}
