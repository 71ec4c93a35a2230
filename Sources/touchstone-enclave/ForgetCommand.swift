import ArgumentParser
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneFileRoot
import TouchstoneSystem
import TouchstoneTPMRoot

/// Takes away what a device has in its TPM.
struct ForgetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget", abstract: "Takes away what a device has in its TPM.",
        discussion: """
            `touchstone device delete` starts it, before the directory goes:
              touchstone-enclave forget --state ~/device/enclave
            """)

    @OptionGroup var stateOptions: StateOptions

    func run() throws {
        let directory = stateOptions.state
        let lock = try EnclaveProgram.lock(directory)
        defer { close(lock) }
        let paths = EnclaveFiles(directory)
        let recovering = Result { try TPMRoot.forget(PrivateFile(paths.recoveringTPM)) }
        try TPMRoot.forget(PrivateFile(paths.rootTPM))
        try recovering.get()
    }
}
