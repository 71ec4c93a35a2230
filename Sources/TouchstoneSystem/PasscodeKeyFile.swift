package import Foundation
internal import Glibc
package import TouchstoneTransport

/// The enclave's public key for passcodes, as the enclave has put it into its own directory: touchstoned, which carries what is sealed
/// with it, could put its own in its place if it were asked for it (DEC-005).
///
/// The enclave makes another at each boot, before it answers anybody: to be read for each entry.
package struct PasscodeKeyFile: Sendable {
    /// Bytes of an X25519 public key.
    package static let keyBytes = 32
    private let path: String

    package init(_ file: URL) {
        path = file.path
    }

    /// Whose file it may be besides root's: this user's; the system enclave's, whose directory lies where only root can have put it.
    private var trusted: uid_t {
        guard path.hasPrefix("\(DevicePaths.systemState)/") else { return geteuid() }
        var facts = stat()
        let directory = (path as NSString).deletingLastPathComponent
        guard unsafe lstat(directory, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR, facts.st_mode & 0o022 == 0 else {
            return geteuid()
        }
        return facts.st_uid
    }

    /// - Throws: `PasscodeKeyError` where the file is not there, is no key, or could have been written by somebody else.
    package func read() throws(PasscodeKeyError) -> Data {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else { throw .unreadable(errno) }
        defer { close(file) }
        var facts = stat()
        guard unsafe fstat(file, &facts) == 0 else { throw .unreadable(errno) }
        guard facts.st_uid == trusted || facts.st_uid == 0, facts.st_mode & 0o022 == 0 else { throw .writableByOthers }
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Self.keyBytes + 1) { buffer, count in
            count = unsafe max(0, Glibc.read(file, buffer.baseAddress!, buffer.count))
        }
        guard bytes.count == Self.keyBytes else { throw .malformed }
        return Data(bytes)
    }
}
