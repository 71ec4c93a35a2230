import Foundation
import Glibc
import TouchstoneCore
import TouchstoneSystem

/// The directory of a booted device's socket and lock: this user's alone.
enum RuntimeDirectory {
    static func make(_ paths: DevicePaths) throws {
        guard paths.socket.path.utf8.count <= DevicePaths.maximumSocketPathLength else {
            throw Failure(
                .usage,
                "\(paths.socket.path) is too long for a socket (\(DevicePaths.maximumSocketPathLength) bytes): "
                    + "set XDG_RUNTIME_DIR to a shorter directory or choose a shorter name")
        }
        let own = paths.runtime.deletingLastPathComponent()
        let base = own.deletingLastPathComponent().path
        var facts = stat()
        guard unsafe stat(base, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR else {
            throw Failure(
                .unavailable,
                "\(base) does not exist: set XDG_RUNTIME_DIR to a directory of yours with mode 0700 (a login session has one)"
            )
        }
        guard facts.st_uid == geteuid() else {
            throw Failure(
                .configuration, "\(base) is not yours: set XDG_RUNTIME_DIR to a directory of yours with mode 0700")
        }
        try make(own.path)
        try make(paths.runtime.path)
    }

    private static func make(_ path: String) throws {
        guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else { throw Failure.system(path) }
        var facts = stat()
        guard unsafe lstat(path, &facts) == 0 else { throw Failure.system(path) }
        guard facts.st_mode & S_IFMT == S_IFDIR, facts.st_uid == geteuid(), facts.st_mode & 0o077 == 0 else {
            throw Failure(.configuration, "\(path) must be a directory of yours with mode 0700")
        }
    }
}
