import Foundation
import Glibc
import TouchstoneCore

/// Files of the user's in which programs look for their settings.
enum ConfigurationFiles {
    static var home: String { ProcessInfo.processInfo.environment["HOME"] ?? NSHomeDirectory() }

    /// `XDG_CONFIG_HOME`.
    static var directory: String { absolute("XDG_CONFIG_HOME") ?? "\(home)/.config" }

    /// A variable whose value is an absolute path.
    static func absolute(_ variable: String) -> String? {
        ProcessInfo.processInfo.environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// Most bytes of a file that is changed.
    private static let maximumCount = 4 << 20

    /// The file's bytes; nil if there is no such file.
    ///
    /// - Throws: `Failure` if it cannot be read, or is not such a file.
    static func read(_ path: String) throws -> Data? {
        var facts = stat()
        guard unsafe stat(path, &facts) == 0 else {
            guard errno == ENOENT else { throw Failure.system(path) }
            return nil
        }
        guard facts.st_mode & S_IFMT == S_IFREG, facts.st_uid == geteuid(), facts.st_size <= maximumCount,
            let data = FileManager.default.contents(atPath: path)
        else { throw Failure(.refused, "\(PlainText.line(path)) is not a file of yours that can be changed") }
        return data
    }

    /// Writes a new file in place of the old one, with its mode; a link stays a link.
    static func write(_ data: Data, _ path: String) throws {
        var target = path
        if let real = unsafe realpath(path, nil) {
            target = unsafe String(cString: real)
            unsafe free(real)
        }
        var facts = stat()
        let mode = unsafe stat(target, &facts) == 0 ? facts.st_mode & 0o7777 : 0o600
        let made = "\(target).touchstone-\(getpid())"
        guard FileManager.default.createFile(atPath: made, contents: data, attributes: [.posixPermissions: Int(mode)])
        else { throw Failure.system(made) }
        guard unsafe rename(made, target) == 0 else {
            let code = errno
            unsafe unlink(made)
            throw Failure.system(target, code: code)
        }
    }

    /// Makes the directories above a file that are not there, for this user only.
    ///
    /// - Returns: Those that it made, the outermost first.
    static func makeDirectories(above path: String) throws -> [String] {
        let directory = (path as NSString).deletingLastPathComponent
        guard unsafe access(directory, F_OK) != 0 else { return [] }
        let made = try makeDirectories(above: directory)
        guard unsafe mkdir(directory, 0o700) == 0 else { throw Failure.system(directory) }
        return made + [directory]
    }

    /// A path as a person writes it.
    static func shown(_ path: String) -> String {
        PlainText.line(path.hasPrefix("\(home)/") ? "~" + path.dropFirst(home.count) : path)
    }
}
