import Foundation
import Glibc

/// The device's directory is open to others: who can write to it can put another enclave or keychain in place of ours.
struct UnsafeDirectory: Error, CustomStringConvertible {
    let description: String

    /// - Throws: `UnsafeDirectory` where it is not a directory of this user's alone.
    static func check(_ directory: URL) throws {
        var status = stat()
        guard unsafe lstat(directory.path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw Self(description: "\(directory.path) is not a directory")
        }
        guard status.st_uid == geteuid() else { throw Self(description: "\(directory.path) belongs to another user") }
        guard status.st_mode & 0o077 == 0 else {
            throw Self(description: "\(directory.path) can be read by others: run chmod go-rwx on it if nobody has")
        }
    }
}
