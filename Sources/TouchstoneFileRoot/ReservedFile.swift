package import Foundation
import Glibc
import Synchronization
import TouchstoneEnclave

/// A file of the enclave with spare files beside it, whose room on the disk is set aside: one of them becomes the file where the disk is
/// full.
///
/// A spare is written where it lies, and then renamed: no other program can take the room meanwhile. What it replaced is free then, and with
/// that the next spare is made. Where others are faster, so many writes succeed as there are spares; all are made again when there is room.
///
/// Spares are twice as large as the state is, because it grows.
package final class ReservedFile: EnclaveStorage {
    private struct State {
        /// Of each spare.
        var bytes: Int
        /// Those that are not there, or are too small.
        var missing: Set<Int>
    }

    private let file: PrivateFile
    private let spares: [URL]
    private let smallest: Int
    private let state: Mutex<State>

    /// 16 spares of 64 KiB: 1 MiB together, and more if the state has more than 32 KiB.
    package init(_ file: URL, count: Int = 16, bytes: Int = 64 << 10) {
        self.file = PrivateFile(file)
        smallest = bytes
        let directory = file.deletingLastPathComponent()
        spares = (0..<count).map { directory.appendingPathComponent(".\(file.lastPathComponent).spare-\($0)") }
        state = Mutex(State(bytes: bytes, missing: Set(spares.indices)))
    }

    package func load() throws -> Data? {
        let bytes = try file.read()
        grow(toHold: bytes?.count ?? 0)
        return bytes
    }

    package func replace(_ bytes: Data) throws {
        try file.replace(bytes)
        grow(toHold: bytes.count)
        refill()
    }

    package func replaceWithReserve(_ bytes: Data, leaving spares: Int) throws {
        do {
            try file.replace(bytes)
            grow(toHold: bytes.count)
        } catch let error as PrivateFileError where error.isDiskFull {
            guard let spare = take(holding: bytes.count, leaving: spares) else { throw error }
            try file.replace(bytes, by: spare, flags: 0)
        }
        refill()
    }

    private func grow(toHold count: Int) {
        state.withLock { state in
            guard 2 * count > state.bytes else { return }
            state.bytes = (2 * count + smallest - 1) / smallest * smallest
            state.missing = Set(spares.indices)
        }
    }

    private func take(holding bytes: Int, leaving count: Int) -> URL? {
        state.withLock { state in
            let usable = spares.indices.filter { isReserved(spares[$0], bytes) }
            guard usable.count > count, let index = usable.first else { return nil }
            state.missing.insert(index)
            return spares[index]
        }
    }

    /// Makes the spares that are not there, as far as there is room.
    ///
    /// - Returns: Whether all are there.
    @discardableResult
    package func refill() -> Bool {
        state.withLock { state in
            for index in state.missing.sorted() {
                guard make(spares[index], state.bytes) else { return false }
                state.missing.remove(index)
            }
            return true
        }
    }

    /// One that a process left behind that was ended while it wrote is made again, and one that is too small.
    private func make(_ spare: URL, _ bytes: Int) -> Bool {
        guard !isReserved(spare, bytes) else { return true }
        // The one that is there stays until there is a better one.
        let new = spare.appendingPathExtension("new")
        unsafe unlink(new.path)
        let descriptor = unsafe open(new.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        if posix_fallocate(descriptor, 0, off_t(bytes)) == 0, unsafe rename(new.path, spare.path) == 0 { return true }
        unsafe unlink(new.path)
        return false
    }

    private func isReserved(_ spare: URL, _ bytes: Int) -> Bool {
        var status = stat()
        guard unsafe lstat(spare.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        return (try? PrivateFile.check(status, spare)) != nil && status.st_nlink == 1
            && status.st_size >= off_t(bytes) && Int(status.st_blocks) * 512 >= bytes
    }
}
