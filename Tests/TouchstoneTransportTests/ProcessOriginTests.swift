import Foundation
import Testing
import TouchstoneCore

@testable import TouchstonePeers

/// What the kernel and the login service say of how a process came to run (AT-17), read from a tree as `/proc` has it.
final class ProcessOriginTests {
    private let root: URL

    init() throws {
        root = FileManager.default.temporaryDirectory.appending(path: "origin.\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: root.appending(path: "sessions"), withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: root) }

    private func process(
        _ number: Int32, parent: Int32, name: String, executable: String? = nil, started: UInt64, terminal: Int = 0,
        group: String = ""
    ) throws {
        let directory = root.appending(path: "\(number)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let rest = Array(repeating: "0", count: 14).joined(separator: " ")
        try Data("\(number) (\(name)) S \(parent) 1 1 \(terminal) \(rest) \(started) 0 0\n".utf8)
            .write(to: directory.appending(path: "stat"))
        if !group.isEmpty { try Data("0::\(group)\n".utf8).write(to: directory.appending(path: "cgroup")) }
        if let executable {
            try FileManager.default.createSymbolicLink(
                atPath: directory.appending(path: "exe").path, withDestinationPath: executable)
        }
    }

    private func session(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: root.appending(path: "sessions/\(name)"))
    }

    private func origin(of number: Int32) -> ProcessOrigin? {
        ProcessOrigin(
            process: root.appending(path: "\(number)").path, user: 0, proc: root.path,
            sessions: root.appending(path: "sessions").path)
    }

    @Test("AT-17: the processes above an app, nearest first, to the first of the system") func chain() throws {
        try process(1, parent: 0, name: "systemd", started: 0)
        try process(50, parent: 1, name: "tmux: server", executable: "/usr/bin/tmux", started: 100)
        try process(60, parent: 50, name: "a) S (b", executable: "/usr/bin/bash", started: 200)
        try process(70, parent: 60, name: "gate", executable: "/usr/bin/gate", started: 300, terminal: 136 << 8 | 3)
        let found = try #require(origin(of: 70))
        #expect(found.ancestors.map(\.processID) == [60, 50])
        #expect(found.ancestors.map(\.executable) == ["/usr/bin/bash", "/usr/bin/tmux"])
        #expect(found.ancestors.map(\.name) == ["a) S (b", "tmux: server"])
        #expect(found.terminal == "pts/3")
        #expect((found.place, found.session, found.remote) == (.unknown, nil, nil))
        #expect(try #require(origin(of: 50)).ancestors.isEmpty)
        #expect(origin(of: 99) == nil)
    }

    @Test("AT-17: a number that another process has got is no ancestor") func reusedNumber() throws {
        try process(60, parent: 1, name: "stranger", executable: "/usr/bin/stranger", started: 400)
        try process(70, parent: 60, name: "gate", started: 300)
        #expect(try #require(origin(of: 70)).ancestors.isEmpty)
    }

    @Test("AT-17: a chain without end is cut", arguments: [40]) func longChain(length: Int32) throws {
        for number in 2...length { try process(number, parent: number - 1, name: "p", started: 7) }
        #expect(try #require(origin(of: length)).ancestors.count == 16)
        // Two that are each other's parents, which the kernel does not make.
        try process(900, parent: 901, name: "p", started: 7)
        try process(901, parent: 900, name: "p", started: 7)
        #expect(try #require(origin(of: 900)).ancestors.count == 16)
    }

    @Test(
        "AT-17: under a server of remote sessions it is remote, by its name or its file",
        arguments: [
            ("sshd", nil), ("sshd-session", nil), ("mosh-server", nil), ("x", "/usr/sbin/sshd"),
            ("x", "/opt/dropbear"),
        ] as [(String, String?)])
    func remote(name: String, executable: String?) throws {
        try process(50, parent: 1, name: name, executable: executable, started: 100)
        try process(60, parent: 50, name: "bash", executable: "/usr/bin/bash", started: 200)
        try process(70, parent: 60, name: "gate", started: 300, group: "/user.slice/user-0.slice/session-4.scope")
        try session("4", "REMOTE=0\n")
        let found = try #require(origin(of: 70))
        #expect(found.place == .remote, "also where the session is said to be local")
        #expect(found.remote == executable.map { URL(fileURLWithPath: $0).lastPathComponent } ?? name)
    }

    @Test(
        "AT-17: what the login service knows of a session",
        arguments: [
            ("REMOTE=1\nREMOTE_HOST=192.0.2.7\n", ProcessOrigin.Place.remote, "192.0.2.7"),
            ("REMOTE=1\n", .remote, nil), ("UID=0\nREMOTE=0\n", .local, nil), ("REMOTE=maybe\n", .unknown, nil),
            ("\u{0}\u{FF}", .unknown, nil), ("", .unknown, nil),
        ] as [(String, ProcessOrigin.Place, String?)])
    func sessions(text: String, place: ProcessOrigin.Place, remote: String?) throws {
        try process(70, parent: 1, name: "gate", started: 300, group: "/user.slice/user-0.slice/session-c1.scope/x")
        try session("c1", text)
        let found = try #require(origin(of: 70))
        #expect((found.session, found.place, found.remote) == ("c1", place, remote))
    }

    @Test(
        "AT-17: what is no session's group names none, and no file elsewhere",
        arguments: [
            "/user.slice/user-0.slice/user@0.service/app.slice/x.scope", "/user.slice/user-0.slice/session-.scope",
            "/user.slice/user-0.slice/session-../x.scope", "/user.slice/user-0.slice/session-a b.scope",
            "/user.slice/user-0.slice/session-\(String(repeating: "9", count: 65)).scope",
            "/user.slice/user-0.slice/xsession-4.scope", "/user.slice/user-0.slice", "",
        ])
    func noSession(group: String) {
        #expect(ProcessOrigin.session(ofControlGroup: "0::\(group)\n", user: 0) == nil)
    }

    @Test(
        "AT-17: a group with a session's name that the login service did not make is no session",
        arguments: [
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/session-4.scope",
            "0::/user.slice/user-1000.slice/user@1000.service/session-4.scope/x", "0::/session-4.scope",
            "0::/system.slice/x.service/user.slice/user-1000.slice/session-4.scope",
            "0::user.slice/user-1000.slice/session-4.scope", "0::/user.slice/user-1001.slice/session-4.scope",
            "0:://user.slice/user-1000.slice/session-4.scope",
            "1:name=systemd:/user.slice/user-1000.slice/session-4.scope",
            "0::/x\n0::/user.slice/user-1000.slice/session-4.scope",
        ])
    func forgedSession(lines: String) {
        #expect(ProcessOrigin.session(ofControlGroup: "\(lines)\n", user: 1000) == nil)
    }

    @Test(
        "AT-17: the login service's own group is a session, and so is what lies in it",
        arguments: [
            "0::/user.slice/user-1000.slice/session-4.scope\n", "0::/user.slice/user-1000.slice/session-4.scope/x/y\n",
            "4:cpu:/x\n0::/user.slice/user-1000.slice/session-4.scope\n",
        ])
    func session(lines: String) { #expect(ProcessOrigin.session(ofControlGroup: lines, user: 1000) == "4") }

    @Test(
        "Terminals by their numbers",
        arguments: [
            (0, nil), (136 << 8 | 3, "pts/3"), (137 << 8 | 1, "pts/257"), (4 << 8 | 2, "tty2"), (4 << 8 | 64, "ttyS0"),
            (188 << 8, "188:0"), (1 << 20 | 136 << 8 | 1, "pts/257"),
        ] as [(UInt32, String?)])
    func terminals(device: UInt32, name: String?) { #expect(ProcessStatus.terminal(device) == name) }

    @Test(
        "A malformed line names nobody",
        arguments: ["", "1", "1 (x", "1 x) S 1", "1 (x) S", "1 (x) S a 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"])
    func malformed(line: String) { #expect(ProcessStatus(line) == nil) }

    @Test("This process has ancestors, and a place in the real /proc") func real() throws {
        let found = try #require(ProcessOrigin(process: "/proc/self", user: getuid()))
        #expect(found.ancestors.first?.processID == getppid() || getppid() <= 1)
    }
}
