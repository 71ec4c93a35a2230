import Glibc
import TouchstoneCore
import TouchstoneDevice

/// Asks for passcodes: at a terminal without echo, else one line each from standard input.
///
/// Never from the command line, which every program on the machine can read.
enum PasscodeEntry {
    static func current() throws -> PasscodeBuffer {
        try read("Passcode: ")
    }

    /// At a terminal it is asked for twice.
    static func new() throws -> PasscodeBuffer {
        let passcode = try read("New passcode: ")
        if Terminal.isInput {
            let again = try read("Repeat the new passcode: ")
            guard passcode.equals(again) else {
                throw Failure(.cancelled, "the two entries differ; nothing changed")
            }
        }
        return passcode
    }

    private static func read(_ question: String) throws -> PasscodeBuffer {
        guard Terminal.isInput else { return try line() }
        return try Terminal.withoutEcho {
            StandardError.write(question)
            defer { StandardError.write("\n") }
            return try line()
        }
    }

    private static func line() throws -> PasscodeBuffer {
        guard let passcode = PasscodeBuffer(lineFrom: STDIN_FILENO) else {
            throw Failure(
                .cancelled, "no passcode was entered: give one line for each on standard input, the current one first")
        }
        guard passcode.count > 0 else { throw Failure(.cancelled, "a passcode cannot be empty; nothing changed") }
        guard !passcode.isTooLong else {
            throw Failure(.refused, "the passcode is longer than \(SealedPasscode.maximumPasscodeLength) bytes")
        }
        return passcode
    }
}

extension PasscodeBuffer {
    /// Reads byte by byte, so that the rest is left for the next reader and no buffer of the library keeps a copy.
    ///
    /// nil if there is nothing to read any more.
    convenience init?(lineFrom descriptor: Int32) {
        self.init()
        var isEmptyInput = true
        while true {
            var byte: UInt8 = 0
            let count = unsafe Glibc.read(descriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            isEmptyInput = false
            if byte == UInt8(ascii: "\n") { break }
            append(byte)
        }
        if isEmptyInput { return nil }
    }
}
