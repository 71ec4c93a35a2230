import BridgeCore
import Crypto
import Foundation
import Glibc
import Synchronization

/// What the file of a process says of it.
struct SeenProgram: Sendable {
    /// Whether it is in a sandbox (BR-7).
    var isSandboxed: Bool
    /// A digest of its path, and of its file where somebody else than root could change that; nil where nobody can tell (SS-35).
    var digest: String?

    /// Looks at it; that can take long, or for ever where a file system is a program of somebody's.
    init(_ sighting: Sighting) {
        isSandboxed = sighting.process?.isSandboxed ?? false
        guard let process = sighting.process, let path = sighting.path, !Multiplexers.contain(path) else { return }
        digest = Self.digest(path, process)
    }

    /// Largest file that is read, in bytes; a larger program is a stranger.
    private static let largestProgram: off_t = 512 << 20

    private static func digest(_ path: String, _ process: ClientProcess) -> String? {
        var hash = SHA256()
        hash.update(data: Data(path.utf8))
        let executed = "/proc/\(process.processID)/exe"
        var status = stat()
        guard unsafe stat(executed, &status) == 0 else { return nil }
        if !isRoots(path, status) {
            guard status.st_size <= largestProgram, let file = FileHandle(forReadingAtPath: executed) else {
                return nil
            }
            hash.update(data: Data([0]))
            while let part = try? file.read(upToCount: 1 << 20), !part.isEmpty { hash.update(data: part) }
            guard process.isThere else { return nil }
        }
        return hash.finalize().map { String(format: "%02x", $0) }.joined()
    }

    /// Whether only root can change the file that is executed, or put another in its place.
    ///
    /// A process can see another file there, in a mount namespace of its own: so it has to be the same one.
    private static func isRoots(_ path: String, _ executed: stat) -> Bool {
        var named = stat()
        guard unsafe lstat(path, &named) == 0, named.st_dev == executed.st_dev, named.st_ino == executed.st_ino else {
            return false
        }
        var place = path
        while true {
            var status = stat()
            guard unsafe lstat(place, &status) == 0, status.st_uid == 0 else { return false }
            let isSticky = status.st_mode & S_IFMT == S_IFDIR && status.st_mode & S_ISVTX != 0
            guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 || isSticky else { return false }
            if place == "/" { return true }
            place = (place as NSString).deletingLastPathComponent
        }
    }
}
