import Foundation

/// Answers written down beforehand.
struct AgentScript: Equatable {
    enum Answer: Equatable {
        case cancel, fallback, retry, wait, ignore
        /// Whether the app may use Face ID.
        case permission(Bool)
        case passcode(String)
        case password(String)
    }

    private(set) var answers: [Answer]

    init(parsing text: String) throws {
        answers = []
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.trimmingCharacters(in: .whitespaces)
            guard !words.isEmpty, !words.hasPrefix("#") else { continue }
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
                    "line \(number + 1) of the script is none of: cancel, fallback, retry, allow, deny, passcode TEXT, "
                        + "password TEXT, wait, ignore")
            }
        }
    }

    /// Reads a path, or for `-` standard input, to its end.
    init(contentsOf file: String) throws {
        let handle = file == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: file)
        guard let handle, let data = try? handle.read(upToCount: Self.maximumBytes + 1) else {
            throw Failure(.usage, "the script \(PlainText.line(file)) cannot be read")
        }
        guard data.count <= Self.maximumBytes else {
            throw Failure(.usage, "the script is longer than \(Self.maximumBytes) bytes")
        }
        try self.init(parsing: String(decoding: data, as: UTF8.self))
    }

    mutating func next() -> Answer? { answers.isEmpty ? nil : answers.removeFirst() }

    private static let maximumBytes = 1 << 20
}
