import Foundation
package import TouchstoneCore

/// What an owner proved, as the log has it.
package enum LogFactor: String, Codable, Sendable {
    case touchID = "touch-id"
    case faceID = "face-id"
    case opticID = "optic-id"
    case passcode
    case applicationPassword = "application-password"
    /// Something proven before, and still good: nobody was asked.
    case reuse

    package init?(_ biometry: BiometryType) {
        switch biometry {
        case .touchID: self = .touchID
        case .faceID: self = .faceID
        case .opticID: self = .opticID
        case .none: return nil
        }
    }
}

/// One entry of the log, read from its line.
///
/// A line is one JSON object of plain ASCII, made by the enclave. It never has a secret, a reason given by an app, a name or an attribute of
/// an item.
package struct LogEntry: Codable, Hashable, Sendable {
    package enum Author: String, Codable, Sendable {
        /// Decided by the enclave.
        case enclave
        /// Seen by touchstoned, and written down by the enclave on its word.
        case touchstoned
    }

    /// 1 is the device's first; each entry has the next.
    package var sequence: Int
    /// Wall clock, UTC, ISO 8601 with milliseconds.
    package var time: String
    /// 16 hexadecimal digits, new with each boot.
    package var boot: String
    package var author: Author
    /// The raw value of a `LogEvent`; another where a newer version wrote it.
    package var event: String
    /// The application identifier as touchstoned told it, without characters that do not print, cut at 200.
    package var app: String?
    /// The program for which the app asked, a bridge, as touchstoned verified it; cut at 100 characters.
    package var client: String?
    /// The program that sent what was typed, as touchstoned told it; as `app` otherwise.
    package var by: String?
    /// The requirement or operation.
    package var asked: String?
    /// What was proven, in the order in which it was.
    package var factors: [LogFactor]?
    /// `ok`, or why not.
    package var result: String
    /// How many times more, since the last entry that is the same but for this; or how many, where the event says so.
    package var count: Int?
    /// The code of the entry before: 64 hexadecimal digits.
    package var previous: String
    /// HMAC-SHA256 of the line up to `,"code":`, in 64 hexadecimal digits.
    package var code: String

    /// Longest line in bytes.
    package static let maximumLineBytes = 4096

    /// nil where the line is no entry.
    package init?(line: String) {
        guard line.utf8.count <= Self.maximumLineBytes,
            let entry = try? JSONDecoder().decode(Self.self, from: Data(line.utf8)),
            entry.sequence > 0, entry.sequence < .max
        else { return nil }
        self = entry
    }

    /// For people, in one line.
    package var sentence: String {
        var sentence = event.replacingOccurrences(of: "-", with: " ")
        if let app { sentence = "\(app)\(client.map { " for \($0)" } ?? ""): \(sentence)" }
        if let asked { sentence += " (\(asked))" }
        if let factors { sentence += " by \(factors.map(\.rawValue).joined(separator: " and "))" }
        if let by { sentence += ", from \(by)" }
        if let count { sentence += ", \(count) more" }
        return result == "ok" ? sentence : "\(sentence): \(result)"
    }

    /// Whether an app did not get what it asked for.
    package var isRefusal: Bool {
        switch LogEvent(rawValue: event) {
        case .callRefused: true
        case .evaluationEnded, .itemOpened, .keyUsed: result != "ok"
        default: false
        }
    }

    package var head: LogHead { LogHead(sequence: sequence, code: code) }
}
