import Foundation
import TouchstoneCore

/// Answers written down beforehand, or as they come.
struct AgentScript: Equatable {
    enum Answer: Equatable {
        case cancel, fallback, retry, wait, ignore
        /// Whether the app may use Face ID.
        case permission(Bool)
        case passcode(String)
        case password(String)
    }

    private(set) var answers: [Answer] = []
    /// Lines read so far.
    private var lines = 0

    /// A script without a line.
    init() {}

    /// - Throws: `Failure` (`usage`) with the number of a line that is no answer.
    init(parsing text: String) throws {
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) { try append(line) }
    }

    /// Reads a file to its end.
    init(contentsOf file: String) throws {
        let data: Data
        do {
            guard let handle = FileHandle(forReadingAtPath: file) else { throw CocoaError(.fileReadNoSuchFile) }
            // Of an empty file there is nothing to read, which is an empty script.
            data = try handle.read(upToCount: Self.maximumBytes + 1) ?? Data()
        } catch {
            throw Failure(.usage, "the script \(PlainText.line(file)) cannot be read")
        }
        guard data.count <= Self.maximumBytes else {
            throw Failure(.usage, "the script is longer than \(Self.maximumBytes) bytes")
        }
        try self.init(parsing: String(decoding: data, as: UTF8.self))
    }

    /// Adds one more line; an empty one, and a comment, is no answer.
    ///
    /// - Throws: `Failure` (`usage`), which does not repeat the line: it may be a passcode.
    mutating func append(_ line: some StringProtocol) throws {
        lines += 1
        let words = line.trimmingCharacters(in: .whitespaces)
        guard !words.isEmpty, !words.hasPrefix("#") else { return }
        switch words {
        case "cancel": answers.append(.cancel)
        case "fallback": answers.append(.fallback)
        case "retry": answers.append(.retry)
        case "allow": answers.append(.permission(true))
        case "deny": answers.append(.permission(false))
        case "wait": answers.append(.wait)
        case "ignore": answers.append(.ignore)
        case _ where words.hasPrefix("passcode ") && words.count > "passcode ".count:
            answers.append(.passcode(String(words.dropFirst("passcode ".count))))
        case _ where words.hasPrefix("password ") && words.count > "password ".count:
            answers.append(.password(String(words.dropFirst("password ".count))))
        default:
            throw Failure(
                .usage,
                "line \(lines) of the script has to be one of: cancel, fallback, retry, allow, deny, passcode TEXT, "
                    + "password TEXT, wait, ignore")
        }
    }

    mutating func next() -> Answer? { answers.isEmpty ? nil : answers.removeFirst() }

    /// Of a file, and of a line that comes through a pipe.
    static let maximumBytes = 1 << 20
}
