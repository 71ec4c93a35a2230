import Foundation
import Glibc
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneInterfaces

@testable import TouchstoneTransport

/// The list of the programs to which root gave the owner's interface: bytes of files, and what may lie beside them.
@Suite struct OwnerProgramsTests {
    /// A directory for a list of this user's own.
    private final class Place: Sendable {
        let path: String
        let reports = Mutex<[String]>([])

        init() throws {
            path = FileManager.default.temporaryDirectory.appendingPathComponent("owner-programs-\(UUID())").path
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            chmod(path, 0o755)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func write(_ name: String, _ text: String, mode: mode_t = 0o644) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
            chmod("\(path)/\(name)", mode)
        }
    }

    /// A program of root that is everywhere, as the kernel names it.
    private let program = URL(fileURLWithPath: "/usr/bin/env").resolvingSymlinksInPath().path

    private func programs(_ places: Place...) -> OwnerPrograms {
        OwnerPrograms(places.map(\.path), owner: getuid()) { line in
            for place in places { place.reports.withLock { $0.append(line) } }
        }
    }

    private func app(_ identifier: String, _ evidence: AppIdentity.Evidence = .executable) -> AppIdentity {
        AppIdentity(
            identifier: AppIdentifier(identifier), evidence: evidence, name: "app", processID: 1, userID: getuid())
    }

    @Test("Promise 31: a listed program is one, by its evidence; any other is not") func listed() throws {
        let place = try Place()
        try place.write("a.conf", "# for tests\n\n  \(program)\t\nunit:backup.service\n")
        let programs = programs(place)
        #expect(programs.contains(app(program)))
        #expect(programs.contains(app("unit:backup.service", .systemdUnit)))
        #expect(!programs.contains(app("/usr/bin/other")))
        // Another file at that path, as in another mount namespace, has another name; a sandboxed app has another evidence.
        #expect(!programs.contains(app("\(program) (replaced)")))
        for evidence in [AppIdentity.Evidence.flatpak, .snap, .process] {
            #expect(!programs.contains(app(program, evidence)))
        }
        #expect(!programs.contains(app("unit:backup.service", .executable)))
        #expect(place.reports.withLock { $0 }.isEmpty)
    }

    @Test("What is changed counts at the next call") func changed() throws {
        let place = try Place()
        let programs = programs(place)
        #expect(!programs.contains(app(program)))
        try place.write("a.conf", program)
        #expect(programs.contains(app(program)))
        try FileManager.default.removeItem(atPath: "\(place.path)/a.conf")
        #expect(!programs.contains(app(program)))
    }

    @Test("The administrator's file hides the package's of that name, also one that lists nothing") func hides() throws
    {
        let (administrators, packages) = (try Place(), try Place())
        try packages.write("a.conf", program)
        let programs = programs(administrators, packages)
        #expect(programs.contains(app(program)))
        try administrators.write("a.conf", "# nobody\n")
        #expect(!programs.contains(app(program)))
        #expect(programs.administrators == administrators.path)
    }

    @Test("Lines that name no program are told by their number, and the others count") func badLines() throws {
        let bad = [
            "bin/env", "/usr//bin/env", "/usr/bin/", "/usr/./env", "/usr/../env", "/", "unit:", "unit:a.socket",
            "flatpak:org.example.App", "/usr/bin/\u{1}", "/" + String(repeating: "a", count: 1024),
        ]
        let text = (bad + [program]).joined(separator: "\n")
        let parsed = try OwnerPrograms.parse(Data(text.utf8))
        #expect(parsed.programs == [program])
        #expect(parsed.badLines == Array(1...bad.count))
        let place = try Place()
        try place.write("a.conf", text)
        let listed = programs(place).read()
        #expect(listed.problems.count == bad.count)
        #expect(listed.problems.first?.contains("line 1 of \(place.path)/a.conf") == true)
    }

