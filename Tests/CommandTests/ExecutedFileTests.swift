import Foundation
import Glibc
import Testing
import TouchstoneCore

@testable import touchstone

/// Which program runs where a file is started, and why none does.
final class ExecutedFileTests {
    private let directory: String

    init() throws {
        let made = FileManager.default.temporaryDirectory.appendingPathComponent("touchstone-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: made, withIntermediateDirectories: true)
        // As the kernel names it.
        let real = try #require(unsafe realpath(made.path, nil))
        defer { unsafe free(real) }
        directory = unsafe String(cString: real)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    private func write(_ name: String, _ bytes: Data, mode: mode_t = 0o755) throws -> String {
        let path = "\(directory)/\(name)"
        try bytes.write(to: URL(fileURLWithPath: path))
        #expect(chmod(path, mode) == 0)
        return path
    }

    private func program(_ name: String) throws -> String { try write(name, Data([0x7F] + "ELF".utf8)) }

    private func script(_ name: String, _ firstLine: String) throws -> String {
        try write(name, Data("\(firstLine)\necho\n".utf8))
    }

    private func refusal(_ path: String) -> String? {
        do {
            _ = try ExecutedFile(path, searchPath: directory)
            return nil
        } catch let failure as Failure {
            #expect(failure.status == .no)
            return failure.message
        } catch {
            return "\(error)"
        }
    }

    @Test func programIsItself() throws {
        let path = try program("app")
        #expect(try ExecutedFile(path).path == path)
        #expect(try ExecutedFile(path).script == nil)
    }

    @Test func linkIsWhatItLeadsTo() throws {
        let path = try program("app")
        try FileManager.default.createSymbolicLink(atPath: "\(directory)/link", withDestinationPath: path)
        #expect(try ExecutedFile("\(directory)/link").path == path)
    }

    @Test(arguments: ["#!DIRECTORY/sh", "#! DIRECTORY/sh -e", "#!/usr/bin/env sh", "#!/usr/bin/env -S A=b sh -e"])
    func scriptIsItsInterpreter(_ line: String) throws {
        let interpreter = try program("sh")
        let path = try script("tool", line.replacingOccurrences(of: "DIRECTORY", with: directory))
        let file = try ExecutedFile(path, searchPath: "/nonexistent:\(directory)")
        #expect(file.path == interpreter)
        #expect(file.script == path)
    }

    @Test func scriptOfAScriptIsTheLastInterpreterAndACircleIsNone() throws {
        let interpreter = try program("sh")
        let inner = try script("inner", "#!\(interpreter)")
        #expect(try ExecutedFile(script("outer", "#!\(inner)")).path == interpreter)
        let circle = try script("circle", "#!\(directory)/circle")
        #expect(refusal(circle)?.contains("each interpreter is a script again") == true)
    }

    @Test func whatCannotBeStartedSaysWhy() throws {
        #expect(refusal("\(directory)/missing") == "there is no file \(directory)/missing")
        #expect(refusal(directory) == "\(directory) is a directory, not a program")
        let plain = try write("plain", Data("x".utf8), mode: 0o644)
        #expect(refusal(plain) == "\(plain) is not executable; if it is a program, run 'chmod +x' on it")
        let text = try write("text", Data("echo\n".utf8))
        #expect(refusal(text) == "\(text) is neither a program (ELF) nor a script that names its interpreter")
        #expect(mkfifo("\(directory)/pipe", 0o755) == 0)
        #expect(refusal("\(directory)/pipe") == "\(directory)/pipe is not a regular file")
        let lost = try script("lost", "#!/nonexistent/sh")
        #expect(refusal(lost) == "there is no file /nonexistent/sh, the interpreter of \(lost)")
        let unknown = try script("unknown", "#!/usr/bin/env nothing")
        #expect(refusal(unknown) == "there is no nothing in PATH, the interpreter of \(unknown)")
        let nameless = try script("nameless", "#! ")
        #expect(refusal(nameless) == "\(nameless) names no interpreter behind '#!'")
        let split = try script("split", "#!/usr/bin/env -i sh")
        #expect(refusal(split)?.contains("name that program with --app") == true)
    }

    @Test func reportNamesEachPartAndItsFile() {
        var description = AppDescription(
            identifier: "/usr/bin/app", name: .init("Chores", .manifest, file: "/etc/a.conf"),
            accessGroups: [.init("F.a", .manifest, file: "/etc/a.conf"), .init("/usr/bin/app", .identifier)])
        description.faceIDUsageDescription = .init("To see\u{1B}[31m", .infoPropertyList, file: "/usr/bin/Info.plist")
        description.executableDigest = "0a"
        description.unusedManifests = ["/etc/b.conf is not used: it is a symbolic link"]
        let lines = AppReport(description, script: "/usr/bin/tool").lines
        #expect(
            lines == [
                "Identifier     /usr/bin/app   the path of the executable",
                "Name           Chores         /etc/a.conf",
                "Access groups  F.a            /etc/a.conf",
                "               /usr/bin/app   its own, no other app has it",
                "Face ID        \u{201C}To see\u{FFFD}[31m\u{201D}  /usr/bin/Info.plist",
                "", "The executable's SHA-256 is 0a.",
                "/usr/bin/tool is a script. The device knows only its interpreter, so all scripts of this interpreter are one app.",
                "/etc/b.conf is not used: it is a symbolic link.",
                "If it runs in a Flatpak or a snap, or as a system service, the device knows it as that instead.",
            ])
    }
}
