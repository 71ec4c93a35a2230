import Crypto
import Foundation
import Glibc
import Testing
import TouchstoneCore

@testable import TouchstoneSocketServer

/// Who the server says its peers are.
@Suite struct PeerIdentityTests {
    @Test(
        arguments: [
            ("/user.slice/user-1000.slice/user@1000.service/app.slice/snap.firefox.firefox.1f2e.scope", "firefox"),
            ("/system.slice/snap.lxd.daemon.service", "lxd"),
            ("/system.slice/snap.hello-world.sh.service/inner", "hello-world"),
        ])
    func snapsAreNamedByTheirControlGroup(_ path: String, _ name: String) {
        #expect(PeerIdentities.snap(inControlGroup: path) == name)
    }

    @Test(
        arguments: [
            "", "/", "/user.slice/user-1000.slice/session-2.scope", "/system.slice/snapd.service",
            "/system.slice/snap.service", "/system.slice/snap-core-1.mount",
            "/system.slice/xsnap.firefox.firefox.scope",
        ])
    func othersAreNoSnaps(_ path: String) {
        #expect(PeerIdentities.snap(inControlGroup: path) == nil)
    }

    @Test(
        arguments: [
            ("/system.slice/cups.service", "cups.service"),
            ("/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service"),
        ])
    func servicesAreNamedByTheirUnit(_ path: String, _ name: String) {
        #expect(PeerIdentities.unit(ofControlGroup: path) == name)
    }

    @Test(
        arguments: [
            "", "/", "/init.scope", "/user.slice/user-1000.slice/session-2.scope",
            "/user.slice/user-1000.slice/user@1000.service",
            "/user.slice/user-1000.slice/user@1000.service/app.slice/backup.service",
            "/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-terminal-1.scope",
        ])
    func whatAPersonStartsIsNoService(_ path: String) {
        #expect(PeerIdentities.unit(ofControlGroup: path) == nil)
    }

    // MARK: real processes

    @Test func thisProcessIsKnownByItsExecutable() throws {
        let server = try ProbeServer()
        #expect(try server.connect().echo("who") == "who")
        let identity = try #require(try server.peers.wait()[0])
        let executable = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        #expect(identity.processID == getpid())
        #expect(identity.userID == getuid())
        #expect(identity.executableDigest == (try Self.digest(executable)))
        // In a container or a service the stronger evidence comes first; on a developer's machine there is none.
        if identity.evidence == .executable {
            #expect(identity.identifier == executable)
            #expect(identity.name == URL(fileURLWithPath: executable).lastPathComponent)
        }
    }

    @Test func aCopiedProgramIsAnotherApp() throws {
        let server = try ProbeServer()
        let copy = try CopiedProgram(server.path)
        let identity = try #require(try copy.identity(server, number: 1))
        #expect(identity.identifier == copy.path)
        #expect(identity.evidence == .executable)
        #expect(identity.executableDigest == (try Self.digest(copy.path)))
    }

    @Test func anUnlinkedProgramIsNotTheOneAtItsPath() throws {
        let server = try ProbeServer()
        let copy = try CopiedProgram(server.path)
        try copy.start()
        try FileManager.default.moveItem(atPath: copy.path, toPath: copy.path + ".old")
        try FileManager.default.copyItem(atPath: copy.path + ".old", toPath: copy.path)
        try FileManager.default.removeItem(atPath: copy.path + ".old")
        let identity = try #require(try copy.whoAmI(server, number: 1))
        #expect(identity.identifier.hasSuffix(" (replaced)"))
        #expect(identity.identifier != copy.path)
        // The digest is of what runs, not of what lies there now; here they are the same bytes.
        #expect(identity.executableDigest == (try Self.digest(copy.path)))
    }

