import Foundation
import Glibc

/// Files that are made once and never changed, in folders below one.
///
/// Paths are of this program's own making: parts of names, which have no slash and no dot. A symbolic link below the folder is
/// not followed.
struct Folder {
    /// Absolute or relative to the process.
    let path: String
    /// Whether the file system has hard links.
    ///
    /// A mounted WebDAV has none.
    var hasLinks = true

    /// Makes the folder and those below that are missing, and makes their names last.
    func make(_ below: [String]) throws(StoreError) {
        var folder = path
        for part in below {
            let made = "\(folder)/\(part)"
            if unsafe mkdir(made, 0o700) == 0 {
                try Self.sync(folder)
            } else if errno != EEXIST {
                throw Self.failure("cannot make the folder \(made)")
            }
            folder = made
        }
    }

    /// Whether the folder itself is there.
    var exists: Bool { unsafe access(path, W_OK | X_OK) == 0 }

    /// The content of a whole file, or nil.
    func content(of file: String, limit: Int) throws(StoreError) -> Data? {
        let descriptor = unsafe open("\(path)/\(file)", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ELOOP { return nil }
            throw Self.failure("cannot open \(path)/\(file)")
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size <= limit + RecordFile.headerCount
        else { return nil }
        var bytes = Data()
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count <= limit + RecordFile.headerCount {
            let count = unsafe read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.failure("cannot read \(path)/\(file)") }
            if count == 0 { return RecordFile.content(of: bytes) }
            bytes.append(contentsOf: piece.prefix(count))
        }
        return nil
    }

    /// Makes a whole file, if there is no whole one of this name.
    ///
    /// What another program left of a file is replaced.
    ///
    /// - Returns: Whether it was made.
    func make(_ file: String, in folder: String, content: Data, limit: Int) throws(StoreError) -> Bool {
        let final = "\(path)/\(folder)/\(file)"
        // A name that `list` and copiers of names do not take for a record's.
        let draft = "\(path)/\(folder)/.\(UInt64.random(in: 0 ... .max)).new"
        try Self.write(RecordFile.file(of: content), to: draft)
        defer { unsafe unlink(draft) }
        guard try claim(final, draft) else {
            if try self.content(of: "\(folder)/\(file)", limit: limit) != nil { return false }
            guard unsafe rename(draft, final) == 0 else { throw Self.failure("cannot replace \(final)") }
            try Self.sync("\(path)/\(folder)")
            return true
        }
        try Self.sync("\(path)/\(folder)")
        return true
    }

    /// Gives the draft its name; false: something has it.
    private func claim(_ final: String, _ draft: String) throws(StoreError) -> Bool {
        if hasLinks {
            if unsafe link(draft, final) == 0 { return true }
            if errno == EEXIST { return false }
            guard [EPERM, ENOSYS, EOPNOTSUPP, EMLINK].contains(errno) else {
                throw Self.failure("cannot make \(final)")
            }
        }
        // An empty file is no whole one, so that nobody reads it, and whoever comes after a crash here replaces it.
        let descriptor = unsafe open(final, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { return false }
            throw Self.failure("cannot make \(final)")
        }
        close(descriptor)
        guard unsafe rename(draft, final) == 0 else { throw Self.failure("cannot make \(final)") }
        return true
    }

    /// Removes a file; one that is not there is no error.
    func remove(_ file: String, in folder: String) throws(StoreError) {
        guard unsafe unlink("\(path)/\(folder)/\(file)") == 0 else {
            if errno == ENOENT { return }
            throw Self.failure("cannot remove \(path)/\(folder)/\(file)")
        }
        try Self.sync("\(path)/\(folder)")
    }

    /// The names in a folder, in no order, that `read` knows; none if there is no folder.
    ///
    /// - Throws: `damaged` for more than `limit` names.
    func names<Name>(in folder: String, limit: Int, _ read: (String) -> Name?) throws(StoreError) -> [Name] {
        guard let list = unsafe opendir("\(path)/\(folder)") else {
            if errno == ENOENT { return [] }
            throw Self.failure("cannot list \(path)/\(folder)")
        }
        defer { unsafe closedir(list) }
        var names: [Name] = []
        while true {
            errno = 0
            guard let entry = unsafe readdir(list) else {
                if errno != 0 { throw Self.failure("cannot list \(path)/\(folder)") }
                return names
            }
            let name = unsafe withUnsafePointer(to: entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(validatingCString: $0) }
            }
            guard let name = name.flatMap(read) else { continue }
            guard names.count < limit else {
                throw .damaged("\(path)/\(folder) has more than \(limit) files, and no circle needs so many")
            }
            names.append(name)
        }
    }

    private static func write(_ bytes: Data, to file: String) throws(StoreError) {
        let descriptor = unsafe open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("cannot make \(file)") }
        defer { close(descriptor) }
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                unsafe Glibc.write(descriptor, bytes.baseAddress! + written, bytes.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0, count <= bytes.count else { throw failed(file) }
            written += count
        }
        guard fsync(descriptor) == 0 else { throw failed(file) }
    }

    private static func failed(_ file: String) -> StoreError {
        let error = failure("cannot write \(file)")
        unsafe unlink(file)
        return error
    }

    /// Makes names in a folder last.
    private static func sync(_ folder: String) throws(StoreError) {
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("cannot open \(folder)") }
        defer { close(descriptor) }
        // Some mounted file systems have no such thing for folders.
        guard fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP else {
            throw failure("cannot make names in \(folder) last")
        }
    }

    private static func failure(_ what: String) -> StoreError {
        let code = errno
        let text = unsafe "\(what): \(String(cString: strerror(code)))"
        return [EACCES, EROFS].contains(code) ? .refused(text) : .unavailable(text)
    }
}
