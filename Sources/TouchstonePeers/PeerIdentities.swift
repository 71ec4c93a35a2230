import CTouchstoneSystem
import Foundation
import Glibc
import Synchronization
package import TouchstoneCore
package import TouchstoneTransport

/// Says who is at the other end of a connection, from what the kernel knows: sandbox, systemd unit, executable, in that order.
package final class PeerIdentities: PeerSource {
    private let digests: FileDigests
    /// Whether executables are read apart from what asks who a peer is.
    private let readsElsewhere: Bool

    private enum Limits {
        static let digests = 1024
        /// Twice the largest browser of today.
        static let digestedBytes = 512 << 20
        static let procFileBytes = 64 << 10
    }

    private let ownerID: UInt32
    private let manifests: AppManifests
    private let report: @Sendable (String) -> Void

    /// - Parameters:
    ///   - ownerID: The user whose device this is: the programs of that user, and of root, are its apps. An identifier does not say
    ///     whose process it is, so another user's is none.
    ///   - manifests: What is said of the apps.
    ///   - readsElsewhere: Whether peers are identified where others' requests are read. Then executables are read elsewhere, and only of
    ///     those whom somebody is told of, or where a manifest says whose digest it has to be.
    ///   - report: Is told of every peer that is refused, once for each connection.
    package init(
        ownerID: UInt32, manifests: AppManifests, readsElsewhere: Bool = false,
        report: @escaping @Sendable (String) -> Void
    ) {
        self.ownerID = ownerID
        self.manifests = manifests
        self.readsElsewhere = readsElsewhere
        digests = FileDigests(maximum: Limits.digests, maximumBytes: Limits.digestedBytes)
        self.report = report
    }

    package func peer(ofSocket socket: Int32) -> Peer? {
        var credentials = touchstone_peer()
        guard unsafe touchstone_peer_of(socket, &credentials) == 0 else { return nil }
        let process = PeerProcess(processID: credentials.pid, descriptor: credentials.pidfd)
        return peer(process, processID: credentials.pid, userID: credentials.uid)
    }

    /// A process that a peer asks for (ND-1): one of this device's user, or of root, as peers are.
    func client(_ client: ClientProcess) -> Peer? {
        guard
            let process = PeerProcess(
                processID: client.processID, descriptor: touchstone_pidfd_of(client.processID)),
            let userID = process.userID(startedAt: client.startTicks), userID == ownerID || userID == 0
        else { return nil }
        // Asked for where nobody's requests are read.
        return peer(process, processID: client.processID, userID: userID, readsElsewhere: false)
    }

    /// A process; nil where it is gone.
    func peer(_ process: PeerProcess?, processID: Int32, userID: UInt32) -> Peer {
        peer(process, processID: processID, userID: userID, readsElsewhere: readsElsewhere)
    }

    private func peer(_ process: PeerProcess?, processID: Int32, userID: UInt32, readsElsewhere: Bool) -> Peer {
        let executable = ReadExecutable()
        let report = Once { [report] in report("process \(processID) of user \(userID) is refused: \($0)") }
        return Peer(
            processID: processID, userID: userID,
            isUnchanged: {
                if process?.isUnchanged == true { return true }
                report("it is gone, or runs another program than when it connected")
                return false
            },
            isReady: { [self] later in
                // Who cannot be looked up is refused then.
                guard readsElsewhere, (try? manifests.nameDigests()) == true, let process,
                    userID == ownerID || userID == 0
                else { return true }
                let found = digests.look("\(process.path)/exe") { found in
                    executable.found.withLock { $0 = found }
                    later()
                }
                if let found { executable.found.withLock { $0 = found } }
                return found != nil
            },
            identify: { [self] in
                guard let process else { return nil }
                guard userID == ownerID || userID == 0 else {
                    report("the device is of user \(ownerID)")
                    return nil
                }
                let read = executable.found.withLock { $0 }
                if let read, !digests.isOf("\(process.path)/exe", read) {
                    report(Self.isChanging)
                    return nil
                }
                let found: AppIdentity?
                do throws(Shortage) {
                    let isRead = readsElsewhere ? try manifests.nameDigests() : true
                    let digest = read.map(\.digest) ?? (isRead ? digests.digest("\(process.path)/exe") : nil)
                    found = try identity(of: process, processID: processID, userID: userID, digest)
                } catch {
                    report(Self.isShort)
                    return nil
                }
                guard let identity = found else {
                    report(Self.isUnreadable)
                    return nil
                }
                if let refusal = Self.refusal(of: identity.identifier) {
                    report(refusal)
                    return nil
                }
                // Looked at through what is only its own, but perhaps before and after it began to run another program.
                return process.isUnchanged ? identity : nil
            },
            digest: { [digests] later in
                guard let process else { return .init() }
                let told = { @Sendable (found: FileDigests.Found) in
                    Peer.Digest(
                        value: digests.isOf("\(process.path)/exe", found) && process.isUnchanged ? found.digest : nil)
                }
                return digests.look("\(process.path)/exe") { later(told($0)) }.map(told)
            },
            origin: { process.flatMap { ProcessOrigin(process: $0.path, user: userID) } },
            client: { [self] in client($0) })
    }

    private static let isChanging = "its executable is being changed"
    private static let isShort = "there were no descriptors, or no memory, to see what it is; let it connect again"

    static let isUnreadable =
        "nothing tells what it runs; a program that is not dumpable has to be a system service or a snap"

    /// Why nobody is served under this name; nil: it is one.
    static func refusal(of identifier: AppIdentifier) -> String? {
        // One message carries it once for each of hundreds of items, as their access group.
        identifier.utf8.count <= AppManifest.Limits.identityBytes
            ? nil : "its path is longer than \(AppManifest.Limits.identityBytes) bytes"
    }

    private func identity(
        of process: PeerProcess, processID: Int32, userID: UInt32, _ digest: String?
    ) throws(Shortage) -> AppIdentity? {
        let proc = process.path
        func identity(
            _ identifier: AppIdentifier, _ evidence: AppIdentity.Evidence, _ name: String, faceIDUsage: String? = nil
        ) throws(Shortage) -> AppIdentity {
            Self.identity(
                identifier, evidence, name, try manifests.manifest(for: identifier), digest: digest,
                faceIDUsage: faceIDUsage, processID: processID, userID: userID)
        }
        let group = try controlGroup(proc)
        let sandbox = try flatpak(proc, group)
        if case .app(let app) = sandbox { return try identity("flatpak:\(app)", .flatpak, app) }
        if let snap = try snap(proc, group) { return try identity("snap:\(snap)", .snap, snap) }
        if let unit = Self.unit(ofControlGroup: group) { return try identity("unit:\(unit)", .systemdUnit, unit) }
        guard case .none = sandbox,
            let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(proc)/exe")
        else { return nil }
        let name = Self.name(ofExecutable: path)
        // A path in another mount namespace, or one whose file was replaced since, is not the path we see.
        guard isSameFile("\(proc)/exe", path) else { return try identity("\(path) (replaced)", .executable, name) }
        return try identity(
            AppIdentifier(path), .executable, name,
            faceIDUsage: faceIDUsage(ofExecutable: path, userID: userID)?.description)
    }

    /// What the evidence says, and the manifest adds.
    private static func identity(
        _ identifier: AppIdentifier, _ evidence: AppIdentity.Evidence, _ name: String, _ manifest: AppManifest?,
        digest: String?, faceIDUsage: String?, processID: Int32, userID: UInt32
    ) -> AppIdentity {
        if let manifest, !manifest.digests.isEmpty, digest.map(manifest.digests.contains) != true {
            // Not that app, and not one that may have what that app has kept.
            return AppIdentity(
                identifier: "\(identifier) (other digest)", evidence: evidence, name: name, processID: processID,
                userID: userID, executableDigest: digest, hasPinnedDigest: false)
        }
        return AppIdentity(
            identifier: identifier, evidence: evidence, name: manifest?.name ?? name, processID: processID,
            userID: userID, executableDigest: digest, hasPinnedDigest: manifest?.digests.isEmpty == false ? true : nil,
            keychainAccessGroups: manifest?.keychainAccessGroups ?? [],
            applicationGroups: manifest?.applicationGroups ?? [],
            faceIDUsageDescription: manifest?.faceIDUsageDescription ?? faceIDUsage,
            actsForClients: manifest?.actsForClients ?? false)
    }

    private static func name(ofExecutable path: String) -> String { URL(fileURLWithPath: path).lastPathComponent }

    /// Who a process of this executable is, outside a sandbox and where no system service runs it, and who says so.
    ///
    /// - Parameters:
    ///   - path: The file, without links on the way.
    ///   - userID: Whose process it would be.
    /// - Returns: What a process is told it is, part by part.
    package func description(ofExecutable path: String, userID: UInt32) -> AppDescription {
        let app = AppIdentifier(path)
        let digest = digests.digest(path)
        let found = try? manifests.found(for: app)
        let usage = faceIDUsage(ofExecutable: path, userID: userID)
        let identity = Self.identity(
            app, .executable, Self.name(ofExecutable: path), found?.manifest, digest: digest,
            faceIDUsage: usage?.description, processID: 0, userID: userID)
        // With another digest the manifest speaks of another app.
        let used = identity.identifier == app ? found : nil
        func part(_ value: String, isManifests: Bool, else origin: AppDescription.Origin) -> AppDescription.Part {
            isManifests && used != nil ? .init(value, .manifest, file: used?.file) : .init(value, origin)
        }
        var description = AppDescription(
            identifier: identity.identifier.rawValue, name: part(identity.name, isManifests: true, else: .executable),
            accessGroups: identity.accessGroups.map { group in
                part(group.rawValue, isManifests: group != identity.identifier, else: .identifier)
            })
        description.faceIDUsageDescription = identity.faceIDUsageDescription.map { words in
            words == used?.manifest.faceIDUsageDescription
                ? part(words, isManifests: true, else: .executable)
                : .init(words, .infoPropertyList, file: usage?.file)
        }
        description.actsForClients = identity.actsForClients ? true : nil
        description.executableDigest = digest
        description.otherManifest = used == nil ? found?.file : nil
        // A process whose executable its user cannot read is not dumpable.
        description.refusal =
            unsafe access(path, R_OK) == 0 ? Self.refusal(of: identity.identifier) : Self.isUnreadable
        return description
    }

    /// `NSFaceIDUsageDescription` of the `Info.plist` beside an executable, or in the directory `Resources` there (CE-11).
    ///
    /// It is as good as the executable: who can write there is the app already. One that speaks for another executable is not used, so that
    /// programs in one directory, as in `/usr/bin`, do not lend each other theirs. It is the peer's own file or root's, and no part of its path
    /// is a link: this process may read what the peer may not.
    private func faceIDUsage(ofExecutable path: String, userID: UInt32) -> (description: String, file: String)? {
        let executable = URL(fileURLWithPath: path)
        for place in ["Info.plist", "Resources/Info.plist"] {
            let file = executable.deletingLastPathComponent().appendingPathComponent(place)
            guard
                let bytes = openOwn(file.path, userID: userID).flatMap({
                    contents(of: $0, atMost: AppManifest.Limits.bytes)
                }),
                let strings = InfoPropertyList(bytes)?.strings,
                strings["CFBundleExecutable"] ?? executable.lastPathComponent == executable.lastPathComponent,
                let description = strings["NSFaceIDUsageDescription"],
                (1...AppManifest.Limits.descriptionBytes).contains(description.utf8.count)
            else { continue }
            return (description, file.path)
        }
        return nil
    }

    // MARK: evidence

    /// The application id in the file that Flatpak puts into the sandbox, out of a sandboxed app's reach.
    ///
    /// A label: a program of the same user can build such a sandbox around itself. It has to build all of it: a mount namespace of its
    /// own, the file on a mount that cannot be written, no way to gain privileges; a root directory with such a file is not enough.
    private func flatpak(_ proc: String, _ group: String) throws(Shortage) -> Sandbox {
        let path = "\(proc)/root/.flatpak-info"
        guard let file = try open(path) else {
            var status = stat()
            // A program that lets nobody look at it for a moment may have one.
            guard unsafe lstat(path, &status) == 0 else { return [ENOENT, ENOTDIR].contains(errno) ? .none : .unknown }
            return status.st_mode & S_IFMT == S_IFREG ? .unknown : .none
        }
        var mount = statvfs()
        guard unsafe fstatvfs(file.fileDescriptor, &mount) == 0, mount.f_flag & UInt(ST_RDONLY) != 0,
            !isSameFile("\(proc)/ns/mnt", "/proc/self/ns/mnt"), !isSameFile("\(proc)/ns/mnt", "/proc/1/ns/mnt"),
            try cannotGainPrivileges(proc)
        else { return .none }
        // Flatpak also writes what the app chose, so a file that cannot be parsed does not say that there is no sandbox.
        guard let app = contents(of: file).flatMap(Self.application(inFlatpakInfo:)) else { return .unknown }
        // Where Flatpak could have systemd make a scope, it carries the same name.
        if let scope = Self.flatpak(inControlGroup: group), scope != app { return .none }
        return .app(app)
    }

    private enum Sandbox {
        case app(String)
        case none
        /// Perhaps one of Flatpak's: then its executable's path names nobody.
        case unknown
    }

    /// The name of the application in `.flatpak-info`.
    static func application(inFlatpakInfo bytes: Data) -> String? {
        guard let name = (try? KeyFile(bytes))?["Application"]?["name"], !name.isEmpty else { return nil }
        return name
    }

    /// `app-flatpak-ID-NUMBER.scope`, with the id escaped as systemd does.
    static func flatpak(inControlGroup path: String) -> String? {
        guard let scope = path.split(separator: "/").last, scope.hasPrefix("app-flatpak-"), scope.hasSuffix(".scope")
        else { return nil }
        let name = scope.dropFirst("app-flatpak-".count).dropLast(".scope".count)
        guard let dash = name.lastIndex(of: "-"), dash != name.startIndex else { return nil }
        return name[..<dash].replacingOccurrences(of: "\\x2d", with: "-")
    }

    private func cannotGainPrivileges(_ proc: String) throws(Shortage) -> Bool {
        try read("\(proc)/status")?.split(separator: "\n").contains("NoNewPrivs:\t1") == true
    }

    /// The snap whose control group it is, and whose confinement.
    ///
    /// A user's own manager can be told to use such a control group, but not to put a program under AppArmor's label of a snap. Where there is
    /// no AppArmor the executable has to lie where only root mounts the snap.
    private func snap(_ proc: String, _ group: String) throws(Shortage) -> String? {
        if let name = Self.snap(ofServiceInControlGroup: group) { return name }
        guard let name = Self.snap(inControlGroup: group) else { return nil }
        if try read("/sys/module/apparmor/parameters/enabled")?.hasPrefix("Y") == true {
            for file in ["apparmor/current", "current"] {
                if let label = try read("\(proc)/attr/\(file)") {
                    return Self.isLabel(label, ofSnap: name) ? name : nil
                }
            }
            return nil
        }
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(proc)/exe"),
            ["/snap/\(name)/", "/var/lib/snapd/snap/\(name)/"].contains(where: path.hasPrefix),
            isSameFile("\(proc)/exe", path)
        else { return nil }
        return name
    }

    /// `snap.NAME.APP (enforce)`.
    static func isLabel(_ label: String, ofSnap name: String) -> Bool {
        label.hasPrefix("snap.\(name).")
    }

    private func controlGroup(_ proc: String) throws(Shortage) -> String {
        let text = try read("\(proc)/cgroup") ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("0::") }
        return line.map { String($0.dropFirst("0::".count)) } ?? ""
    }

    /// The snap that systemd runs as a system service, or in a scope of the system's.
    static func snap(ofServiceInControlGroup path: String) -> String? {
        guard let unit = systemUnit(ofControlGroup: path), [".service", ".scope"].contains(where: unit.hasSuffix) else {
            return nil
        }
        return snap(inControlGroup: unit)
    }

    /// `snap.NAME.APP…` as snapd names its scopes and services.
    ///
    /// A delegated group may hold such a name, too: worth nothing without the confinement.
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
        guard let unit = systemUnit(ofControlGroup: path), unit.hasSuffix(".service"), !unit.hasPrefix("user@") else {
            return nil
        }
        return unit
    }

    /// The unit of the system's manager: the first name behind those of the slices.
    ///
    /// What lies deeper is named by whoever the unit's control group is delegated to.
    private static func systemUnit(ofControlGroup path: String) -> String? {
        guard path.hasPrefix("/system.slice/") else { return nil }
        return path.split(separator: "/").first { !$0.hasSuffix(".slice") }.map(String.init)
    }

    private func isSameFile(_ one: String, _ other: String) -> Bool {
        var first = stat()
        var second = stat()
        guard unsafe stat(one, &first) == 0, unsafe stat(other, &second) == 0 else { return false }
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }

    private func read(_ path: String) throws(Shortage) -> String? {
        try open(path).flatMap(contents(of:)).map { String(decoding: $0, as: UTF8.self) }
    }

    private func openOwn(_ path: String, userID: UInt32) -> FileHandle? {
        let descriptor = unsafe touchstone_open_without_links(path)
        guard descriptor >= 0 else { return nil }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            [0, userID].contains(status.st_uid)
        else { return nil }
        return file
    }

    /// Never waits: what lies in the peer's own root may be a pipe.
    private func open(_ path: String) throws(Shortage) -> FileHandle? {
        let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if let shortage = Shortage(errno) { throw shortage }
            return nil
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return file
    }

    private func contents(of file: FileHandle) -> Data? {
        try? file.read(upToCount: Limits.procFileBytes)
    }

    /// nil for a file that is larger.
    private func contents(of file: FileHandle, atMost maximum: Int) -> Data? {
        guard let bytes = try? file.read(upToCount: maximum + 1), bytes.count <= maximum else { return nil }
        return bytes
    }
}

