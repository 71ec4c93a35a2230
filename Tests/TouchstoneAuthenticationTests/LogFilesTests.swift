import Foundation
import Glibc
import Testing
import TouchstoneCore

@testable import TouchstoneAuthentication

/// The log's files: only added to, never deleted, refused where they are not the owner's alone.
@Suite struct LogFilesTests {
    private final class Directory {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("log-\(UUID().uuidString)")
        init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(at: url) }
        var names: [String] {
            ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted()
        }
        func path(_ name: String = LogFiles.name) -> String { url.appendingPathComponent(name).path }
    }

    private let directory: Directory

    init() throws { directory = try Directory() }

    private func all(_ files: LogFiles, newest: Int? = nil) throws -> [String] {
        Array(try files.lines(newest: newest))
    }

    @Test func whatIsAddedIsRead() throws {
        let files = LogFiles(directory: directory.url)
        #expect(try all(files) == [])
        for number in 1...3 { try files.append("line \(number)") }
        #expect(try all(files) == ["line 1", "line 2", "line 3"])
        #expect(try all(LogFiles(directory: directory.url), newest: 2) == ["line 2", "line 3"])
        #expect(try all(files, newest: 0) == [])
        #expect(try all(files, newest: 10).count == 3)
        var status = stat()
        #expect(stat(directory.path(), &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test func aLargeFileIsPutAsideAndReadBefore() throws {
        let files = LogFiles(directory: directory.url, maximumBytes: 100)
        let lines = (1...200).map { "line number \($0)" }
        for line in lines { try files.append(line) }
        #expect(directory.names.count > 20)
        #expect(directory.names.contains("audit.log.1"))
        #expect(try all(files) == lines, "10 comes after 9, not after 1")
        for newest in [1, 9, 10, 100, 199, 200, 1000] {
            #expect(try all(files, newest: newest) == lines.suffix(newest))
        }
        let again = LogFiles(directory: directory.url, maximumBytes: 100)
        try again.append("more")
        #expect(try all(again) == lines + ["more"])
    }

    @Test func whatIsAddedWhileSomebodyReadsIsNotHalfSeen() throws {
        let files = LogFiles(directory: directory.url)
        try files.append("first")
        let lines = try files.lines(newest: nil)
        try files.append("second")
        #expect(Array(lines) == ["first"])
    }

    @Test(
        "Half a line that a power cut left is taken away; one that lacks but its end stays, as does what was never a line",
        arguments: [
            ("whole\nhal", ["whole"]), ("hal", []), ("", []), ("{1}\n{2", ["{1}"]), ("{1}\n{2}", ["{1}", "{2}"]),
            ("{1}", ["{1}"]),
            ("whole\n" + String(repeating: "x", count: 5000), ["whole", String(repeating: "x", count: 5000)]),
        ])
    func aLineCutShort(text: String, left: [String]) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: directory.path()))
        chmod(directory.path(), 0o600)
        let files = LogFiles(directory: directory.url)
        try files.append("next")
        #expect(try all(files) == left + ["next"])
    }

    @Test(
        "A file with an impossible number does not belong to the log, and no file is overwritten",
        arguments: ["9223372036854775807", "1000000001", "99999999999999999999", "0", "-1", "01", "x"])
    func strangeNumber(number: String) throws {
        let stranger = directory.path("audit.log.\(number)")
        try Data("stranger\n".utf8).write(to: URL(fileURLWithPath: stranger))
        let files = LogFiles(directory: directory.url, maximumBytes: 10)
        for number in 1...9 { try files.append("line number \(number)") }
        #expect(try all(files) == (1...9).map { "line number \($0)" })
        #expect(try String(contentsOfFile: stranger, encoding: .utf8) == "stranger\n")
    }

    @Test("After the largest number the file grows") func largestNumber() throws {
        try Data("first\n".utf8).write(to: URL(fileURLWithPath: directory.path("audit.log.1000000000")))
        chmod(directory.path("audit.log.1000000000"), 0o600)
        let files = LogFiles(directory: directory.url, maximumBytes: 10)
        for number in 1...9 { try files.append("line number \(number)") }
        #expect(try all(files) == ["first"] + (1...9).map { "line number \($0)" })
    }

    @Test func aLineWithoutEndComesInParts() throws {
        let long = Data(repeating: 0x78, count: 1_000_000)
        try (long + Data("\nnext\n".utf8)).write(to: URL(fileURLWithPath: directory.path()))
        chmod(directory.path(), 0o600)
        let lines = try all(LogFiles(directory: directory.url))
        #expect(lines.last == "next")
        #expect(lines.allSatisfy { $0.utf8.count <= 1 << 17 })
    }

    @Test(arguments: ["readable by others", "a link", "a directory", "a pipe"])
    func whatIsNotTheOwnersFileIsRefused(what: String) throws {
        let path = directory.path()
        switch what {
        case "readable by others":
            try Data().write(to: URL(fileURLWithPath: path))
            chmod(path, 0o644)
        case "a link":
            try Data().write(to: URL(fileURLWithPath: path + ".other"))
            chmod(path + ".other", 0o600)
            symlink(path + ".other", path)
        case "a directory": mkdir(path, 0o700)
        default: mkfifo(path, 0o600)
        }
        let files = LogFiles(directory: directory.url)
        #expect(throws: LogFiles.Failure.self) { try files.append("line") }
        #expect(throws: LogFiles.Failure.self) { _ = try files.lines(newest: nil) }
    }

    @Test("A disk that is full leaves no half a line, and takes the next when there is room") func fullDisk() async {
        // A limit on the size of files does what a full disk does; it is of a process, so that the test has one of its own.
        await #expect(processExitsWith: .success) {
            let directory = try Directory()
            let files = LogFiles(directory: directory.url)
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            let (first, second) = (String(repeating: "a", count: 50), String(repeating: "b", count: 50))
            try files.append(first)
            limit.rlim_cur = 60
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            #expect(throws: LogFiles.Failure.self) { try files.append(second) }
            limit.rlim_cur = limit.rlim_max
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            #expect(try Array(files.lines(newest: nil)) == [first])
            try files.append(second)
            #expect(try Array(files.lines(newest: nil)) == [first, second])
        }
    }
}
