import Foundation
import Glibc
import TouchstoneDevice

/// Questions whose answers are lines: at a terminal, or one after the other from a pipe.
enum Question {
    /// After so many invalid answers the question is given up.
    private static let maximumTries = 5

    /// Yes or no; an empty line is the default.
    static func yes(_ question: String, default isYes: Bool) throws -> Bool {
        try ask("\(question) [\(isYes ? "Y/n" : "y/N")]", else: "Answer y or n.") { answer in
            switch answer.lowercased() {
            case "": isYes
            case "y", "yes": true
            case "n", "no": false
            default: nil
            }
        }
    }

    /// One of these; an empty line is the first.
    static func choice(_ question: String, of choices: [String]) throws -> String {
        try ask("\(question) [\(choices[0])]", else: "One of: \(choices.joined(separator: ", ")).") { answer in
            answer.isEmpty ? choices[0] : choices.first { $0 == answer }
        }
    }

    private static func ask<Answer>(
        _ question: String, else advice: String, _ answer: (String) -> Answer?
    ) throws -> Answer {
        for _ in 0..<maximumTries {
            StandardOutput.write("\(SetupCommand.indent)\(question) ")
            let line = PasscodeBuffer(lineFrom: STDIN_FILENO).map { String(decoding: $0, as: UTF8.self) }
            // What is typed at a terminal ends its line itself.
            if !Terminal.isInput { StandardOutput.say("") }
            guard let line else { throw Failure(.cancelled, "there was no answer; \(SetupCommand.goesOn)") }
            if let answer = answer(line.trimmingCharacters(in: .whitespaces)) { return answer }
            StandardOutput.say(SetupCommand.indent + advice)
        }
        throw Failure(.cancelled, "that was not an answer; \(SetupCommand.goesOn)")
    }
}
