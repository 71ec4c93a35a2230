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

    /// A helper that git has beside those of the file that Touchstone changes.
    struct OtherHelper: Hashable {
        /// `credential.helper`, or `credential.URL.helper` of some places.
        var key: String
        /// As git's settings name it; empty: those before it are not asked.
        var name: String
        /// The file.
        var origin: String

        /// Whether it is for every place.
        var isForAll: Bool { key == GitSettings.key }
    }

    /// What git asks beside the helpers of this file: those of the machine, of other files of the user's, and of single places.
    ///
    /// - Parameter own: The file that Touchstone changes. Its helpers for every place do not count here.
    /// - Returns: In git's order. Those that an empty helper of another file turns off are left out.
    /// - Throws: `Failure` if git cannot read its settings.
    static func otherHelpers(than own: String) throws -> [OtherHelper] {
        let (ending, output) = try Self.run(
            "-C", "/", "config", "--includes", "--show-scope", "--show-origin", "--null", "--get-regexp",
            "^credential\\.(.*\\.)?helper$")
        guard ending == .exited(0) else {
            guard ending == .exited(1) else { throw unreadable }
            return []
        }
        // Of each: its scope, its file, and its name and value with a line feed between them.
        let fields = output.split(separator: 0, omittingEmptySubsequences: false).dropLast().map {
            String(decoding: $0, as: UTF8.self)
        }
        var found: [OtherHelper] = []
        for index in stride(from: 0, to: fields.count - 2, by: 3)
        where ["system", "global"].contains(fields[index]) {
            let origin = fields[index + 1].hasPrefix("file:") ? String(fields[index + 1].dropFirst(5)) : "?"
            let parts = fields[index + 2].split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
            let other = OtherHelper(
                key: String(parts[0]), name: parts.count > 1 ? String(parts[1]) : "", origin: origin)
            switch (other.isForAll, other.name.isEmpty) {
            case (true, _) where isSame(origin, own): break
            case (true, true): found = []
            default: found.append(other)
            }
        }
        return found
    }

    private static func isSame(_ path: String, _ other: String) -> Bool {
        (path as NSString).resolvingSymlinksInPath == (other as NSString).resolvingSymlinksInPath
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
