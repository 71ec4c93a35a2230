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

    /// Runs the program to its end, without input; what it has written to standard output.
    func output(_ arguments: [String]) throws -> (ending: Child.Ending, output: Data) {
        try Child.output(try locate(), arguments)
    }

    /// Lets the enclave remove what its state directory has in a TPM, and says whether that worked.
    func forget(_ enclave: URL) throws -> Bool { try run(["forget", "--state", enclave.path]) == .exited(0) }
}

extension Child {
    /// Runs a program to its end, without input; what it has written to standard output.
    static func output(_ path: String, _ arguments: [String]) throws -> (ending: Ending, output: Data) {
        let (reading, writing) = try pipe()
        let handle = FileHandle(fileDescriptor: reading, closeOnDealloc: true)
        let child: Child
        do {
            defer { close(writing) }
            child = try start(
                path, arguments,
                inheriting: [
                    (STDIN_FILENO, .file("/dev/null", flags: O_RDONLY)), (STDOUT_FILENO, .descriptor(writing)),
                    (STDERR_FILENO, .descriptor(STDERR_FILENO)),
                ], flags: 0)
        }
        let output = (try? handle.readToEnd()) ?? Data()
        return (child.wait(), output)
    }
}
