import Crypto
import Foundation
import Glibc
import Testing
import TouchstoneCore

@testable import TouchstonePeers

/// A copy of the Python interpreter that does what it is told to, by lines on its standard input.
final class CopiedProgram {
    let path: String
    private let socket: String
    private let directory: URL
    private var process: Process?
    private let date = Date(timeIntervalSince1970: 1_700_000_000)

    private static let script = """
        import ctypes, json, os, signal, socket, sys, time
        def hurry():
            # Rather a failed test than one that waits for ever.
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            signal.alarm(60)
        hurry()
        def say(text): print(text, flush=True)
        def command(): return sys.stdin.readline().strip()
        def ask(): client.sendall(b'{"method":"test.Probe.Echo","parameters":{"text":"who"}}\\0')
        def hello(): client.sendall(b'{"method":"test.Probe.Echo","parameters":{"text":"hello"}}\\0')
        def tell():
            answer = json.loads(client.recv(4096).rstrip(b"\\0")).get("error", "reply")
            # Open is what answers once more.
            try:
                hello()
                rest = client.recv(4096)
            except OSError: rest = b""
            say(answer + (" open" if rest else " closed"))
        def fork():
            # The other process has the connection, and none of what Foundation watches.
            child = os.fork()
            if child == 0:
                os.closerange(3, client.fileno())
                os.closerange(client.fileno() + 1, 256)
                hurry()
            return child
        def become_another():
            first = os.readlink("/proc/self/exe")
            process = os.getpid()
            if fork():
                client.set_inheritable(True)
                os.execv("/bin/sleep", ["sleep", "20"])
            while os.readlink(f"/proc/{process}/exe") == first: time.sleep(0.001)
        def check(code):
            if code: raise OSError(ctypes.get_errno(), "")
        libc = ctypes.CDLL(None, use_errno=True)
        say("ready")
        what = command()
        if what == "hide": check(libc.prctl(4, 0, 0, 0, 0))
        client = socket.socket(socket.AF_UNIX)
        client.connect(sys.argv[1])
        # The server has seen who connected before it answers this.
        hello()
        client.recv(1024)
        if what == "who":
            ask()
            client.recv(1024)
        elif what == "hide":
            ask()
            tell()
        elif what == "exec":
            become_another()
            ask()
            tell()
        elif what == "wait":
            client.sendall(b'{"method":"test.Probe.Wait"}\\0')
            if command() == "exec":
                become_another()
                say("executed")
            tell()
        elif what == "die":
            process = os.getpid()
            if fork(): os._exit(0)
            while os.getppid() == process: time.sleep(0.001)
            ask()
            tell()
        elif what == "reuse":
            process = os.getpid()
            if fork(): os._exit(0)
            while os.getppid() == process: time.sleep(0.001)
            # A number is not free while it is that of a process group.
            os.setsid()
            child = 0
            while True:
                if child: os.waitpid(child, 0)
                with open("/proc/sys/kernel/ns_last_pid", "w") as file: file.write(str(process - 1))
                child = os.fork()
                if child == 0:
                    if os.getpid() == process: time.sleep(20)
                    os._exit(0)
                if child == process: break
            say(f"{child} again")
            ask()
            tell()
            os.kill(child, 9)
        else:
            root = os.path.dirname(sys.argv[2]) + "/root"
            os.mkdir(root)
            if what != "chroot":
                check(libc.unshare(0x20000))
                check(libc.mount(None, b"/", None, 0x44000, None))
                check(libc.mount(b"tmpfs", root.encode(), b"tmpfs", 0, None))
            more = "[Environment]\\nX=\\x01\\n" if what == "malformed" else ""
            with open(root + "/.flatpak-info", "w") as file: file.write("[Application]\\nname=org.example.App\\n" + more)
            if what in ("privileged", "sandbox", "malformed"): check(libc.mount(None, root.encode(), None, 0x21, None))
            if what != "privileged": check(libc.prctl(38, 1, 0, 0, 0))
            os.chroot(root)
            ask()
            client.recv(1024)
        """

    /// Lies in a folder of a neighbour's directory, or of one of its own.
    init(_ socket: String, besides neighbour: CopiedProgram? = nil, in folder: String? = nil) throws {
        self.socket = socket
        directory =
            neighbour?.directory
            ?? FileManager.default.temporaryDirectory.appendingPathComponent("ts-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let parent = directory.resolvingSymlinksInPath().path + (folder.map { "/\($0)" } ?? "")
        try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
        path = "\(parent)/program"
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
    private var output: Pipe?

    var processID: Int32 { process?.processIdentifier ?? 0 }

    /// A child that another test begins at this moment has our file open for writing until it executes its program: then again.
    func start() throws {
        for _ in 0..<1000 {
            do {
                return try startOnce()
            } catch let error as NSError where (error.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == Int(ETXTBSY)
            {
                usleep(2000)
            }
        }
        try startOnce()
    }

    private func startOnce() throws {
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = ["-S", "-c", Self.script, socket, path]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        self.process = process
        self.input = input
        self.output = output
        try #require(try line() == "ready")
    }

    func send(_ command: String) throws {
        try input?.fileHandleForWriting.write(contentsOf: Data("\(command)\n".utf8))
    }

    /// The next line that it says.
    func line() throws -> String {
        var line = Data()
        while let byte = try output?.fileHandleForReading.read(upToCount: 1), byte != Data("\n".utf8) {
            guard !byte.isEmpty else { break }
            line += byte
        }
        return String(decoding: line, as: UTF8.self)
    }

    func whoAmI(_ server: ProbeServer, number: Int) throws -> AppIdentity? {
        try send("who")
        let identity = try server.peers.wait(for: number)[number - 1]
        process?.waitUntilExit()
        return identity
    }

    func identity(_ server: ProbeServer, number: Int) throws -> AppIdentity? {
        try start()
        return try whoAmI(server, number: number)
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
