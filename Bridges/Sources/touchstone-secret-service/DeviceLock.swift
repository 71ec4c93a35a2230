import Foundation
import Glibc

/// Lets one program at a time write the rows of a device: a second one would remove what the first one has begun to write.
enum DeviceLock {
    enum Failure: Error {
        /// Another one of these programs works on this device.
        case taken
        /// XDG_RUNTIME_DIR names no directory of this user's.
        case noDirectory
    }

    /// Takes the lock, until the program ends.
    ///
    /// - Parameter device: Its name.
    /// - Throws: `Failure`.
    static func take(_ device: String) throws(Failure) {
        let directory = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] ?? "/run/user/\(geteuid())"
        let file = unsafe open(
            "\(directory)/touchstone-secret-service.\(device).lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw .noDirectory }
        // The descriptor stays open on purpose: the kernel ends the lock with the program.
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            close(file)
            throw .taken
        }
    }
}
