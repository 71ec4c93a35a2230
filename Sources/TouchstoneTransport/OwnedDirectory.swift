package import Foundation
internal import Glibc

/// A directory of small files that only root, and one user who may be named, can change.
package final class OwnedDirectory {
    /// Why a file or the directory is not used.
    package struct Refused: Error, Hashable, CustomStringConvertible {
        package var description: String
        package init(description: String) { self.description = description }
    }

    /// A file or directory as it was when it was read.
    package struct Version: Hashable, Sendable {
        private var device: UInt
        private var inode: UInt
        private var size: Int
        private var mode: UInt32
        private var owner: UInt32
        private var seconds: Int
        private var nanoseconds: Int

        /// nil where there is nothing.
        package init?(path: String) {
            var status = stat()
            guard unsafe lstat(path, &status) == 0 else { return nil }
            device = status.st_dev
            inode = status.st_ino
            size = status.st_size
            mode = status.st_mode
            owner = status.st_uid
            seconds = status.st_ctim.tv_sec
            nanoseconds = status.st_ctim.tv_nsec
        }
    }

    private let descriptor: Int32
    private let owner: UInt32

    /// - Parameters:
    ///   - path: The directory, itself no link.
    ///   - owner: Whose files it may hold, besides root's.
    /// - Throws: `Refused`.
    package init(_ path: String, owner: UInt32) throws(Refused) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW)
        guard descriptor >= 0 else { throw Self.refused(errno) }
        self.descriptor = descriptor
        self.owner = owner
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw Self.refused(errno) }
        try checkOwner(status)
    }

    deinit { close(descriptor) }

    /// The names of the configuration files in a directory, in order; none where it cannot be read.
    package static func names(in path: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.filter { $0.hasSuffix(".conf") && !$0.hasPrefix(".") }.sorted()
    }

    /// What one of its files holds.
    ///
    /// - Throws: `Refused`, also for a file that is longer than `maximum` bytes.
    package func contents(of name: String, atMost maximum: Int) throws(Refused) -> Data {
        // Never waits, whatever lies there, and never leaves the directory.
        let file = unsafe openat(descriptor, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard file >= 0 else { throw Self.refused(errno) }
        let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else { throw Self.refused(errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .init(description: "it is not a regular file") }
        try checkOwner(status)
        let bytes: Data
        do { bytes = try handle.read(upToCount: maximum + 1) ?? Data() } catch {
            throw .init(description: "it cannot be read")
        }
        guard bytes.count <= maximum else { throw .init(description: "it is longer than \(maximum) bytes") }
        return bytes
    }

    private func checkOwner(_ status: stat) throws(Refused) {
        guard status.st_uid == 0 || status.st_uid == owner else {
            throw .init(description: "it belongs to user \(status.st_uid)")
        }
        guard status.st_mode & 0o022 == 0 else { throw .init(description: "others can write to it") }
    }

    private static func refused(_ code: Int32) -> Refused {
        switch code {
        case ELOOP: .init(description: "it is a symbolic link")
        case ENOTDIR: .init(description: "it is not a directory, or is a symbolic link")
        default: unsafe .init(description: String(cString: strerror(code)))
        }
    }
}
