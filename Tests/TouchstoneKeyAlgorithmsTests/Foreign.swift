import Foundation
import Testing

/// Programs that nobody here wrote, to hold our results against.
enum Foreign {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Has the Python package cryptography answer requests: `Fixtures/foreign.py`; nil for what it refuses.
    static func python(_ requests: [[String: Any]]) throws -> [Data?] {
        let script = try fixture("foreign", "py").path
        let interpreter = root.appendingPathComponent(".build-python/bin/python").path
        guard FileManager.default.isExecutableFile(atPath: interpreter) else {
            throw Failure(description: "script/python-environment has not been run")
        }
        let input = try JSONSerialization.data(withJSONObject: requests)
        let (status, output) = try run(interpreter, [script], input: input)
        guard status == 0, let answers = try JSONSerialization.jsonObject(with: output) as? [Any],
            answers.count == requests.count
        else { throw Failure(description: "foreign.py: status \(status)") }
        return answers.map { ($0 as? String).map { Data(hex: $0) } }
    }

    /// Runs OpenSSL in a directory with files; nil if it fails.
    static func openSSL(_ arguments: [String], _ files: [String: Data] = [:]) throws -> Data? {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: directory) }
        for (name, data) in files { try data.write(to: directory.appendingPathComponent(name)) }
        let (status, output) = try run("/usr/bin/openssl", arguments, in: directory)
        return status == 0 ? output : nil
    }

    static func fixture(_ name: String, _ type: String) throws -> URL {
        try #require(Bundle.module.url(forResource: name, withExtension: type, subdirectory: "Fixtures"))
    }

    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func run(
        _ program: String, _ arguments: [String], input: Data = Data(), in directory: URL? = nil
    ) throws -> (status: Int32, output: Data) {
        // A file, so that neither side waits for a full pipe.
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try input.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        if let directory { process.currentDirectoryURL = directory }
        let output = Pipe()
        process.standardInput = try FileHandle(forReadingFrom: file)
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, data)
    }
}

extension Data {
    init(hex: String) {
        let digits = hex.compactMap(\.hexDigitValue)
        self.init(stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
    }

    var hex: String { map { String(format: "%02x", $0) }.joined() }

    func flippingBit(at index: Int) -> Data {
        var copy = Data(self)
        copy[index] ^= 1
        return copy
    }

    /// Several, one after the other.
    static func joined(_ parts: Data...) -> Data { parts.reduce(Data(), +) }

    static func filled(_ byte: UInt8, _ count: Int) -> Data { Data(repeating: byte, count: count) }

    static func random(count: Int) -> Data { Data((0..<count).map { _ in UInt8.random(in: .min ... .max) }) }
}
