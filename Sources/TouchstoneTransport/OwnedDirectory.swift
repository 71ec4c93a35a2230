package import Foundation
internal import Glibc

/// Descriptors or memory ran out while a file or a directory was looked at.
///
/// What it says is then unknown. That is not the same as a file that is not there.
package struct Shortage: Error, Hashable {
    /// Nil if the error number says something else.
    package init?(_ code: Int32) { guard [EMFILE, ENFILE, ENOMEM].contains(code) else { return nil } }
}

/// A directory of small files that only root, and one user who may be named, can change.
package final class OwnedDirectory {
    /// Why a file or the directory is not used.
    package struct Refused: Error, Hashable, CustomStringConvertible {
        package var description: String
        /// Set where the file may be a good one, and could not be read now.
        package var shortage: Shortage?
        package init(description: String, _ shortage: Shortage? = nil) {
            (self.description, self.shortage) = (description, shortage)
        }
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
    ///
    /// - Throws: `Shortage`.
    package static func names(in path: String) throws(Shortage) -> [String] {
        guard let list = unsafe opendir(path) else {
            if let shortage = Shortage(errno) { throw shortage }
            return []
        }
        defer { unsafe closedir(list) }
        var names: [String] = []
        while let entry = unsafe readdir(list) {
            // An entry is only as long as its name. A field of a C structure always has an offset.
            let start = unsafe UnsafeRawPointer(entry) + MemoryLayout<dirent>.offset(of: \.d_name)!
            let name = unsafe String(validatingCString: start.assumingMemoryBound(to: CChar.self))
            if let name, name.hasSuffix(".conf"), !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
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
        default: unsafe .init(description: String(cString: strerror(code)), Shortage(code))
        }
    }
}
