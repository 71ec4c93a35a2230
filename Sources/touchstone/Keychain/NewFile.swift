import CTouchstoneSystem
import Foundation
import Glibc

/// A file that appears under its name when it is whole and on the disk, and not before.
///
/// Until then it is `.NAME.partial` beside it; what a killed writer left of that, the next one begins with again.
final class NewFile {
    let path: String
    private let partial: String
    private let replaces: Bool
    private let descriptor: Int32
    private var isPlaced = false

    /// - Throws: `Failure`, also where there is such a file and `replaces` is not said.
    init(_ path: String, replaces: Bool) throws {
        guard replaces || !FileManager.default.fileExists(atPath: path) else { throw Self.taken(path) }
        let url = URL(fileURLWithPath: path)
        self.path = url.path
        self.replaces = replaces
        partial = url.deletingLastPathComponent().appendingPathComponent(".\(url.lastPathComponent).partial").path
        descriptor = unsafe open(partial, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Failure.system(path) }
        var mine = stat()
        var named = stat()
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, unsafe fstat(descriptor, &mine) == 0,
            unsafe lstat(partial, &named) == 0, mine.st_ino == named.st_ino, mine.st_uid == geteuid()
        else {
            close(descriptor)
            isPlaced = true
            throw Failure(.refused, "\(path) is already being written")
        }
        guard fchmod(descriptor, 0o600) == 0, ftruncate(descriptor, 0) == 0 else { throw Failure.system(path) }
    }

    deinit {
        if !isPlaced {
            unsafe unlink(partial)
            close(descriptor)
        }
    }

    func write(_ bytes: Data) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress!, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Failure.system("\(path) cannot be written, and nothing of it was kept") }
            rest = rest.dropFirst(count)
        }
    }

    /// Gives the file its name, once it would survive a power cut.
    func place() throws {
        guard fsync(descriptor) == 0 else { throw Failure.system("\(path) cannot be written") }
        if replaces {
            guard unsafe rename(partial, path) == 0 else { throw Failure.system(path) }
        } else {
            let code = unsafe touchstone_rename_new(partial, path)
            guard code == 0 else { throw code == EEXIST ? Self.taken(path) : Failure.system(path, code: code) }
        }
        isPlaced = true
        close(descriptor)
        let directory = unsafe open(URL(fileURLWithPath: path).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        guard directory >= 0 else { throw Failure.system(path) }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw Failure.system(path) }
    }

    private static func taken(_ path: String) -> Failure {
        Failure(.refused, "\(path) already exists; choose another name, or replace it with --force")
    }
}