/// A process by its directory in `/proc`, opened while it was known to be the peer: it never comes to mean another, whoever gets the number.
final class PeerProcess: Sendable {
    private let directory: Int32
    /// What it ran then; nil where it lets nobody look.
    let executable: PeerExecutable?

    /// Closes `descriptor`, the process's pidfd.
    init?(processID: Int32, descriptor: Int32) {
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let directory = unsafe Glibc.open("/proc/\(processID)", O_RDONLY | O_CLOEXEC | O_DIRECTORY)
        guard directory >= 0 else { return nil }
        var executable = touchstone_executable()
        let code = unsafe touchstone_executable_of(directory, &executable)
        // Alive still, so that the number was its own when the directory was opened.
        guard code == 0 || code == EACCES, touchstone_pidfd_alive(descriptor) else {
            close(directory)
            return nil
        }
        self.directory = directory
        self.executable = code == 0 ? PeerExecutable(executable) : nil
    }

    deinit { close(directory) }

    var path: String { "/proc/self/fd/\(directory)" }

    /// Whose it is by what it may do, as `SO_PEERCRED` would say; nil where it began at another time, or is gone.
    func userID(startedAt ticks: Int64) -> UInt32? {
        guard let status = ProcessStatus(directory: path), Int64(exactly: status.started) == ticks else { return nil }
        return ProcessStatus.effectiveUserID(directory: path)
    }

