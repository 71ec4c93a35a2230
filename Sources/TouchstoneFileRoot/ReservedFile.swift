package import Foundation
import Glibc
import Synchronization
import TouchstoneEnclave

/// A file of the enclave with spare files beside it, whose room on the disk is set aside: one of them becomes the file where the disk is
/// full.
///
/// A spare is written where it lies, and then renamed: no other program can take the room meanwhile. What it replaced is free then, and with
/// that the next spare is made. Where others are faster, so many writes succeed as there are spares; all are made again when there is room.
package final class ReservedFile: EnclaveStorage {
    private let file: PrivateFile
    private let spares: [URL]
    private let bytes: Int
    /// Those that are not there.
    private let missing: Mutex<Set<Int>>

    /// 16 spares of 64 KiB, far more than a state has: 1 MiB together.
    package init(_ file: URL, count: Int = 16, bytes: Int = 64 << 10) {
        self.file = PrivateFile(file)
        self.bytes = bytes
        let directory = file.deletingLastPathComponent()
        spares = (0..<count).map { directory.appendingPathComponent(".\(file.lastPathComponent).spare-\($0)") }
        missing = Mutex(Set(spares.indices))
    }

    package func load() throws -> Data? { try file.read() }

    package func replace(_ bytes: Data) throws {
        try file.replace(bytes)
        refill()
    }

    package func replaceWithReserve(_ bytes: Data, leaving spares: Int) throws {
        do {
            try file.replace(bytes)
        } catch let error as PrivateFileError where error.isDiskFull && bytes.count <= self.bytes {
            guard let spare = take(leaving: spares) else { throw error }
            try file.replace(bytes, by: spare, flags: 0)
        }
        refill()
    }

    private func take(leaving count: Int) -> URL? {
        missing.withLock { missing in
            guard spares.count - missing.count > count,
                let index = spares.indices.first(where: { !missing.contains($0) })
            else { return nil }
            missing.insert(index)
            return spares[index]
        }
    }

    /// Makes the spares that are not there, as far as there is room.
    ///
    /// - Returns: Whether all are there.
    @discardableResult
    package func refill() -> Bool {
        missing.withLock { missing in
            for index in missing.sorted() {
                guard make(spares[index]) else { return false }
                missing.remove(index)
            }
            return true
        }
    }

    /// One that a process left behind that was ended while it wrote is made again.
    private func make(_ spare: URL) -> Bool {
        guard !isWhole(spare) else { return true }
        unsafe unlink(spare.path)
        let descriptor = unsafe open(spare.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        if posix_fallocate(descriptor, 0, off_t(bytes)) == 0 { return true }
        unsafe unlink(spare.path)
        return false
    }

    private func isWhole(_ spare: URL) -> Bool {
        var status = stat()
        guard unsafe lstat(spare.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        return (try? PrivateFile.check(status, spare)) != nil && status.st_nlink == 1
            && status.st_size == off_t(bytes) && Int(status.st_blocks) * 512 >= bytes
    }
}
