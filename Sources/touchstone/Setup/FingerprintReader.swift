import Foundation
import Glibc
import TouchstoneCore

/// The fingerprint reader of this machine, through fprintd's own programs.
struct FingerprintReader {
    /// What it calls itself.
    let name: String
    /// Whose fingers.
    let user: String

    /// fprintd's names of fingers, the likeliest first.
    static let fingers = [
        "right-index-finger", "left-index-finger", "right-thumb", "left-thumb", "right-middle-finger",
        "left-middle-finger",
        "right-ring-finger", "left-ring-finger", "right-little-finger", "left-little-finger",
    ]

    /// - Throws: `Failure` that says why there is none.
    static func find(for user: String) throws -> FingerprintReader {
        let list = try tool("fprintd-list")
        var lines: [String] = []
        _ = try Tool.run(list, [user]) { lines.append($0) }
        for line in lines {
            // "User NAME has no fingers enrolled for READER." and "Fingerprints for user NAME on READER (KIND):"
            for (start, end) in [
                ("User \(user) has no fingers enrolled for ", "."), ("Fingerprints for user \(user) on ", " ("),
            ] where line.hasPrefix(start) {
                let rest = line.dropFirst(start.count)
                guard let range = rest.range(of: end, options: .backwards) else { continue }
                return FingerprintReader(name: PlainText.line(String(rest[..<range.lowerBound])), user: user)
            }
        }
        throw Failure(
            .no,
            lines.contains { $0.contains("No devices available") }
                ? "fprintd knows no reader" : "fprintd does not answer")
    }

    /// Enrols a finger, and tells each touch in plain words.
    func enroll(_ finger: String, tell: (String) -> Void) throws {
        var last: String?
        let ending = try Tool.run(try Self.tool("fprintd-enroll"), ["-f", finger, user]) { line in
            guard line.hasPrefix("Enroll result: ") else { return }
            let result = String(line.dropFirst("Enroll result: ".count))
            last = result
            if let words = Self.words[result] { tell(words) }
        }
        guard ending == .exited(0), last == "enroll-completed" else {
            throw Failure(
                .no,
                last.map { "the finger was not enrolled (\(PlainText.line($0)))" } ?? "fprintd did not begin to enrol")
        }
    }

    private static let words = [
        "enroll-stage-passed": "Good. Lift it and touch again.",
        "enroll-completed": "Enrolled.",
        "enroll-retry-scan": "Not read. Touch again.",
        "enroll-swipe-too-short": "Too short. Swipe the whole finger.",
        "enroll-too-fast": "Too fast. Swipe slower.",
        "enroll-finger-not-centered": "Not in the middle. Touch again.",
        "enroll-remove-and-retry": "Lift the finger, and touch again.",
        "enroll-duplicate": "This finger is already enrolled.",
    ]

    private static func tool(_ name: String) throws -> String {
        let candidates = ["/usr/bin", "/usr/local/bin", "/bin"].map { "\($0)/\(name)" }
        guard let path = candidates.first(where: { unsafe access($0, X_OK) == 0 }) else {
            throw Failure(.no, "fprintd is not installed ('sudo apt install fprintd')")
        }
        return path
    }
}

/// A program of the system's whose output is read line by line; Ctrl-C ends it with this one.
enum Tool {
    /// Longest line, in bytes; what is longer is handed over in pieces.
    private static let maximumLine = 4096

    static func run(_ path: String, _ arguments: [String], line: (String) -> Void) throws -> Child.Ending {
        let (reading, writing) = try Child.pipe()
        defer { close(reading) }
        let child: Child
        do {
            defer { close(writing) }
            child = try Child.start(
                path, arguments,
                inheriting: [
                    (STDIN_FILENO, .file("/dev/null", flags: O_RDONLY)), (STDOUT_FILENO, .descriptor(writing)),
                    (STDERR_FILENO, .descriptor(writing)),
                ], flags: 0)
        }
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            let count = unsafe read(reading, &byte, 1)
            if count < 0, errno == EINTR { continue }
            if count == 1, byte != UInt8(ascii: "\n"), bytes.count < maximumLine {
                bytes.append(byte)
                continue
            }
            if !bytes.isEmpty { line(String(decoding: bytes, as: UTF8.self)) }
            bytes = []
            guard count == 1 else { break }
        }
        return child.wait()
    }
}