    @Test("A file that is no text, has too many lines or too many bytes is refused whole") func badFiles() throws {
        #expect(throws: OwnedDirectory.Refused.self) { try OwnerPrograms.parse(Data([0x2F, 0xFF, 0xFE])) }
        let lines = String(repeating: "\n", count: OwnerPrograms.Limits.lines)
        #expect(throws: OwnedDirectory.Refused.self) { try OwnerPrograms.parse(Data(lines.utf8)) }
        #expect(try OwnerPrograms.parse(Data(lines.dropLast().utf8)).programs.isEmpty)
        let place = try Place()
        try place.write("a.conf", "\(program)\n" + String(repeating: "#", count: OwnerPrograms.Limits.fileBytes))
        let programs = programs(place)
        #expect(!programs.contains(app(program)))
        #expect(place.reports.withLock { $0 }.count == 1)
        for number in 0...OwnerPrograms.Limits.files { try place.write("b\(number).conf", program) }
        #expect(!programs.contains(app(program)), "more files than are read")
    }

    @Test("Links, pipes, files and directories that others can write to are not read") func foreignFiles() throws {
        for (name, make) in [
            (
                "a link",
                { try FileManager.default.createSymbolicLink(atPath: "\($0)/a.conf", withDestinationPath: "\($0)/b") }
            ),
            ("a pipe", { #expect(mkfifo("\($0)/a.conf", 0o644) == 0) }),
            ("a directory", { #expect(mkdir("\($0)/a.conf", 0o755) == 0) }),
            ("for others to write", { chmod("\($0)/a.conf", 0o666) }),
            ("in a directory for others to write", { chmod($0, 0o777) }),
        ] as [(String, (String) throws -> Void)] {
            let place = try Place()
            try place.write("b", program)
            if name.hasSuffix("write") { try place.write("a.conf", program) }
            try make(place.path)
            let programs = programs(place)
            #expect(!programs.contains(app(program)), "\(name)")
            #expect(programs.read().problems.count == 1, "\(name)")
        }
        let place = try Place()
        try place.write("a.conf", program)
        let link = place.path + "-link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: place.path)
        defer { unlink(link) }
        #expect(!OwnerPrograms([link], owner: getuid()) { _ in }.contains(app(program)), "a directory that is a link")
    }

    @Test("A program that others than root can change, or whose directory they can, is not taken")
    func foreignPrograms() throws {
        let place = try Place()
        // Below the directory for temporary files, in which everybody may write.
        try place.write("program", "", mode: 0o755)
        try place.write("a.conf", "\(place.path)/program\n\(program)\n/usr/bin/none-of-that-name\n")
        let programs = programs(place)
        #expect(!programs.contains(app("\(place.path)/program")))
        #expect(!programs.contains(app("/usr/bin/none-of-that-name")))
        #expect(programs.contains(app(program)))
        #expect(programs.read().problems.count == 2)
        #expect(OwnerPrograms.refusal(ofExecutable: program) == nil)
        #expect(OwnerPrograms.refusal(ofExecutable: "/usr/bin") != nil, "no file")
    }

    @Test("Promise 31: who is not on the list has no owner's interface, and is told where the list is") func refused()
        throws
    {
        let place = try Place()
        try place.write("a.conf", program)
        let programs = programs(place)
        func refusal(_ identifier: String, userID: UInt32 = 30001) -> DeviceInterface.Refused? {
            let app = app(identifier)
            let connection = VarlinkConnection(
                peer: Peer(processID: 1, userID: userID, ownerPrograms: programs, identify: { app }),
                router: VarlinkRouter(info: .init(product: "", version: ""), interfaces: []), write: { _ in },
                writeThrough: { _ in true }, disconnect: {})
            do throws(DeviceInterface.Refused) {
                _ = try IsOwner(connection, of: 30001)
                return nil
            } catch {
                return error
            }
        }
        #expect(refusal(program) == nil)
        let refused = refusal("/home/owner/program")
        #expect(refused?.reason == .notListed)
        #expect(refused?.program == "/home/owner/program" && refused?.directory == place.path)
        #expect(refusal("/root/program", userID: 0) == nil, "root keeps the list")
        #expect(refusal(program, userID: 30002)?.reason == .notOwner)
    }

    @Test("Promise 31: without descriptors nobody is on the list, and the list is read again when there are some")
    func withoutDescriptors() async {
        // The limit is of a process, so that the test has one of its own.
        await #expect(processExitsWith: .success) {
            let tests = OwnerProgramsTests()
            let place = try Place()
            try place.write("a.conf", tests.program)
            let programs = tests.programs(place)
            let limit = try DescriptorLimit()
            for left in 0...1 {
                limit.leave(left)
                #expect(!programs.contains(tests.app(tests.program)))
            }
            limit.leave(2)
            #expect(programs.contains(tests.app(tests.program)))
        }
    }
}
