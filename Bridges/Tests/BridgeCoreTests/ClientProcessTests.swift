import Foundation
import Testing

@testable import BridgeCore

@Suite struct ClientProcessTests {
    @Test("BR-10: a process is its number and its start") func itself() throws {
        let own = try #require(ClientProcess(processID: getpid()))
        #expect(own.isThere)
        #expect(own.executable == (try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")))
        #expect(own.parent?.processID == getppid())
        let text = "{\"processID\":\(getpid()),\"startTicks\":\(own.startTicks + 1)}"
        let other = try JSONDecoder().decode(ClientProcess.self, from: Data(text.utf8))
        #expect(!other.isThere && other.executable == nil && other.parent == nil && other.name == nil)
    }

    @Test("BR-11: a process is noticed that executes another file, or ends") func executing() throws {
        let own = try #require(ClientProcess(processID: getpid()))
        let file = try #require(ExecutedFile(of: getpid()))
        let this = try #require(ExecutingProcess(own, executing: file))
        #expect(this.isUnchanged)
        // A shell that waits for a line, and then becomes another program.
        let program = Process()
        let input = Pipe()
        program.executableURL = URL(fileURLWithPath: "/bin/sh")
        program.arguments = ["-c", "read line; exec cat"]
        program.standardInput = input
        try program.run()
        let process = try #require(ClientProcess(processID: program.processIdentifier))
        Self.wait { process.executable != own.executable }
        #expect(ExecutingProcess(process, executing: file) == nil)
        let shell = try #require(ExecutedFile(of: program.processIdentifier))
        let executing = try #require(ExecutingProcess(process, executing: shell))
        #expect(executing.isUnchanged)
        input.fileHandleForWriting.write(Data("line\n".utf8))
        Self.wait { process.executable?.hasSuffix("/cat") == true }
        #expect(!executing.isUnchanged && process.isThere)
        let cat = try #require(ExecutedFile(of: program.processIdentifier))
        let next = try #require(ExecutingProcess(process, executing: cat))
        #expect(next.isUnchanged)
        input.fileHandleForWriting.closeFile()
        program.waitUntilExit()
        #expect(!next.isUnchanged && ExecutingProcess(process, executing: cat) == nil)
    }

    /// Waits until something is so, five minutes at most.
    private static func wait(_ isSo: () -> Bool) {
        for _ in 0..<30_000 {
            if isSo() { return }
            usleep(10_000)
        }
    }

    private static func status(_ text: String) -> ProcessStatus? { ProcessStatus(Array(text.utf8)) }

    @Test("BR-10: what a process calls itself does not change what the kernel says of it") func names() throws {
        let rest = "S 41 42 43 1025 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4711 8 9"
        for name in ["sshd", "a b", ") Z 1 1 1", "((", "", "\u{e9}"] {
            let status = try #require(Self.status("40 (\(name)) \(rest)\n"))
            #expect(status.name == name && !status.isOver)
            #expect(status.parent == 41 && status.session == 43 && status.terminal == 1025 && status.started == 4711)
        }
        #expect(Self.status("40 (x) Z 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 0\n")?.isOver == true)
        #expect(Self.status("40 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 0\n")?.terminal == nil)
        // The twins: half a line, one without a name, numbers that are not numbers.
        for text in [
            "", "40 (x", "40 x) (", "40 (x) \(rest.prefix(20))", "40 (x) \(rest.replacing("41", with: "one"))",
        ] {
            #expect(Self.status(text) == nil)
        }
        // Numbers that do not fit, beside the largest and the smallest that do.
        let largest = Self.status("40 (x) \(rest.replacing("4711", with: "18446744073709551615"))")
        #expect(largest?.started == .max)
        #expect(Self.status("40 (x) \(rest.replacing(" 43 ", with: " -2147483648 "))")?.session == .min)
        for (number, other) in [
            ("4711", "18446744073709551616"), ("4711", "-1"), (" 43 ", " 2147483648 "), (" 43 ", " -2147483649 "),
            (" 43 ", " - "),
        ] {
            #expect(Self.status("40 (x) \(rest.replacing(number, with: other))") == nil, "\(other)")
        }
    }

