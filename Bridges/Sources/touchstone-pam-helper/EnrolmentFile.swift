import Foundation
import Glibc
import PAMChallenge

/// `/etc/touchstone/pam/UID`: what root keeps of a user.
struct EnrolmentFile {
    enum Refusal: Error {
        /// There is none.
        case absent
        /// Somebody else than root could have written it, or it is not what `touchstone pam` writes.
        case unsafe(String)
    }

    static let directories = ["/etc", "/etc/touchstone", "/etc/touchstone/pam"]
    static let directory = "/etc/touchstone/pam"

    let path: String

    init(of userID: UInt32) { path = "\(Self.directory)/\(userID)" }

    /// Reads it.
    func read() throws(Refusal) -> EnrolledKeys {
        for directory in Self.directories {
            var status = stat()
            guard unsafe lstat(directory, &status) == 0 else { throw .absent }
            guard status.st_mode & S_IFMT == S_IFDIR, Self.isRoots(status) else {
                throw .unsafe("\(directory) is not root's alone")
            }
        }
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { throw .absent }
            throw .unsafe("\(path) cannot be read")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, Self.isRoots(status) else {
            throw .unsafe("\(path) is not root's alone")
        }
        guard let bytes = try? file.read(upToCount: EnrolledKeys.largestFile + 1), let keys = EnrolledKeys(file: bytes)
        else { throw .unsafe("\(path) is not what 'touchstone pam enroll' writes") }
        return keys
    }

    private static func isRoots(_ status: stat) -> Bool {
        status.st_uid == 0 && status.st_mode & (S_IWGRP | S_IWOTH) == 0
    }

    /// The owner's word that the login password is the device's passcode, too (PM-24): there as long as no try went wrong.
    var sameSecret: String { "\(path).same-passcode" }
}
