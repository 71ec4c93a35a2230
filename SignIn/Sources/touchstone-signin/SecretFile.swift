import Crypto
import Foundation
import Glibc

/// 32 bytes that seal the keys of the access tokens in the database.
enum SecretFile {
    static let length = 32

    /// `mayCreate`: makes the file if it does not exist; not if several servers have to share it.
    static func read(_ path: String, mayCreate: Bool) throws -> SymmetricKey {
        if mayCreate { try create(path) }
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else {
            throw ProgramFailure(
                "the secret file \(path) cannot be opened: \(lastError). Make one with "
                    + "`(umask 077; head -c 32 /dev/urandom > \(path))`, the same on each server of this database.")
        }
        defer { close(file) }
        let found = try? FileManager.default.attributesOfItem(atPath: path)
        guard let mode = (found?[.posixPermissions] as? NSNumber)?.intValue, mode & 0o077 == 0 else {
            throw ProgramFailure("the secret file \(path) can be read by others. Run `chmod 600 \(path)`.")
        }
        var bytes = [UInt8](repeating: 0, count: length + 1)
        guard unsafe Glibc.read(file, &bytes, length + 1) == length else {
            throw ProgramFailure("the secret file \(path) does not have \(length) bytes, as it has to.")
        }
        return SymmetricKey(data: bytes.prefix(length))
    }

    /// What `errno` says.
    private static var lastError: String { unsafe String(cString: strerror(errno)) }

    private static func create(_ path: String) throws {
        let file = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else {
            guard errno != EEXIST else { return }
            throw ProgramFailure("the secret file \(path) cannot be made: \(lastError)")
        }
        defer { close(file) }
        let key = SymmetricKey(size: .bits256)
        let written = unsafe key.withUnsafeBytes { unsafe write(file, $0.baseAddress, $0.count) }
        guard written == length, fsync(file) == 0 else {
            unsafe unlink(path)
            throw ProgramFailure("the secret file \(path) cannot be written: \(lastError)")
        }
    }
}