    @Test("BR-13: who started a process is told nearest first, each with what it executes") func climbing() throws {
        let own = try #require(ClientProcess(processID: getpid()))
        var found: [(ClientProcess, String?)] = []
        own.climb { process, executable in
            found.append((process, executable))
            return true
        }
        #expect(found.map(\.0) == own.ancestors && found.first?.0 == own.parent)
        #expect(found.allSatisfy { $0.0.executable == $0.1 })
        var calls = 0
        own.climb { _, _ in
            calls += 1
            return false
        }
        #expect(calls == min(1, found.count))
    }

    @Test("BR-7: a process into whose root directory nobody looks counts as sandboxed") func sandboxes() {
        let unit = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/"
        #expect(ClientProcess.isSandboxed(flatpak: 0, isRoots: false, groups: ""))
        #expect(ClientProcess.isSandboxed(flatpak: EACCES, isRoots: false, groups: ""))
        #expect(
            ClientProcess.isSandboxed(
                flatpak: ENOENT, isRoots: false, groups: "\(unit)app-flatpak-org.example.App-42.scope\n"))
        #expect(ClientProcess.isSandboxed(flatpak: ENOENT, isRoots: false, groups: "\(unit)snap.example.scope\n"))
        #expect(ClientProcess.isSandboxed(flatpak: ENOENT, isRoots: false, groups: nil))
        // The twins: an ordinary program, and one of root's.
        #expect(!ClientProcess.isSandboxed(flatpak: ENOENT, isRoots: false, groups: "\(unit)ssh.scope\n"))
        #expect(!ClientProcess.isSandboxed(flatpak: EACCES, isRoots: true, groups: ""))
        #expect(!ClientProcess.isSandboxed(flatpak: ENOENT, isRoots: true, groups: nil))
    }

    @Test("BR-53: a line that nobody can take costs nothing but itself") func lines() throws {
        BridgeProcess.write("lost", try #require(FileHandle(forWritingAtPath: "/dev/full")))
        let pipe = Pipe()
        BridgeProcess.write("read", pipe.fileHandleForWriting)
        #expect(pipe.fileHandleForReading.availableData == Data("read\n".utf8))
    }

    @Test("BR-13: shells, interpreters and ssh say nothing about who asks; other programs do") func multiplexers() {
        for path in [
            "/bin/sh", "/usr/bin/python3.11", "/usr/bin/git", "/usr/lib/git-core/git-remote-https", "/usr/bin/ssh",
            "/usr/bin/xargs", "/usr/bin/bash (deleted)",
        ] {
            #expect(Multiplexers.contain(path), "\(path)")
        }
        for path in ["/usr/bin/gnome-terminal", "/usr/bin/code", "/usr/bin/sshfs", "/usr/bin/shotwell"] {
            #expect(!Multiplexers.contain(path), "\(path)")
        }
        #expect(Multiplexers.contain(nil))
    }

    @Test("BR-21: a sentence is printable and short, whatever the path") func sentences() {
        let evil = "/tmp/\u{202E}a\nb“c”\"" + String(repeating: "x", count: 4096)
        let sentence = Sentence.reason("sign in to “example.org” as git", for: evil)
        #expect(sentence.count <= 256)
        for character in ["\u{202E}", "\n", "\""] { #expect(!sentence.contains(character)) }
        // One character may have thousands of scalars: those are counted.
        let tall = "a" + String(repeating: "\u{0301}", count: 4096)
        #expect(Sentence.short(tall).unicodeScalars.count <= 48)
        #expect(Sentence.reason(tall, for: "/tmp/\(tall)").unicodeScalars.count <= 256)
        #expect(Sentence.reason("sign", for: "/usr/bin/ssh") == "sign for “ssh” (/usr/bin/ssh)")
        #expect(Sentence.reason(String(repeating: "a", count: 900), for: "/usr/bin/ssh").count <= 256)
    }
}
