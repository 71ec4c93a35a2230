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
    ///
    /// After a power cut there is the old file or the new one.
    static func write(_ data: Data, _ path: String) throws {
        var target = path
        var facts = stat()
        if let real = unsafe realpath(path, nil) {
            target = unsafe String(cString: real)
            unsafe free(real)
        } else if unsafe lstat(path, &facts) == 0 {
            throw Failure(.refused, "\(PlainText.line(path)) is a link to a file that is not there")
        }
        let mode = unsafe stat(target, &facts) == 0 ? facts.st_mode & 0o7777 : 0o600
        let made = "\(target).touchstone-\(getpid())"
        let descriptor = unsafe open(made, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure.system(made) }
        do {
            defer { close(descriptor) }
            try unsafe data.withUnsafeBytes { try unsafe Descriptor.write($0, to: descriptor, made) }
            guard fchmod(descriptor, mode) == 0, fsync(descriptor) == 0, unsafe rename(made, target) == 0 else {
                throw Failure.system(target)
            }
        } catch {
            unsafe unlink(made)
            throw error
        }
        let directory = unsafe open((target as NSString).deletingLastPathComponent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        fsync(directory)
        close(directory)
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
