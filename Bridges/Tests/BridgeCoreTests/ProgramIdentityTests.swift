import Foundation
import Testing

@testable import BridgeCore

@Suite struct ProgramIdentityTests {
    /// A copy of a program, which others than root can change, in a directory that is removed.
    private func withCopy<Result>(of program: String, _ body: (URL) throws -> Result) throws -> Result {
        let directory = FileManager.default.temporaryDirectory.appending(path: "program-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let copy = directory.appending(path: "copy")
        try FileManager.default.copyItem(at: URL(filePath: program), to: copy)
        try FileManager.default.setAttributes([.posixPermissions: 0o775], ofItemAtPath: copy.path)
        return try body(copy)
    }

    @Test("BR-31: a program is its path, and its file where others than root can change that") func identities() throws
    {
        let roots = try #require(ProgramIdentity(file: "/usr/bin/sleep"))
        #expect(roots.path.hasSuffix("/sleep") && roots.digest == nil)
        try withCopy(of: roots.path) { copy in
            let first = try #require(ProgramIdentity(file: copy.path))
            #expect(first.digest?.count == 64 && first == ProgramIdentity(file: copy.path))
            let link = copy.deletingLastPathComponent().appending(path: "link")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: copy)
            #expect(ProgramIdentity(file: link.path) == first)
            let file = try FileHandle(forWritingTo: copy)
            try file.seekToEnd()
            try file.write(contentsOf: Data([0]))
            try file.close()
            let second = try #require(ProgramIdentity(file: copy.path))
            #expect(second.path == first.path && second != first)
        }
    }

    @Test("BR-13, BR-31: what runs what its caller wants, and what is no program, has no identity") func others() throws
    {
        for path in [
            "/bin/sh", "/usr/bin/env", "/etc/passwd", "/dev/null", "/usr/bin", "usr/bin/sleep", "/nowhere", "",
        ] {
            #expect(ProgramIdentity(file: path) == nil, "\(path)")
        }
        try withCopy(of: "/etc/passwd") { script in
            try Data("#!/bin/sh\n".utf8).write(to: script)
            try FileManager.default.setAttributes([.posixPermissions: 0o775], ofItemAtPath: script.path)
            #expect(ProgramIdentity(file: script.path) == nil)
        }
    }

    @Test("BR-31: a process is the program that it executes, as long as it does") func processes() throws {
        let sleep = Process()
        sleep.executableURL = URL(filePath: "/usr/bin/sleep")
        sleep.arguments = ["3600"]
        try sleep.run()
        defer { if sleep.isRunning { kill(sleep.processIdentifier, SIGKILL) } }
        let process = try #require(ClientProcess(processID: sleep.processIdentifier))
        // Between fork and exec it is still this program.
        while process.executable?.hasSuffix("/sleep") == false { usleep(1000) }
        #expect(ProgramIdentity(process) == ProgramIdentity(file: "/usr/bin/sleep"))
        // SIGTERM may be blocked: it inherits what tests of signals leave.
        kill(sleep.processIdentifier, SIGKILL)
        sleep.waitUntilExit()
        #expect(ProgramIdentity(process) == nil)
    }
}
