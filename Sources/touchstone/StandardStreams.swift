import Foundation

/// Where errors and remarks go.
enum StandardError {
    static func say(_ message: String) {
        write("\(program): \(message)\n")
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
