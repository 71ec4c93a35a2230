import Crypto
import Foundation
import Glibc
import Testing

@testable import TouchstonePeers

/// Digests of executables: read once, and not where others wait.
@Suite struct FileDigestsTests {
    private final class File {
        let path: String

        init(_ bytes: Data) throws {
            path = FileManager.default.temporaryDirectory.appendingPathComponent("ts-\(UUID().uuidString)").path
            try bytes.write(to: URL(fileURLWithPath: path))
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        /// Writes in place, and puts the old date back.
        func overwrite(_ bytes: Data) throws {
            let date = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate]
            let handle = try #require(FileHandle(forWritingAtPath: path))
            try handle.write(contentsOf: bytes)
            try handle.close()
            try FileManager.default.setAttributes([.modificationDate: try #require(date)], ofItemAtPath: path)
        }
    }

    private static func digest(_ bytes: Data) -> String {
        SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
    }

    private let digests = FileDigests(maximum: 4, maximumBytes: 1 << 20)

    /// What is found when it has been read.
    private func read(_ path: String) throws -> FileDigests.Found {
        let found = Events<FileDigests.Found>()
        if let known = digests.look(path, later: { found.append($0) }) { return known }
        return try found.wait()[0]
    }

    @Test("A file is read elsewhere the first time, and known the next") func once() throws {
        let file = try File(Data("one".utf8))
        let found = Events<FileDigests.Found>()
        #expect(digests.look(file.path) { found.append($0) } == nil)
        #expect(try found.wait()[0].digest == Self.digest(Data("one".utf8)))
        let again = digests.look(file.path) { _ in Issue.record("read again") }
        #expect(again?.digest == Self.digest(Data("one".utf8)))
        #expect(again.map { digests.isOf(file.path, $0) } == true)
        #expect(digests.digest(file.path) == Self.digest(Data("one".utf8)))
    }

    @Test("A file that was written has another digest whatever its date says, and the old one is not of it")
    func changed() throws {
        let file = try File(Data("one".utf8))
        let first = try read(file.path)
        usleep(20_000)
        try file.overwrite(Data("two".utf8))
        #expect(!digests.isOf(file.path, first))
        #expect(try read(file.path).digest == Self.digest(Data("two".utf8)))
    }

    @Test("Another file under the same name has its own digest, also of the same size and date") func replaced() throws
    {
        let (file, other) = (try File(Data("one".utf8)), try File(Data("two".utf8)))
        let first = try read(file.path)
        let date = try #require(FileManager.default.attributesOfItem(atPath: file.path)[.modificationDate])
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: other.path)
        #expect(rename(other.path, file.path) == 0)
        #expect(!digests.isOf(file.path, first))
        #expect(try read(file.path).digest == Self.digest(Data("two".utf8)))
    }

    @Test("All who ask about one file hear of it when it was read") func together() throws {
        let file = try File(Data(count: 1 << 20))
        let found = Events<String?>()
        for _ in 0..<50 {
            if let known = digests.look(file.path, later: { found.append($0.digest) }) { found.append(known.digest) }
        }
        let digest = Self.digest(Data(count: 1 << 20))
        #expect(try found.wait(for: 50).allSatisfy { $0 == digest })
    }

    @Test("A larger file, and one that is not there, have no digest, and are known to have none at once")
    func without() throws {
        let file = try File(Data(count: (1 << 20) + 1))
        for path in [file.path, file.path + "-absent", "/dev/null"] {
            let found = digests.look(path) { _ in Issue.record("read") }
            #expect(found != nil && found?.digest == nil)
        }
    }

    @Test("So many are kept, and what is not kept is read again") func kept() throws {
        let files = try (0..<9).map { try File(Data("\($0)".utf8)) }
        for _ in 0..<2 {
            for (number, file) in files.enumerated() {
                #expect(try read(file.path).digest == Self.digest(Data("\(number)".utf8)))
            }
        }
    }
}