    /// Whether it lives and runs what it ran: one look, which finds nothing once the process is gone.
    var isUnchanged: Bool {
        var now = touchstone_executable()
        return switch unsafe touchstone_executable_of(directory, &now) {
        case 0: executable == PeerExecutable(now)
        case EACCES: executable == nil
        default: false
        }
    }
}

/// `touchstone_executable`, to compare and to send.
struct PeerExecutable: Hashable, Codable {
    private let device: UInt64
    private let inode: UInt64
    private let birthSeconds: Int64
    private let birthNanoseconds: UInt32

    init(_ executable: touchstone_executable) {
        device = executable.device
        inode = executable.inode
        birthSeconds = executable.birth_seconds
        birthNanoseconds = executable.birth_nanoseconds
    }
}

/// The executable of a peer as it was read before the peer was identified.
private final class ReadExecutable: Sendable {
    let found = Mutex<FileDigests.Found?>(nil)
}

/// Says the first thing it is given to say.
private final class Once: Sendable {
    private let isDone = Mutex(false)
    private let body: @Sendable (String) -> Void

    init(_ body: @escaping @Sendable (String) -> Void) { self.body = body }

    func callAsFunction(_ text: String) {
        let isFirst = isDone.withLock { isDone in
            defer { isDone = true }
            return !isDone
        }
        if isFirst { body(text) }
    }
}
