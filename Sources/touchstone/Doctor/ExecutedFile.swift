import Foundation
import Glibc
import TouchstoneCore

/// The program that a process runs where somebody starts a file: the file itself, or a script's interpreter.
struct ExecutedFile {
    /// Absolute, without links on the way, as the kernel names it.
    let path: String
    /// The script that was named; nil if it was a program.
    let script: String?

    private enum Limits {
        /// What the kernel reads of a script, in bytes.
        static let firstLine = 256
        /// An interpreter may be a script too, so often.
        static let interpreters = 5
    }

    /// - Throws: `Failure` (`no`) that says why nobody can start it.
    init(_ named: String, searchPath: String = ProcessInfo.processInfo.environment["PATH"] ?? "") throws {
        var file = try Self.resolved(named, "")
        let first = file
        for _ in 0..<Limits.interpreters {
            guard let line = try Self.interpreterLine(file) else {
                path = file
                script = file == first ? nil : first
                return
            }
            file = try Self.interpreter(line, of: file, searchPath)
        }
        throw Failure(.no, "\(PlainText.line(first)) cannot be started, because each interpreter is a script again")
    }

    /// A file that can be executed, by its own path.
    private static func resolved(_ named: String, _ whose: String) throws -> String {
        let shown = PlainText.line(named) + whose
        guard let real = unsafe realpath(named, nil) else {
            throw Failure(.no, errno == ENOENT ? "there is no file \(shown)" : "\(shown): \(Failure.describe(errno))")
        }
        defer { unsafe free(real) }
        let path = unsafe String(cString: real)
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw Failure.system(shown) }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw Failure(.no, "\(shown) is a directory, not a program") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw Failure(.no, "\(shown) is not a regular file") }
        guard unsafe access(path, X_OK) == 0 else {
            throw Failure(.no, "\(shown) is not executable; if it is a program, run 'chmod +x' on it")
        }
        return path
    }

    /// What stands behind `#!`; nil for a program.
    private static func interpreterLine(_ file: String) throws -> String? {
        // Who may execute it need not be allowed to read it.
        guard let handle = FileHandle(forReadingAtPath: file) else { return nil }
        let start = (try? handle.read(upToCount: Limits.firstLine)) ?? Data()
        if start.starts(with: [0x7F] + "ELF".utf8) { return nil }
        guard start.starts(with: "#!".utf8) else {
            throw Failure(
                .no, "\(PlainText.line(file)) is neither a program (ELF) nor a script that names its interpreter")
        }
        return String(decoding: start.dropFirst(2).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    private static func interpreter(_ line: String, of file: String, _ searchPath: String) throws -> String {
        let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).map(String.init)
        let whose = ", the interpreter of \(PlainText.line(file))"
        guard let program = words.first else {
            throw Failure(.no, "\(PlainText.line(file)) names no interpreter behind '#!'")
        }
        guard program.split(separator: "/").last == "env" else { return try resolved(program, whose) }
        // env executes another program in its place.
        let started = words.dropFirst().drop { $0 == "-S" || $0.contains("=") && !$0.hasPrefix("-") }.first
        guard let started, !started.hasPrefix("-") else {
            throw Failure(
                .no, "the program that \(PlainText.line(line)) starts is not known; name that program with --app")
        }
        if started.contains("/") { return try resolved(started, whose) }
        for directory in searchPath.split(separator: ":") {
            if let found = try? resolved("\(directory)/\(started)", whose) { return found }
        }
        throw Failure(.no, "there is no \(PlainText.line(started)) in PATH\(whose)")
    }
}
