package import Foundation
import Glibc
import Synchronization
import TouchstoneCore
import TouchstoneLog

/// The log on the disk.
///
/// Lines are only ever added to `audit.log`. Where it has grown too large it becomes the next of `audit.log.1`, the oldest, `audit.log.2` and
/// so on. Nothing here ever deletes a line: old files are the owner's to move away.
package final class LogFiles: LogStorage {
    private let directory: URL
    private let maximumBytes: Int
    private let current = Mutex<Int32>(-1)

    package static let name = "audit.log"
    /// A file with a larger number is not ours.
    private static let maximumNumber = 1_000_000_000

    /// The log cannot be used; says which file and why.
    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ path: String, code: Int32 = errno) {
            description = "\(path): \(unsafe String(cString: strerror(code)))"
        }
    }

    /// A file larger than `maximumBytes` gets no more lines: another is begun.
    package init(directory: URL, maximumBytes: Int = 4 << 20) {
        self.directory = directory
        self.maximumBytes = maximumBytes
    }

    deinit {
        current.withLock { if $0 >= 0 { close($0) } }
    }

    private var path: String { directory.appendingPathComponent(Self.name).path }

    package func append(_ line: String) throws {
        try current.withLock { descriptor in
            if descriptor < 0 { descriptor = try open() }
            var size = try Self.size(descriptor, path)
            if size >= maximumBytes {
                try rotate()
                close(descriptor)
                descriptor = -1
                descriptor = try open()
                size = 0
            }
            let bytes = Array("\(line)\n".utf8)
            let count = unsafe write(descriptor, bytes, bytes.count)
            guard count == bytes.count else {
                let failure = Failure(path, code: count < 0 ? errno : ENOSPC)
                // No half a line is left behind; it comes whole when there is room.
                if count > 0 { ftruncate(descriptor, off_t(size)) }
                throw failure
            }
        }
    }

    package func synchronize() throws {
        try current.withLock { descriptor in
            guard descriptor >= 0, fdatasync(descriptor) != 0 else { return }
            throw Failure(path)
        }
    }

    private func open() throws -> Int32 {
        let descriptor = unsafe Glibc.open(
            path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw Failure(path) }
        do {
            let size = try Self.size(descriptor, path)
            var end = [UInt8](repeating: 0, count: min(size, LogEntry.maximumLineBytes))
            let count = end.count
            guard unsafe pread(descriptor, &end, count, off_t(size - count)) == count else { throw Failure(path) }
            let unfinished = end[((end.lastIndex(of: UInt8(ascii: "\n")) ?? -1) + 1)...]
            if unfinished.isEmpty { return descriptor }
            // A power cut took the end of a line: what is left of it is no entry, and no sign of anybody's hand. What is longer than a line, or
            // lacks but the line's end, stays.
            if unfinished.count < count || count == size, unfinished.last != UInt8(ascii: "}") {
                guard ftruncate(descriptor, off_t(size - unfinished.count)) == 0 else { throw Failure(path) }
            } else if unsafe write(descriptor, "\n", 1) != 1 {
                throw Failure(path)
            }
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    private static func size(_ descriptor: Int32, _ path: String) throws -> Int {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw Failure(path) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
            throw Failure(path, code: EPERM)
        }
        return Int(status.st_size)
    }

    private func rotate() throws {
        let next = (try numbers().last ?? 0) + 1
        // Then the file grows: nothing is written over another.
        guard next <= Self.maximumNumber else { return }
        guard unsafe rename(path, "\(path).\(next)") == 0 else { throw Failure(path) }
    }

    /// Of the older files, oldest first.
    private func numbers() throws -> [Int] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path)
            .compactMap { name in
                guard name.hasPrefix("\(Self.name)."), let number = Int(name.dropFirst(Self.name.count + 1)),
                    (1...Self.maximumNumber).contains(number), "\(Self.name).\(number)" == name
                else { return nil }
                return number
            }
            .sorted()
    }

    // MARK: reading

    package func lines(newest: Int?) throws -> any Sequence<String> {
        var pieces: [Piece] = []
        var found = 0
        for path in ([path] + (try numbers().reversed().map { "\(path).\($0)" })) {
            guard let piece = try Piece(path) else { continue }
            pieces.insert(piece, at: 0)
            guard let newest else { continue }
            found += piece.reduce(0) { count, _ in count + 1 }
            if found >= newest { break }
        }
        let all = pieces.lazy.joined()
        guard let newest else { return all }
        return all.dropFirst(max(0, found - max(newest, 0)))
    }

    /// What was in one file when it was opened.
    private struct Piece: Sequence {
        private let file: OpenFile

        /// nil where there is no such file.
        init?(_ path: String) throws {
            guard let file = try OpenFile(path) else { return nil }
            self.file = file
        }

        func makeIterator() -> Lines { Lines(file) }
    }

    fileprivate final class OpenFile: Sendable {
        let descriptor: Int32
        let size: Int

        init?(_ path: String) throws {
            descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard descriptor >= 0 else {
                if errno == ENOENT { return nil }
                throw Failure(path)
            }
            do {
                size = try LogFiles.size(descriptor, path)
            } catch {
                close(descriptor)
                throw error
            }
        }

        deinit { close(descriptor) }
    }

    /// Line by line; one that is too long to be an entry comes in parts, which are not entries either.
    private struct Lines: IteratorProtocol {
        private let file: OpenFile
        private var offset = 0
        private var buffer: [UInt8] = []
        private var position = 0

        init(_ file: OpenFile) { self.file = file }

        private static let chunkBytes = 1 << 16

        mutating func next() -> String? {
            while true {
                let rest = buffer[position...]
                if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    defer { position = end + 1 }
                    return String(decoding: rest[..<end], as: UTF8.self)
                }
                let isFull = rest.count >= Self.chunkBytes
                if isFull || !fill() {
                    guard position < buffer.count else { return nil }
                    defer { position = buffer.count }
                    return String(decoding: buffer[position...], as: UTF8.self)
                }
            }
        }

        /// false where there is no more.
        private mutating func fill() -> Bool {
            buffer.removeFirst(position)
            position = 0
            let wanted = min(Self.chunkBytes, file.size - offset)
            guard wanted > 0 else { return false }
            var chunk = [UInt8](repeating: 0, count: wanted)
            let count = unsafe pread(file.descriptor, &chunk, wanted, off_t(offset))
            guard count > 0 else { return false }
            offset += count
            buffer += chunk[..<count]
            return true
        }
    }
}
