internal import CTouchstoneSystem
internal import Crypto
internal import Foundation
import Glibc

/// A program as a grant remembers it: its path, and its file where somebody else than root could change that (BR-31).
public struct ProgramIdentity: Codable, Hashable, Sendable {
    /// Where its file is, without symbolic links.
    public let path: String
    /// SHA-256 of its file, in hexadecimal digits; nil where only root can change the file, or put another in its place.
    public let digest: String?

    /// One text for both: SHA-256 of the path and the digest, in hexadecimal digits.
    public var fingerprint: String {
        SHA256.hash(data: Data("\(path)\0\(digest ?? "")".utf8)).map { String(format: "%02x", $0) }.joined()
    }

    /// The program that a process executes.
    ///
    /// It takes as long as its file takes to read. Nil where a grant could let in more than this program: for a sandboxed one (BR-7), one
    /// that does what its caller wants (BR-13), one that nobody can identify, one in a file system of FUSE, and one whose file is too large to
    /// be read.
    ///
    /// - Parameter process: Who asks.
    public init?(_ process: ClientProcess) {
        guard !process.isSandboxed, let path = process.executable, !Multiplexers.contain(path) else { return nil }
        let file = "/proc/\(process.processID)/exe"
        guard unsafe !touchstone_is_on_fuse(file) else { return nil }
        var status = stat()
        // What the kernel executes is a program, also if only root can read its file.
        if unsafe stat(file, &status) == 0, Self.isRoots(path, status) {
            self.init(path: path, digest: nil)
        } else {
            self.init(path: path, file: file)
        }
        guard process.executable == path else { return nil }
    }

    /// The program of a file that the owner names.
    ///
    /// Nil as for a process, and for a script, because what executes it is its interpreter.
    ///
    /// - Parameter file: An absolute path.
    public init?(file: String) {
        guard file.hasPrefix("/"), let resolved = unsafe realpath(file, nil) else { return nil }
        defer { unsafe free(resolved) }
        guard let path = unsafe String(validatingCString: resolved), !Multiplexers.contain(path),
            unsafe !touchstone_is_on_fuse(path)
        else { return nil }
        self.init(path: path, file: path)
    }

    /// Largest file that is read, in bytes.
    private static let largestFile: off_t = 512 << 20

    private init(path: String, digest: String?) {
        (self.path, self.digest) = (path, digest)
    }

    private init?(path: String, file: String) {
        // Never a device or a pipe, on which it would wait.
        let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_mode & 0o111 != 0, let start = try? handle.read(upToCount: 4), start == Data("\u{7F}ELF".utf8)
        else { return nil }
        self.path = path
        if Self.isRoots(path, status) {
            digest = nil
            return
        }
        guard status.st_size <= Self.largestFile else { return nil }
        var hash = SHA256()
        hash.update(data: start)
        do {
            while let part = try handle.read(upToCount: 1 << 20), !part.isEmpty { hash.update(data: part) }
        } catch {
            return nil
        }
        digest = hash.finalize().map { String(format: "%02x", $0) }.joined()
    }

    /// Whether only root can change the file, or put another in its place.
    ///
    /// A process can see another file there, in a mount namespace of its own: so it has to be the same one.
    private static func isRoots(_ path: String, _ file: stat) -> Bool {
        var named = stat()
        guard unsafe lstat(path, &named) == 0, named.st_dev == file.st_dev, named.st_ino == file.st_ino else {
            return false
        }
        var place = path
        while true {
            var status = stat()
            guard unsafe lstat(place, &status) == 0, status.st_uid == 0 else { return false }
            let isSticky = status.st_mode & S_IFMT == S_IFDIR && status.st_mode & S_ISVTX != 0
            guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 || isSticky else { return false }
            if place == "/" { return true }
            place = (place as NSString).deletingLastPathComponent
        }
    }
}
