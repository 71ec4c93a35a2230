import CTouchstoneSystem
import Foundation
import GRDB
import Glibc
import Synchronization

/// Room on the disk that is set aside for the database before it is needed, so that a full disk prevents no deletion.
///
/// SQLite's log has a fixed room, and the database room for all its pages: what is in the log can always move into the database, and then
/// the log's room is free again. A transaction that makes the database larger where there is no room is refused before it is committed.
/// Nothing is released for a deletion: no other program can take the room meanwhile.
///
/// Not on file systems that write every block to another place (Btrfs, ZFS), or that cannot set room aside.
final class DatabaseRoom: Sendable {
    /// More than SQLite lets its log grow to by itself (1,000 pages), by as much again.
    static let logBytes = 8 << 20

    private let file: URL
    /// -1 where the file could not be opened.
    private let descriptor: Int32
    private let held = Mutex(Held())

    private struct Held {
        /// From the file's beginning.
        var bytes = 0
        var pageBytes: Int?
        /// The file's size and its blocks after room was set aside; nil if no room was.
        var file: FileSize?
    }

    private struct FileSize: Equatable {
        var bytes: off_t
        var blocks: blkcnt_t

        init?(_ descriptor: Int32) {
            var status = stat()
            guard unsafe fstat(descriptor, &status) == 0 else { return nil }
            (bytes, blocks) = (status.st_size, status.st_blocks)
        }
    }

    /// Set aside beyond what is needed, if there is room.
    ///
    /// Most transactions then find enough.
    private static let spareBytes = 256 << 10

    init(_ file: URL) {
        self.file = file
        descriptor = unsafe open(file.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Sets room aside for the log, which the connections have made.
    ///
    /// - Returns: Whether there was any.
    func allocateLog() -> Bool {
        let log = unsafe open(file.path + "-wal", O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard log >= 0 else { return false }
        // The connections lock other files than this one.
        defer { close(log) }
        return touchstone_allocate(log, 0, off_t(Self.logBytes)) == 0
    }

    /// Sets room aside for every page that the database has in this transaction.
    ///
    /// A checkpoint gives back what lies beyond the database's end. Then the file has another size or fewer blocks.
    ///
    /// - Throws: `DatabaseError` with `SQLITE_FULL` where there is none.
    func hold(_ turn: StoreConnection.Turn) throws {
        guard descriptor >= 0 else { return }
        let pages = try turn.statement(.pages).first { Int($0.integer(0) ?? 0) } ?? 0
        try held.withLock { held in
            let pageBytes = try held.pageBytes ?? Int.fetchOne(turn.database, sql: "PRAGMA page_size") ?? 4096
            held.pageBytes = pageBytes
            guard let file = FileSize(descriptor) else { return }
            let (written, needed) = (Int(file.bytes), pages * pageBytes)
            guard needed > written, needed > held.bytes || file != held.file else { return }
            // Apart from what is new: a file system may take back all of a range of which it has not all.
            let before = min(max(held.bytes, written), needed)
            for range in [written..<before, before..<needed] where !range.isEmpty {
                let code = allocate(range)
                // What cannot be set aside is used as it comes.
                if code == ENOSPC || code == EDQUOT { throw DatabaseError(resultCode: .SQLITE_FULL) }
            }
            let spare = needed..<needed + Self.spareBytes
            held.bytes = isRoomy && allocate(spare) == 0 ? spare.upperBound : needed
            held.file = FileSize(descriptor)
        }
    }

    /// Whether others do not miss what is set aside: some file systems keep what they could of a range that they refuse.
    private var isRoomy: Bool {
        var room = statvfs()
        return unsafe fstatvfs(descriptor, &room) == 0
            && Int(room.f_bavail) * Int(room.f_frsize) >= 64 * Self.spareBytes
    }

    /// - Returns: 0, or an error of the system's.
    private func allocate(_ range: Range<Int>) -> Int32 {
        touchstone_allocate(descriptor, off_t(range.lowerBound), off_t(range.count))
    }
}
