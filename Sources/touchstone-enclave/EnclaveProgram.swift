import ArgumentParser
import CTouchstoneSystem
import CTouchstoneWiping
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneFileRoot

/// The process that holds the keys and judges the owner.
///
/// It has no database, opens no socket but to its sensor's bus, and hears only touchstoned and its sensor.
@main
struct EnclaveProgram: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "touchstone-enclave",
        abstract: "Holds the keys of one Touchstone device and judges its owner.",
        discussion: """
            `touchstone device create` and `touchstone device boot` start it so:
              touchstone-enclave create --state ~/device/enclave --simulated --biometry touchid
              touchstone-enclave run --state ~/device/enclave

            EXIT STATUS
              0   stopped, or done
              64  usage
              70  internal
              78  the state cannot be used as it is
            """,
        version: TouchstoneVersion.current,
        subcommands: [CreateCommand.self, RunCommand.self, RecoverCommand.self, ForgetCommand.self])

    func run() throws { throw ValidationError("Say what to do: create, run, recover or forget.") }

    static func main() {
        let hardened = touchstone_harden_process()
        guard hardened == 0 else { fail("cannot harden this process (errno \(hardened))", EX_SOFTWARE) }
        _ = touchstone_wipes_memory()
        _ = touchstone_lock_all_memory()
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch let error as EnclaveStateError {
            fail(error.explanation, EX_CONFIG)
        } catch {
            // What the parser says has a status of its own: of help, and of what was typed wrong.
            guard exitCode(for: error) == .failure else { exit(withError: error) }
            fail("\(error)", EX_CONFIG)
        }
    }

    static func fail(_ message: String, _ status: Int32) -> Never {
        say(message)
        Foundation.exit(status)
    }

    static func say(_ message: String) {
        FileHandle.standardError.write(Data("touchstone-enclave: \(message)\n".utf8))
    }

    /// Held for as long as this process lives: two enclaves over one state would each undo what the other counted.
    static func lock(_ directory: URL) throws -> Int32 {
        try PrivateFile.checkPrivate(directory: directory)
        let lock = unsafe open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            fail("another enclave already uses \(directory.path)", EX_CONFIG)
        }
        return lock
    }
}

/// The directory of a device's enclave.
struct StateOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The private directory of the enclave's state.", valueName: "directory"),
        transform: { URL(fileURLWithPath: $0) })
    var state: URL
}

/// What was given to this program cannot be used.
struct InputError: Error, CustomStringConvertible { let description: String }

extension EnclaveStateError {
    /// What is wrong, and what to do.
    fileprivate var explanation: String {
        switch self {
        case .missing: "there is no state file; create the device first"
        case .corrupt: "the state file belongs to another device or was changed; nothing was done to it"
        case .rolledBack:
            "the state file is older than one that was here before. It was put back from a copy, which would give passcode "
                + "tries back. Put the newest one in its place. To continue with this one instead, restart the machine or log out; "
                + "if the device is bound to a TPM, run 'touchstone device recover' with its recovery key"
        case .newer(let version): "the state file has version \(version); update Touchstone"
        }
    }
}