    @Test func aProgramRewrittenInPlaceHasAnotherDigestWhateverItsDateSays() throws {
        let server = try ProbeServer()
        let copy = try CopiedProgram(server.path)
        try copy.setLastByte(1)
        let before = try #require(try copy.identity(server, number: 1))
        try copy.setLastByte(2)
        let after = try #require(try copy.identity(server, number: 2))
        #expect(before.identifier == after.identifier)
        #expect(before.executableDigest != after.executableDigest)
        #expect(after.executableDigest == (try Self.digest(copy.path)))
    }

    @Test func aPeerThatIsGoneHasNoIdentity() throws {
        let server = try ProbeServer()
        let copy = try CopiedProgram(server.path)
        try copy.start()
        try copy.sendWaitAndDie()
        let call = try server.calls.wait()[0]
        #expect(throws: (any Error).self) { try call.connection.identity() }
    }

    @Test(.enabled(if: getuid() != 0, "root is every device's user"))
    func anotherUsersProcessIsNoApp() throws {
        let server = try ProbeServer(ownerID: getuid() + 1)
        #expect(try server.connect().echo("who") == "who")
        #expect(try server.peers.wait()[0] == nil)
    }

    private static func digest(_ path: String) throws -> String {
        SHA256.hash(data: try Data(contentsOf: URL(fileURLWithPath: path))).map { String(format: "%02x", $0) }.joined()
    }
}

/// A copy of the Python interpreter that connects when it is told to, by a line on its standard input.
private final class CopiedProgram {
    let path: String
    private let socket: String
    private let directory: URL
    private var process: Process?
    private let date = Date(timeIntervalSince1970: 1_700_000_000)

    private static let script = """
        import os, socket, sys
        print("ready", flush=True)
        command = sys.stdin.readline().strip()
        client = socket.socket(socket.AF_UNIX)
        client.connect(sys.argv[1])
        if command == "who":
            client.sendall(b'{"method":"test.Probe.Echo","parameters":{"text":"who"}}\\0')
            client.recv(1024)
        else:
            # A child keeps the connection open and the process that made it is gone.
            if os.fork():
                os._exit(0)
            # Foundation takes the process for alive while anybody has the socket that it was given.
            os.closerange(3, client.fileno())
            os.closerange(client.fileno() + 1, 256)
            os.read(0, 1)
            client.sendall(b'{"method":"test.Probe.Wait"}\\0')
            client.recv(1024)
        """

    init(_ socket: String) throws {
        self.socket = socket
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("ts-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        path = directory.resolvingSymlinksInPath().appendingPathComponent("program").path
        let python = try FileManager.default.destinationOfSymbolicLink(atPath: "/usr/bin/python3")
        let original = python.hasPrefix("/") ? python : "/usr/bin/" + python
        var bytes = try Data(contentsOf: URL(fileURLWithPath: original))
        bytes.append(0)
        try bytes.write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o755, .modificationDate: date], ofItemAtPath: path)
    }

    deinit {
        process?.terminate()
        try? FileManager.default.removeItem(at: directory)
    }

    private var input: Pipe?

    func start() throws {
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = ["-S", "-c", Self.script, socket]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        self.process = process
        self.input = input
        let line = try output.fileHandleForReading.read(upToCount: 6)
        try #require(line == Data("ready\n".utf8))
    }

    func whoAmI(_ server: ProbeServer, number: Int) throws -> AppIdentity? {
        try input?.fileHandleForWriting.write(contentsOf: Data("who\n".utf8))
        let identity = try server.peers.wait(for: number)[number - 1]
        process?.waitUntilExit()
        return identity
    }

    func identity(_ server: ProbeServer, number: Int) throws -> AppIdentity? {
        try start()
        return try whoAmI(server, number: number)
    }

    func sendWaitAndDie() throws {
        try input?.fileHandleForWriting.write(contentsOf: Data("die\n".utf8))
        process?.waitUntilExit()
        try input?.fileHandleForWriting.write(contentsOf: Data("x".utf8))
    }

    /// Rewrites the file in place and gives it the date it had.
    func setLastByte(_ byte: UInt8) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        let end = try file.seekToEnd()
        try file.seek(toOffset: end - 1)
        try file.write(contentsOf: [byte])
        try file.close()
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
    }
}
