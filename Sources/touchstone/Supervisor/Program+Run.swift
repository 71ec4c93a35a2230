import Foundation
import Glibc

extension Program {
    /// Runs the program to its end, with this command's standard output and error.
    ///
    /// With `input` it gets this command's standard input too; else it has none.
    func run(_ arguments: [String], input: Bool = false) throws -> Child.Ending {
        try Child.start(
            try locate(), arguments,
            inheriting: [
                (STDIN_FILENO, input ? .descriptor(STDIN_FILENO) : .file("/dev/null", flags: O_RDONLY)),
                (STDOUT_FILENO, .descriptor(STDOUT_FILENO)), (STDERR_FILENO, .descriptor(STDERR_FILENO)),
            ], flags: 0
        ).wait()
    }

    /// Has the enclave take away what its state directory has in a TPM; whether that went well.
    func forget(_ enclave: URL) throws -> Bool { try run(["forget", "--state", enclave.path]) == .exited(0) }
}
