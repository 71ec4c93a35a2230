import Foundation
import Glibc
import Testing

@testable import TouchstoneSensors

/// What fprintd's files tell of who is enrolled.
@Suite struct TemplatesTests {
    /// A directory like fprintd's, for as long as the value lives.
    private final class Store {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("templates-\(UUID().uuidString)")
        let templates: Templates

        init() throws {
            try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
            templates = Templates(root.path)
        }

        deinit { try? FileManager.default.removeItem(at: root) }

        func file(_ finger: String, reader: String = "0") -> URL {
            templates.directory.appendingPathComponent("driver/\(reader)/\(finger)")
        }

        func write(_ bytes: String, _ finger: String, reader: String = "0") throws {
            let file = file(finger, reader: reader)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(bytes.utf8).write(to: file)
        }
    }

    @Test("AC-50: another template is another digest; a file that is written again as it was is not")
    func digests() throws {
        let store = try Store()
        #expect(store.templates.digests() == [:])
        try store.write("one", "7")
        let one = try #require(store.templates.digests())
        #expect(Set(one.keys) == ["right-index-finger"])
        try store.write("one", "7")
        #expect(store.templates.digests() == one)
        try store.write("two", "7")
        let two = try #require(store.templates.digests())
        #expect(two != one && Set(two.keys) == Set(one.keys))
        try store.write("one", "7")
        try store.write("one", "a")
        let both = try #require(store.templates.digests())
        #expect(both["right-index-finger"] == one["right-index-finger"])
        #expect(both["right-little-finger"] != nil && both["right-little-finger"] != both["right-index-finger"])
        // The same finger with another reader: nobody can tell which of them will be touched.
        try store.write("three", "7", reader: "1")
        #expect(store.templates.digests()?["right-index-finger"] != one["right-index-finger"])
        try FileManager.default.removeItem(at: store.file("a"))
        #expect(store.templates.digests()?["right-little-finger"] == nil)
    }

    @Test("what is no template is not taken for one, and what cannot be read is not taken for nothing")
    func strange() throws {
        let store = try Store()
        try store.write("one", "7")
        let one = try #require(store.templates.digests())
        for name in ["0", "b", "seven", "77", ".7"] { try store.write("x", name) }
        #expect(store.templates.digests() == one)
        // A link could lead anywhere, a pipe nowhere.
        try FileManager.default.createSymbolicLink(at: store.file("8"), withDestinationURL: store.file("7"))
        #expect(store.templates.digests() == nil)
        try FileManager.default.removeItem(at: store.file("8"))
        #expect(mkfifo(store.file("8").path, 0o600) == 0)
        #expect(store.templates.digests() == nil)
        try FileManager.default.removeItem(at: store.file("8"))
        try Data(count: 5 << 20).write(to: store.file("8"))
        #expect(store.templates.digests() == nil)
        try FileManager.default.removeItem(at: store.file("8"))
        #expect(store.templates.digests() == one)
        #expect(Templates(store.file("7").path).digests() == nil)
    }
}
