import Foundation
import Glibc
import Testing

/// A private directory, gone with this value.
final class Directory {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("touchstone-\(UUID())")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(at: url) }
}

/// swtpm: a TPM 2.0 that is a program, with a state of its own.
final class SoftwareTPM {
    struct NotThere: Error, CustomStringConvertible { let description: String }

    private let directory: Directory
    private var process: Process?
    var socket: String { directory.url.appendingPathComponent("tpm").path }
    var address: String { "swtpm:path=\(socket)" }

    init() throws {
        directory = try Directory()
        try turnOn()
        try allow(tries: 32)
    }

    /// So many wrong values before the dictionary-attack logic locks; one is forgotten each time that so many seconds are over.
    func allow(tries: Int, seconds: Int = 600) throws {
        try tool("tpm2_dictionarylockout", "-s", "-n", "\(tries)", "-t", "\(seconds)", "-l", "600")
    }

    deinit { turnOff() }

    func turnOn() throws {
        let process = Process()
        process.executableURL = try Self.program("swtpm")
        process.arguments = [
            "socket", "--tpm2", "--tpmstate", "dir=\(directory.url.path)", "--server", "type=unixio,path=\(socket)",
            "--ctrl",
            "type=unixio,path=\(socket).ctrl", "--flags", "not-need-init,startup-clear",
        ]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        self.process = process
        // The socket's file is there before anybody listens. It serves one client at a time: this one is gone at once.
        for _ in 0..<3000 {
            if Relay.isListened(socket) { return }
            usleep(10_000)
        }
        throw NotThere(description: "swtpm does not answer at \(socket)")
    }

    /// As when the power fails.
    func turnOff() {
        guard let process else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        for path in [socket, socket + ".ctrl"] { unlink(path) }
        self.process = nil
    }

    /// One of tpm2-tools; nobody else may be connected.
    @discardableResult
    func tool(_ arguments: String...) throws -> String {
        let process = Process()
        process.executableURL = try Self.program(arguments[0])
        process.arguments = Array(arguments.dropFirst())
        process.environment = ProcessInfo.processInfo.environment.merging(["TPM2TOOLS_TCTI": address]) { $1 }
        let output = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw NotThere(description: "\(arguments): \(text)") }
        return text
    }

    private static func program(_ name: String) throws -> URL {
        for directory in (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":") {
            let path = "\(directory)/\(name)"
            if access(path, X_OK) == 0 { return URL(fileURLWithPath: path) }
        }
        throw NotThere(description: "\(name) is not there: run script/install-packages test")
    }
}
