import Crypto
import Dispatch
import Foundation
import Glibc
import Synchronization
import TouchstoneCore
import TouchstoneTransport

/// Digests of files, each taken once for as long as the file does not change.
final class FileDigests: Sendable {
    /// A file as it was when its digest was taken.
    fileprivate struct Version: Hashable {
        var device: UInt
        var inode: UInt
        var size: Int
        var modified: Int
        var modifiedNanoseconds: Int
        /// Of any change: the time of the content is whatever the file's owner says it is.
        var changed: Int
        var changedNanoseconds: Int

        init(_ status: stat) {
            device = status.st_dev
            inode = status.st_ino
            size = status.st_size
            modified = status.st_mtim.tv_sec
            modifiedNanoseconds = status.st_mtim.tv_nsec
            changed = status.st_ctim.tv_sec
            changedNanoseconds = status.st_ctim.tv_nsec
        }
    }

    private struct State {
        var known: [Version: String] = [:]
        /// Who waits for a digest that is being taken.
        var awaited: [Version: [@Sendable (Found) -> Void]] = [:]
    }

    /// Files that are read at a time, elsewhere.
    private static let atOnce = 2

    private let maximum: Int
    private let maximumBytes: Int
    private let state = Mutex(State())
    /// One file after the other, each at most once at a time: whoever keeps changing one holds up those who run that one.
    private let turns = Turns(.init(total: FileDigests.atOnce, perApp: 1))
    private let queue = DispatchQueue(label: "io.touchstone.digests", attributes: .concurrent)

    /// - Parameters:
    ///   - maximum: How many are kept.
    ///   - maximumBytes: Larger files have none: they would be read while others wait.
    init(maximum: Int, maximumBytes: Int) {
        (self.maximum, self.maximumBytes) = (maximum, maximumBytes)
    }

    /// A digest, and the file that it is of.
    struct Found: Sendable {
        fileprivate var version: Version?
        /// SHA-256, lowercase hex; nil for a file that cannot be read or is too large.
        var digest: String?
    }

    /// SHA-256 of a file, lowercase hex; nil for one that cannot be read or is too large.
    func digest(_ path: String) -> String? {
        guard let (file, version) = open(path) else { return nil }
        return state.withLock { $0.known[version] } ?? take(file, version)
    }

    /// What is known of a file without reading it; nil where it has to be read, which happens elsewhere, and `later` is told.
    func look(_ path: String, later: @escaping @Sendable (Found) -> Void) -> Found? {
        guard let (file, version) = open(path) else { return Found() }
        let (known, isFirst) = state.withLock { state -> (String?, Bool) in
            if let known = state.known[version] { return (known, false) }
            state.awaited[version, default: []].append(later)
            return (nil, state.awaited[version]?.count == 1)
        }
        if let known { return Found(version: version, digest: known) }
        guard isFirst else { return nil }
        // The file, whatever is in it.
        let party = Turns.Party(app: "\(version.device) \(version.inode)")
        turns.take(for: party) { [self] turn in
            queue.async { [self] in
                // One that has changed since needs no reading: what is found is not of what it is now.
                let isUnchanged = open(file).map { $0.1 == version } ?? false
                let found = Found(version: version, digest: isUnchanged ? take(file, version) : nil)
                turn.end()
                for later in state.withLock({ $0.awaited.removeValue(forKey: version) ?? [] }) { later(found) }
            }
        }
        return nil
    }

    /// Whether what was found is of the file as it is now.
    func isOf(_ path: String, _ found: Found) -> Bool { open(path)?.1 == found.version }

    private func open(_ path: String) -> (FileHandle, Version)? {
        FileHandle(forReadingAtPath: path).flatMap(open)
    }

    private func open(_ file: FileHandle) -> (FileHandle, Version)? {
        var status = stat()
        guard unsafe fstat(file.fileDescriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size <= maximumBytes
        else { return nil }
        return (file, Version(status))
    }

    /// Reads a file to its end; nil if it cannot be read.
    private func take(_ file: FileHandle, _ version: Version) -> String? {
        var hash = SHA256()
        let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.chunkBytes, alignment: 64)
        defer { unsafe chunk.deallocate() }
        // By `FileHandle` it would take one call of the kernel for each 4 KiB, and a copy.
        while true {
            let count = unsafe read(file.fileDescriptor, chunk.baseAddress, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { break }
            unsafe hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: chunk[..<count]))
        }
        let digest = hash.finalize().map { String(format: "%02x", $0) }.joined()
        state.withLock { state in
            if state.known.count >= maximum, let any = state.known.keys.first { state.known[any] = nil }
            state.known[version] = digest
        }
        return digest
    }

    private static let chunkBytes = 256 << 10
}
