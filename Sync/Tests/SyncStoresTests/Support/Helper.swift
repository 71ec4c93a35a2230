import Foundation
import Synchronization

/// A program in Tests/Scripts that says a line of JSON when it is ready, and answers each line with one.
///
/// It ends with this object or with the test process, because it reads its pipe.
final class Helper: Sendable {
    struct Failure: Error, CustomStringConvertible { var description: String }

    private let script: String
    private let process: Process
    private let lines: Mutex<(input: FileHandle, output: FileHandle)>

    init(_ script: String) throws {
        let root = URL(filePath: #filePath).pathComponents.dropLast(5).joined(separator: "/").dropFirst()
        let python = "\(root)/.build-python/bin/python"
        guard FileManager.default.isExecutableFile(atPath: python) else {
            throw Failure(description: "\(python) is missing: run script/python-environment")
        }
        self.script = script
        let (input, output) = (Pipe(), Pipe())
        process = Process()
        process.executableURL = URL(filePath: python)
        process.arguments = ["\(root)/Tests/Scripts/\(script)"]
        process.currentDirectoryURL = URL(filePath: String(root))
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        lines = Mutex((input.fileHandleForWriting, output.fileHandleForReading))
    }

    deinit { lines.withLock { try? $0.input.close() } }

    /// What it says next.
    func answer<Answer: Decodable>(_ type: Answer.Type = Answer.self) throws -> Answer {
        try JSONDecoder().decode(type, from: lines.withLock { try next($0.output) })
    }

    /// Its answer to a command; one at a time.
    func ask<Answer: Decodable>(_ command: String, _ type: Answer.Type = Answer.self) throws -> Answer {
        let line = try lines.withLock { lines in
            try lines.input.write(contentsOf: Data("\(command)\n".utf8))
            return try next(lines.output)
        }
        return try JSONDecoder().decode(type, from: line)
    }

    private func next(_ output: FileHandle) throws -> Data {
        var line = Data()
        while let byte = try output.read(upToCount: 1), !byte.isEmpty {
            if byte == Data("\n".utf8) { return line }
            line += byte
        }
        throw Failure(description: "Tests/Scripts/\(script) ended: run it, and see why")
    }
}
