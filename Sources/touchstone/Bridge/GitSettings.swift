import Foundation
import Glibc
import TouchstoneCore

/// git's settings of this user: who keeps passwords.
enum GitSettings {
    private static let key = "credential.helper"

    /// The file that `git config --global` writes.
    static var path: String {
        if let named = ConfigurationFiles.absolute("GIT_CONFIG_GLOBAL") { return named }
        let (own, shared) = ("\(ConfigurationFiles.home)/.gitconfig", "\(ConfigurationFiles.directory)/git/config")
        let files = FileManager.default
        return !files.fileExists(atPath: own) && files.fileExists(atPath: shared) ? shared : own
    }

    /// Whether a helper is Touchstone's.
    static func isOurs(_ helper: String) -> Bool {
        helper == "touchstone" || helper.hasSuffix("/git-credential-touchstone")
            || helper.hasSuffix("/git-credential-touchstone'")
    }

    /// How git's settings name the helper: git looks in `/usr/bin` by itself, and a shell reads another path.
    static func helper(_ executable: String) -> String {
        if executable == "/usr/bin/git-credential-touchstone" { return "touchstone" }
        let isPlain = executable.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || "/-_.".utf8.contains(byte)
        }
        return isPlain ? executable : "'\(executable.replacingOccurrences(of: "'", with: "'\\''"))'"
    }

    /// The helpers that a file of settings names, in the order in which git asks them.
    static func helpers(in settings: Data) throws -> [String] {
        try edited(settings) { file in
            let (ending, output) = try Self.run("config", "--file", file, "--null", "--get-all", key)
            switch ending {
            case .exited(0):
                return output.split(separator: 0, omittingEmptySubsequences: false).dropLast().map {
                    String(decoding: $0, as: UTF8.self)
                }
            case .exited(1): return []
            default: throw unreadable
            }
        }.result
    }

    /// The same settings with these helpers in place of those that are there.
    static func setting(_ helpers: [String], in settings: Data) throws -> Data {
        let old = try self.helpers(in: settings)
        return try edited(settings) { file in
            if let first = helpers.first {
                try check(run("config", "--file", file, "--replace-all", key, first))
                for helper in helpers.dropFirst() { try check(run("config", "--file", file, "--add", key, helper)) }
            } else if !old.isEmpty {
                try check(run("config", "--file", file, "--unset-all", key))
            }
        }.settings
    }

    private static let unreadable = Failure(
        .refused, "git cannot read your settings; 'git config --global --list' says why")

    private static func check(_ done: (ending: Child.Ending, output: Data)) throws {
        guard done.ending == .exited(0) else { throw unreadable }
    }

    /// Has git work on a copy.
    private static func edited<Result>(
        _ settings: Data, _ body: (_ file: String) throws -> Result
    ) throws -> (settings: Data, result: Result) {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("touchstone-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appendingPathComponent("config").path
        try ConfigurationFiles.write(settings, file)
        let result = try body(file)
        return (try ConfigurationFiles.read(file) ?? Data(), result)
    }

    private static func run(_ arguments: String...) throws -> (ending: Child.Ending, output: Data) {
        guard let git = Program.onPath("git") else { throw Failure(.unavailable, "git is not installed") }
        return try Child.output(git, arguments)
    }
}
