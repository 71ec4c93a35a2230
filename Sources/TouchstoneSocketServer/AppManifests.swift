package import Foundation
import Glibc
import Synchronization
import TouchstoneCore

/// The manifests of a device's apps, read anew when a file or a directory has changed.
package final class AppManifests: Sendable {
    package struct Directory: Sendable {
        let path: String
        /// Whose files it may hold, besides root's.
        let owner: UInt32

        package init(path: String, owner: UInt32 = 0) {
            self.path = path
            self.owner = owner
        }
    }

    /// The administrator's, which win, and those of packages.
    package static let system = [
        Directory(path: "/etc/touchstone/apps.d"), Directory(path: "/usr/share/touchstone/apps"),
    ]

    /// Those of a simulated device: its own directory wins over the system's.
    ///
    /// What lies in it may be its owner's: whoever can write there can as well replace the device's daemon and its files, so that a
    /// manifest gives nobody what he has not.
    package static func simulated(state: URL, owner: UInt32) -> [Directory] {
        [Directory(path: state.appendingPathComponent("apps.d").path, owner: owner)] + system
    }

    /// A file or directory as it was when it was read.
    private struct Version: Hashable {
        var device: UInt
        var inode: UInt
        var size: Int
        var mode: UInt32
        var owner: UInt32
        var seconds: Int
        var nanoseconds: Int

        init(_ status: stat) {
            device = status.st_dev
            inode = status.st_ino
            size = status.st_size
            mode = status.st_mode
            owner = status.st_uid
            seconds = status.st_ctim.tv_sec
            nanoseconds = status.st_ctim.tv_nsec
        }
    }

    private struct State {
        var versions: [String: Version]?
        /// By the spelling of the identity.
        var manifests: [[UInt8]: Found] = [:]
    }

    private enum Limits {
        static let files = 4096
    }

    private let directories: [Directory]
    private let report: @Sendable (String) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - directories: Where manifests lie. A file in one hides those of the same name in the ones behind it, used or refused.
    ///   - report: Is told of every file and directory that is refused, when it is read.
    package init(_ directories: [Directory], report: @escaping @Sendable (String) -> Void) {
        self.directories = directories
        self.report = report
    }

    /// A manifest, and the path of its file.
    struct Found {
        var file: String
        var manifest: AppManifest
    }

    /// The manifest that speaks for an application identifier, as the files are now.
    package func manifest(for identity: String) -> AppManifest? { found(for: identity)?.manifest }

    /// The same with its file.
    func found(for identity: String) -> Found? {
        state.withLock { state in
            let found = directories.map { (directory: $0, names: Self.names(in: $0)) }
            let versions = Self.versions(found)
            if versions != state.versions {
                state.manifests = load(found)
                state.versions = versions
            }
            return state.manifests[identity.spelling]
        }
    }

    private static func names(in directory: Directory) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        return names.filter { $0.hasSuffix(".conf") && !$0.hasPrefix(".") }.sorted()
    }

    private static func versions(_ found: [(directory: Directory, names: [String])]) -> [String: Version] {
        var versions: [String: Version] = [:]
        for (directory, names) in found {
            for path in [directory.path] + names.prefix(Limits.files).map({ "\(directory.path)/\($0)" }) {
                var status = stat()
                if unsafe lstat(path, &status) == 0 { versions[path] = Version(status) }
            }
        }
        return versions
    }

    private func load(_ found: [(directory: Directory, names: [String])]) -> [[UInt8]: Found] {
        var read: [Found] = []
        var names: Set<String> = []
        for (directory, all) in found {
            // Absent is as good as empty.
            guard unsafe access(directory.path, F_OK) == 0 else { continue }
            do throws(AppManifest.Refused) {
                let open = try OpenDirectory(directory, files: all.count, atMost: Limits.files)
                for name in all where names.insert(name).inserted {
                    let path = "\(directory.path)/\(name)"
                    do throws(AppManifest.Refused) {
                        read.append(Found(file: path, manifest: try open.manifest(name)))
                    } catch {
                        report("\(path) is not used: \(error)")
                    }
                }
            } catch {
                report("\(directory.path) is not read: \(error)")
            }
        }
        return withoutConflicts(read)
    }

    /// One manifest for each identity, the first; and no group of two families (KC-43).
    private func withoutConflicts(_ read: [Found]) -> [[UInt8]: Found] {
        var first: [[UInt8]: Found] = [:]
        var inOrder: [Found] = []
        for entry in read {
            if let other = first[entry.manifest.identity.spelling] {
                report("\(entry.file) is not used: \(other.file) speaks for \(entry.manifest.identity) already")
            } else {
                first[entry.manifest.identity.spelling] = entry
                inOrder.append(entry)
            }
        }
        var families: [String: Set<String>] = [:]
        for manifest in inOrder.map(\.manifest) {
            for group in manifest.applicationGroups { families[group, default: []].insert(manifest.family ?? "") }
        }
        var manifests: [[UInt8]: Found] = [:]
        for entry in inOrder {
            // Nobody has it, rather than whoever comes first.
            if let group = entry.manifest.applicationGroups.first(where: { families[$0, default: []].count > 1 }) {
                report("\(entry.file) is not used: \(group) is named by more than one family")
            } else {
                manifests[entry.manifest.identity.spelling] = entry
            }
        }
        return manifests
    }
}

/// A directory of manifests that nobody but its owner can change.
private final class OpenDirectory {
    private let descriptor: Int32
    private let owner: UInt32

    init(_ directory: AppManifests.Directory, files: Int, atMost maximum: Int) throws(AppManifest.Refused) {
        let descriptor = unsafe open(directory.path, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW)
        guard descriptor >= 0 else { throw Self.refused(errno) }
        self.descriptor = descriptor
        owner = directory.owner
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw Self.refused(errno) }
        try checkOwner(status)
        guard files <= maximum else { throw .init(description: "it has more than \(maximum) files") }
    }

    deinit { close(descriptor) }

    func manifest(_ name: String) throws(AppManifest.Refused) -> AppManifest {
        // Never waits, whatever lies there, and never leaves the directory.
        let file = unsafe openat(descriptor, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard file >= 0 else { throw Self.refused(errno) }
        let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else { throw Self.refused(errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .init(description: "it is not a regular file") }
        try checkOwner(status)
        let bytes: Data
        do { bytes = try handle.read(upToCount: AppManifest.Limits.bytes + 1) ?? Data() } catch {
            throw .init(description: "it cannot be read")
        }
        guard bytes.count <= AppManifest.Limits.bytes else {
            throw .init(description: "it is longer than \(AppManifest.Limits.bytes) bytes")
        }
        let keys: KeyFile
        do throws(KeyFile.Malformed) { keys = try KeyFile(bytes) } catch {
            throw .init(description: error.description)
        }
        return try AppManifest(keys)
    }

    private func checkOwner(_ status: stat) throws(AppManifest.Refused) {
        guard status.st_uid == 0 || status.st_uid == owner else {
            throw .init(description: "it belongs to user \(status.st_uid)")
        }
        guard status.st_mode & 0o022 == 0 else { throw .init(description: "others can write to it") }
    }

    private static func refused(_ code: Int32) -> AppManifest.Refused {
        switch code {
        case ELOOP: .init(description: "it is a symbolic link")
        case ENOTDIR: .init(description: "it is not a directory, or is a symbolic link")
        default: unsafe .init(description: String(cString: strerror(code)))
        }
    }
}
