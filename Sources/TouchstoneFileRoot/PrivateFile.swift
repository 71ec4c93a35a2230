package import Foundation
import Glibc
import TouchstoneEnclave

/// A file of the enclave is not as it must be.
///
/// Says which and why, never what is in it.
package struct PrivateFileError: Error, CustomStringConvertible {
    package let path: String
    package let reason: String
    /// Whether it could not be written because there was no room.
    let isDiskFull: Bool

    init(_ file: URL, _ reason: String, isDiskFull: Bool = false) {
        path = file.path
        self.reason = reason
        self.isDiskFull = isDiskFull
    }

    package var description: String { "\(path) \(reason)" }
}

/// A small file that belongs to this user and that nobody else can read; replaced whole or not at all.
package struct PrivateFile: EnclaveStorage {
    let file: URL

    package init(_ file: URL) {
        self.file = file
    }

    package func load() throws -> Data? { try read() }

    /// nil if there is no file.
    ///
    /// - Throws: `PrivateFileError` where others could read or write it, or it is larger than 1 MiB.
    package func read() throws -> Data? {
        try Self.checkPrivate(directory: file.deletingLastPathComponent())
        let descriptor = unsafe open(file.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw PrivateFileError(file, "cannot be opened: \(Self.message())")
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw PrivateFileError(file, "cannot be examined") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw PrivateFileError(file, "is not a file") }
        try Self.check(status, file)
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
        let bytes = try handle.read(upToCount: Self.maximumBytes + 1) ?? Data()
        guard bytes.count <= Self.maximumBytes else { throw PrivateFileError(file, "is too large") }
        return bytes
    }

    /// Returns once the new bytes are on the disk, under this name, whole.
    ///
    /// - Throws: `PrivateFileError`, also for more than `read` would take: the file is as it was.
    package func replace(_ bytes: Data) throws { try replace(bytes, isDurable: true) }

    /// The same for what is worth nothing once the machine has stopped: it does not wait for the disk (DEC-360).
    ///
    /// Programs that run see the old bytes or the new ones, whole. After a power cut the file may hold neither.
    package func replaceUntilPowerCut(_ bytes: Data) throws { try replace(bytes, isDurable: false) }

    private func replace(_ bytes: Data, isDurable: Bool) throws {
        let temporary = file.deletingLastPathComponent().appendingPathComponent(".\(file.lastPathComponent).new")
        unsafe unlink(temporary.path)
        try replace(bytes, by: temporary, flags: O_CREAT | O_EXCL, isDurable: isDurable)
    }

    /// As `replace`, with a file that `flags` open or make; it is gone afterwards.
    func replace(_ bytes: Data, by temporary: URL, flags: Int32, isDurable: Bool = true) throws {
        guard bytes.count <= Self.maximumBytes else { throw PrivateFileError(file, "would be too large") }
        let directory = file.deletingLastPathComponent()
        try Self.checkPrivate(directory: directory)
        let descriptor = unsafe open(temporary.path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0o600)
        guard descriptor >= 0 else {
            let isFull = Self.isFull(errno)
            throw PrivateFileError(file, "cannot be written: \(Self.message())", isDiskFull: isFull)
        }
        defer { close(descriptor) }
        let isWritten = unsafe bytes.withUnsafeBytes { buffer in
            var offset = 0
            while offset < buffer.count {
                let count = unsafe write(descriptor, buffer.baseAddress! + offset, buffer.count - offset)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { return false }
                offset += count
            }
            return true
        }
        guard isWritten, ftruncate(descriptor, off_t(bytes.count)) == 0, !isDurable || fsync(descriptor) == 0,
            unsafe rename(temporary.path, file.path) == 0
        else {
            let (isFull, message) = (Self.isFull(errno), Self.message())
            unsafe unlink(temporary.path)
            throw PrivateFileError(file, "cannot be written: \(message)", isDiskFull: isFull)
        }
        guard isDurable else { return }
        let directoryDescriptor = unsafe open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(directoryDescriptor) }
        guard directoryDescriptor >= 0, fsync(directoryDescriptor) == 0 else {
            throw PrivateFileError(file, "was replaced, but that may not be on the disk: \(Self.message())")
        }
    }

    /// Writes the bytes over as many old ones, for a disk that has no room for another file: not whole where the machine stops meanwhile.
    ///
    /// - Throws: `PrivateFileError` if there is no file of this length, or others could read or write it.
    package func overwrite(_ bytes: Data) throws {
        guard try read() != nil, Self.overwrite(file.path, bytes) else {
            throw PrivateFileError(file, "cannot be written: \(Self.message())")
        }
    }

    /// The same of any file of this user; false if it is not one of this length, or is not written.
    package static func overwrite(_ path: String, _ bytes: Data) -> Bool {
        let descriptor = unsafe open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_size == bytes.count
        else { return false }
        let count = unsafe bytes.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress!, $0.count, 0) }
        return count == bytes.count && fsync(descriptor) == 0
    }

    /// - Throws: `PrivateFileError` where anybody but this user may enter the directory.
    package static func checkPrivate(directory: URL) throws {
        var status = stat()
        guard unsafe lstat(directory.path, &status) == 0 else { throw PrivateFileError(directory, "is missing") }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw PrivateFileError(directory, "is not a directory") }
        try check(status, directory)
    }

    static func check(_ status: stat, _ file: URL) throws {
        guard status.st_uid == geteuid() else { throw PrivateFileError(file, "belongs to another user") }
        guard status.st_mode & 0o077 == 0 else {
            throw PrivateFileError(file, "can be read by others; if nobody has read it, run chmod go-rwx on it")
        }
    }

    private static func isFull(_ code: Int32) -> Bool { code == ENOSPC || code == EDQUOT }

    private static func message() -> String { unsafe String(cString: strerror(errno)) }

    private static let maximumBytes = 1 << 20
}
