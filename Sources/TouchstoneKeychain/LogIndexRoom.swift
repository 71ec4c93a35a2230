import GRDBSQLite
import Glibc

/// Room on the disk for the index of SQLite's log, which is kept when a process that had died is started again.
///
/// Whoever opens the database first makes this file (`-shm`) empty. SQLite gives its blocks back and then takes them again,
/// and on a full disk another program can take them in between. Here they stay with the file and are overwritten (DEC-316).
enum LogIndexRoom {
    /// What SQLite makes the file smaller to; no other of its files is ever so short.
    private static let emptied: off_t = 3
    /// SQLite takes room in parts of this size, and the first has room for a log of 4,062 pages.
    private static let part = 32768

    /// For all databases of this process, before the first is opened.
    static let isKept: Bool = {
        guard let files = unsafe sqlite3_vfs_find(nil) else { return false }
        let makeSmaller: @convention(c) (Int32, off_t) -> Int32 = { descriptor, length in
            var status = stat()
            guard length == emptied, unsafe fstat(descriptor, &status) == 0, status.st_size >= part,
                ftruncate(descriptor, off_t(part)) == 0
            else { return ftruncate(descriptor, length) }
            let zeros = [UInt8](repeating: 0, count: part)
            return unsafe pwrite(descriptor, zeros, part, 0) == part ? 0 : ftruncate(descriptor, length)
        }
        let call = unsafe unsafeBitCast(makeSmaller, to: sqlite3_syscall_ptr.self)
        return unsafe files.pointee.xSetSystemCall(files, "ftruncate", call) == SQLITE_OK
    }()
}
