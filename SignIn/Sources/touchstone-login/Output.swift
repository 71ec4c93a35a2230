import Foundation

/// Where errors and remarks go.
enum StandardError {
    static func say(_ message: String) { write("touchstone-login: \(message)\n") }

    static func write(_ text: String) {
        // Nothing is left to tell it to if this fails.
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }
}

/// Answers go to standard output at once, also where it is a pipe.
enum StandardOutput {
    static func say(_ line: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
    }

    /// Prints `value` as JSON with sorted keys.
    static func json(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        say(String(decoding: try encoder.encode(value), as: UTF8.self))
    }
}

/// Text from elsewhere, made safe to print.
enum PlainText {
    /// In characters; the rest is cut off visibly.
    static let maximumLength = 200

    static func line(_ text: String) -> String {
        var line = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.prefix(maximumLength) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse:
                line.append("\u{FFFD}")
            default: line.append(scalar)
            }
        }
        if text.unicodeScalars.count > maximumLength { line.append("…") }
        return String(line)
    }

    /// Seconds since 1970, as a date.
    static func date(_ seconds: Int) -> String {
        Date(timeIntervalSince1970: TimeInterval(seconds)).formatted(.iso8601.year().month().day())
    }
}
