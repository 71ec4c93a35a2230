import BridgeBus
import BridgeCore
import Crypto
import Foundation
import Glibc

/// For whom a grant is (BR-13, SS-35).
enum Grantee: Hashable, Sendable {
    /// One program: a digest of its path, and of its file where somebody else than root could change that.
    case program(String)
    /// A program that does what its caller wants, in one session: such grants lapse.
    case session(ClientSession)
    /// One connection of a program that nobody knows.
    case connection(String)

    /// The name of its grant's row; nil where its grants are not kept.
    var row: String? {
        guard case .program(let digest) = self else { return nil }
        return digest
    }
}

/// A connection on the bus, and who is behind it (BR-10, BR-11).
struct BusClient: Sendable {
    let name: String
    let client: Client
    let grantee: Grantee
    /// Whether it is in a sandbox, whose programs have the portal instead (BR-7).
    let isSandboxed: Bool

    /// Looks at the process that the bus names.
    init(name: String, _ peer: BusPeer?) {
        self.name = name
        let process = peer.flatMap { $0.userID == geteuid() ? ClientProcess(processID: $0.processID) : nil }
        // Also of a process whose program cannot be seen.
        isSandboxed = process?.isSandboxed ?? false
        guard let process, let path = process.executable else {
            client = .unknown
            grantee = .connection(name)
            return
        }
        client = .known(process, executable: path)
        if Multiplexers.contain(path) {
            grantee = process.clientSession.map(Grantee.session) ?? .connection(name)
        } else {
            grantee = Self.digest(path, process).map(Grantee.program) ?? .connection(name)
        }
    }

    private init(stranger other: BusClient) {
        name = other.name
        client = .unknown
        grantee = .connection(other.name)
        isSandboxed = other.isSandboxed
    }

    /// The same connection as a stranger: what the bus said before and now differs.
    var asStranger: BusClient { BusClient(stranger: self) }

    /// Whether the process is there, and executes what it did.
    var isThere: Bool {
        guard case .known(let process, let path) = client else { return true }
        return process.executable == path
    }

    /// Whether it is the same program in the same process.
    func isSame(as other: BusClient) -> Bool { client == other.client }

    // MARK: Its program

    /// Largest file that is read, in bytes: the service waits meanwhile.
    ///
    /// A larger program is a stranger.
    private static let largestProgram: off_t = 512 << 20

    private static func digest(_ path: String, _ process: ClientProcess) -> String? {
        var hash = SHA256()
        hash.update(data: Data(path.utf8))
        let executed = "/proc/\(process.processID)/exe"
        var status = stat()
        guard unsafe stat(executed, &status) == 0 else { return nil }
        if !isRoots(path, status) {
            guard status.st_size <= largestProgram, let file = FileHandle(forReadingAtPath: executed) else {
                return nil
            }
            hash.update(data: Data([0]))
            while let part = try? file.read(upToCount: 1 << 20), !part.isEmpty { hash.update(data: part) }
            guard process.isThere else { return nil }
        }
        return hash.finalize().map { String(format: "%02x", $0) }.joined()
    }

    /// Whether only root can change the file that is executed, or put another in its place.
    ///
    /// A process can see another file there, in a mount namespace of its own: so it has to be the same one.
    private static func isRoots(_ path: String, _ executed: stat) -> Bool {
        var named = stat()
        guard unsafe lstat(path, &named) == 0, named.st_dev == executed.st_dev, named.st_ino == executed.st_ino else {
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
