import Foundation
import Glibc
import SyncEngine

/// How far synchronizing of one device has come, in this user's state directory; one process has it at a time.
///
/// It holds names of sealed objects. If it is lost, everything is given once more.
struct ProgressFile: Sendable {
    private let path: String
    private let lock: Int32

    enum Failure: Error, CustomStringConvertible {
        case system(String, Int32)
        case taken

        var description: String {
            switch self {
            case .system(let what, let code): unsafe "\(what): \(String(cString: strerror(code)))"
            case .taken: "another touchstone-sync runs for this device"
            }
        }
    }

    private static func path(_ device: String) -> String {
        let environment = ProcessInfo.processInfo.environment
        let state =
            environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
            ?? "\(environment["HOME"] ?? NSHomeDirectory())/.local/state"
        return "\(state)/touchstone/sync/\(device).json"
    }

    /// Takes it for this process.
    init(device: String) throws(Failure) {
        path = Self.path(device)
        let folder = (path as NSString).deletingLastPathComponent
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw .system(folder, errno)
        }
        lock = unsafe Glibc.open("\(path).lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else { throw .system("\(path).lock", errno) }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else { throw errno == EWOULDBLOCK ? .taken : .system(path, errno) }
    }

    /// Whether a process has it.
    static func isTaken(device: String) -> Bool {
        let lock = unsafe Glibc.open("\(path(device)).lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard lock >= 0 else { return false }
        defer { close(lock) }
        return flock(lock, LOCK_SH | LOCK_NB) != 0
    }

    /// A new one if it is of another store, not there, or not whole.
    func read(store: String) -> SyncProgress {
        guard let data = FileManager.default.contents(atPath: path),
            let progress = try? JSONDecoder().decode(SyncProgress.self, from: data), progress.store == store
        else { return SyncProgress(store: store) }
        return progress
    }

    /// In the place of the earlier one, as a whole.
    func save(_ progress: SyncProgress) throws {
        let draft = "\(path).new"
        let bytes = try JSONEncoder().encode(progress)
        let descriptor = unsafe Glibc.open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Failure.system(draft, errno) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: bytes)
        guard fsync(descriptor) == 0, unsafe rename(draft, path) == 0 else { throw Failure.system(path, errno) }
    }

    static func remove(device: String) { unsafe unlink(path(device)) }
}
