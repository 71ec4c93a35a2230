import CTouchstoneSystem
import Crypto
import Foundation
import Glibc
import Synchronization
import TouchstoneCore
import TouchstoneTransport

/// Says who is at the other end of a connection, from what the kernel knows: sandbox, systemd unit, executable, in that order.
package final class PeerIdentities: Sendable {
    private let digests = Mutex<[FileKey: String]>([:])

    /// A file as it was when its digest was taken.
    private struct FileKey: Hashable {
        var device: UInt
        var inode: UInt
        var size: Int
        var seconds: Int
        var nanoseconds: Int

        init(_ status: stat) {
            device = status.st_dev
            inode = status.st_ino
            size = status.st_size
            // Of the change, not of the content: the content's time is whatever the file's owner says it is.
            seconds = status.st_ctim.tv_sec
            nanoseconds = status.st_ctim.tv_nsec
        }
    }

    private enum Limits {
        static let digests = 1024
        static let digestedBytes = 256 << 20
        static let procFileBytes = 64 << 10
    }

    private let ownerID: UInt32

    /// - Parameter ownerID: The user whose device this is: the programs of that user, and of root, are its apps. An identifier does not say
    ///   whose process it is, so another user's is none.
    package init(ownerID: UInt32) {
        self.ownerID = ownerID
    }

    /// The peer of a connected socket; nil where the kernel does not say.
    func peer(ofSocket socket: Int32) -> Peer? {
        var credentials = touchstone_peer()
        guard unsafe touchstone_peer_of(socket, &credentials) == 0 else { return nil }
        let process = PeerProcess(descriptor: credentials.pidfd)
        let (processID, userID) = (credentials.pid, credentials.uid)
        return Peer(processID: processID, userID: userID) { [self] in
            guard userID == ownerID || userID == 0 else { return nil }
            let identity = identity(processID: processID, userID: userID)
            // Looked at while it lived, so what was read is of this process and not of one that got its number.
            return process.isAlive ? identity : nil
        }
    }

    private func identity(processID: Int32, userID: UInt32) -> AppIdentity? {
        let proc = "/proc/\(processID)"
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(proc)/exe") else { return nil }
        let digest = digest("\(proc)/exe")
        func identity(_ identifier: String, _ evidence: AppIdentity.Evidence, _ name: String) -> AppIdentity {
            AppIdentity(
                identifier: identifier, evidence: evidence, name: name, processID: processID, userID: userID,
                executableDigest: digest)
        }
        if let app = flatpak(proc) { return identity("flatpak:\(app)", .flatpak, app) }
        let group = controlGroup(proc)
        if let snap = Self.snap(inControlGroup: group) { return identity("snap:\(snap)", .snap, snap) }
        if let unit = Self.unit(ofControlGroup: group) { return identity("unit:\(unit)", .systemdUnit, unit) }
        let name = URL(fileURLWithPath: path).lastPathComponent
        // A path in another mount namespace, or one whose file was replaced since, is not the path we see.
        guard isSameFile("\(proc)/exe", path) else { return identity("\(path) (replaced)", .executable, name) }
        return identity(path, .executable, name)
    }

    // MARK: evidence

    /// The application id in the file that Flatpak puts into the sandbox, out of a sandboxed app's reach.
    ///
    /// A label: a program that is not sandboxed can make a root directory with such a file.
    private func flatpak(_ proc: String) -> String? {
        guard let text = read("\(proc)/root/.flatpak-info") else { return nil }
        var isApplication = false
        for line in text.split(separator: "\n") {
            if line.hasPrefix("[") { isApplication = line == "[Application]" }
            if isApplication, line.hasPrefix("name=") { return String(line.dropFirst("name=".count)) }
        }
        return nil
    }

    private func controlGroup(_ proc: String) -> String {
        let text = read("\(proc)/cgroup") ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("0::") }
        return line.map { String($0.dropFirst("0::".count)) } ?? ""
    }

    /// `snap.NAME.APP…` as snapd names its scopes and services.
    ///
    /// A label: a user's own manager can be told to use such a name, too.
    static func snap(inControlGroup path: String) -> String? {
        for part in path.split(separator: "/") where part.hasPrefix("snap.") {
            let names = part.split(separator: ".")
            guard names.count >= 3 else { continue }
            return String(names[1])
        }
        return nil
    }

    /// The system service whose control group it is.
    ///
    /// What a user's own manager runs may have any name its user likes, and sessions hold everything a person starts,
    /// so both name nobody.
    static func unit(ofControlGroup path: String) -> String? {
        guard path.hasPrefix("/system.slice/"), let last = path.split(separator: "/").last, last.hasSuffix(".service"),
            !last.hasPrefix("user@")
        else {
            return nil
        }
        return String(last)
    }

    private func isSameFile(_ one: String, _ other: String) -> Bool {
        var first = stat()
        var second = stat()
        guard unsafe stat(one, &first) == 0, unsafe stat(other, &second) == 0 else { return false }
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }

    private func digest(_ path: String) -> String? {
        guard let file = FileHandle(forReadingAtPath: path) else { return nil }
        var status = stat()
        // A file too large to read while others wait is named by its path alone.
        guard unsafe fstat(file.fileDescriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size <= Limits.digestedBytes
        else { return nil }
        let key = FileKey(status)
        if let known = digests.withLock({ $0[key] }) { return known }
        var hash = SHA256()
        while let chunk = try? file.read(upToCount: 1 << 20), !chunk.isEmpty { hash.update(data: chunk) }
        let digest = hash.finalize().map { String(format: "%02x", $0) }.joined()
        digests.withLock { digests in
            if digests.count >= Limits.digests { digests = [:] }
            digests[key] = digest
        }
        return digest
    }

    private func read(_ path: String) -> String? {
        // Never waits: what lies in the peer's own root may be a pipe.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return (try? file.read(upToCount: Limits.procFileBytes)).flatMap { $0 }.map {
            String(decoding: $0, as: UTF8.self)
        }
    }
}

/// A process by its descriptor, which no other process can come to mean.
private final class PeerProcess: Sendable {
    private let descriptor: Int32

    init(descriptor: Int32) { self.descriptor = descriptor }

    var isAlive: Bool { descriptor >= 0 && touchstone_pidfd_alive(descriptor) }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }
}
