import BridgeBus
import BridgeCore
import Foundation
import Glibc
import SecretServiceModel

/// For whom a grant is (BR-13, SS-35).
enum Grantee: Hashable, Sendable {
    /// One program.
    case program(GrantedProgram)
    /// A program that does what its caller wants, in one session: such grants lapse.
    case session(ClientSession)
    /// One connection of a program that nobody knows.
    case connection(String)

    /// The program; nil where its grants are not kept.
    var program: GrantedProgram? {
        guard case .program(let program) = self else { return nil }
        return program
    }

    /// The name of its grant's row; nil where its grants are not kept.
    var row: String? { program?.row }
}

/// A process on the bus, and what it executed when it came: read from `/proc` alone, at once.
struct Sighting: Hashable, Sendable {
    let process: ClientProcess?
    let path: String?
    let file: ExecutedFile?
    /// Whether it is another user's, and that user is root: such programs are in no sandbox, and nobody here looks at them.
    let isRoots: Bool

    init(_ peer: BusPeer) {
        isRoots = peer.userID == 0 && geteuid() != 0
        process = peer.userID == geteuid() ? ClientProcess(processID: peer.processID) : nil
        path = process?.executable
        file = process.flatMap { ExecutedFile(of: $0.processID) }
    }
}

/// A connection on the bus, and who is behind it (BR-10, BR-11).
struct BusClient: Sendable {
    let name: String
    let client: Client
    private(set) var grantee: Grantee
    /// Whether it is in a sandbox, whose programs have the portal instead (BR-7).
    let isSandboxed: Bool
    /// Where its file is, if only root can change that or put another in its place.
    let systemProgram: String?
    /// What it executed when it came.
    private let file: ExecutedFile?
    /// The process as it executes that; nil if its directory is not kept open, or the kernel does not show what it executes.
    private let executing: ExecutingProcess?

    /// - Parameters:
    ///   - name: The connection's.
    ///   - sighting: Its process.
    ///   - program: What was seen of its file.
    ///   - keepsDirectory: Whether the process's directory stays open, which takes a descriptor.
    init(name: String, _ sighting: Sighting, _ program: SeenProgram, keepsDirectory: Bool) {
        self.name = name
        file = sighting.file
        if keepsDirectory, let process = sighting.process, let file {
            executing = ExecutingProcess(process, executing: file)
        } else {
            executing = nil
        }
        // Also of a process whose program cannot be seen.
        isSandboxed = program.isSandboxed
        systemProgram = program.granted.flatMap { $0.digest == nil ? $0.path : nil }
        guard let process = sighting.process, let path = sighting.path else {
            client = .unknown
            grantee = .connection(name)
            return
        }
        client = .known(process, executable: path)
        if Multiplexers.contain(path) {
            grantee = process.clientSession.map(Grantee.session) ?? .connection(name)
        } else {
            grantee = program.granted.map(Grantee.program) ?? .connection(name)
        }
    }

    private init(stranger other: BusClient) {
        name = other.name
        (file, executing) = (other.file, nil)
        client = .unknown
        grantee = .connection(other.name)
        isSandboxed = other.isSandboxed
        systemProgram = nil
    }

    /// The same connection as a stranger: what the bus said before and now differs.
    var asStranger: BusClient { BusClient(stranger: self) }

    /// The same connection, where it asks as the portal.
    var asPortal: BusClient {
        var client = self
        client.grantee = .program(.portal)
        return client
    }

    /// Whether the process is there, and executes what it did; its path may be another one, or gone, since an upgrade.
    var isThere: Bool {
        guard case .known(let process, _) = client else { return true }
        if let executing { return executing.isUnchanged }
        // In this order: what is executed by a process that is there afterwards is its own.
        return ExecutedFile(of: process.processID) == file && process.isThere
    }
}
