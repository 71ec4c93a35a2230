import Foundation

/// A command that did not do its work: a sentence that says what to do, and the exit status.
struct Failure: Error, Hashable {
    var status: ExitStatus
    /// A sentence without a full stop; printed after `touchstone: `.
    var message: String

    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }

    /// A system call that failed, by `errno`.
    static func system(_ action: String, code: Int32 = errno) -> Failure {
        Failure(.internalError, "\(action): \(describe(code))")
    }

    static func describe(_ code: Int32) -> String {
        guard let text = unsafe strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }
}

/// Where errors and remarks go.
enum StandardError {
    static func say(_ message: String) {
        write("touchstone: \(message)\n")
    }

    static func write(_ text: String) {
        // Nothing is left to tell it to if this fails.
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }
}

/// Answers go to standard output at once, also where it is a pipe.
enum StandardOutput {
    static func say(_ line: String) {
        write(line + "\n")
    }

    static func write(_ text: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    }

    /// Prints `value` as JSON with sorted keys.
    static func json(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        say(String(decoding: try encoder.encode(value), as: UTF8.self))
    }
}
