import Foundation
import Testing

@testable import TouchstoneSensors

@Suite struct PasswordFileTests {
    private func file(_ text: String) throws -> PasswordFile {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("passwd-\(UUID().uuidString)")
        try Data(text.utf8).write(to: url)
        return PasswordFile(path: url.path)
    }

    @Test("DEC-061: the first line with a number or a name is the user's")
    func found() throws {
        let file = try file("root:x:0:0:root:/root:/bin/sh\nzoë:x:1000:1000::/home/z:\nother:x:1000:1::/:/bin/sh")
        defer { try? FileManager.default.removeItem(atPath: file.path) }
        #expect(file.name(of: 0) == "root" && file.name(of: 1000) == "zoë")
        #expect(file.id(of: "zoë") == 1000 && file.id(of: "other") == 1000)
        #expect(file.name(of: 1) == nil && file.id(of: "nobody") == nil)
    }

    @Test(
        "a line of another form is nobody, and does not hide the next",
        arguments: [
            "a:x:7:0:::more:fields", "a:x:7:0::", ":x:7:0:::", "a/b:x:7:0:::", "..:x:7:0:::", "+a:x:7:0:::",
            "-a:x:7:0:::",
            "#a:x:7:0:::", "a:x:+7:0:::", "a:x: 7:0:::", "a:x:0x7:0:::", "a:x::0:::", "a:x:4294967303:0:::", "a", "",
            String(repeating: "a", count: 256) + ":x:7:0:::",
        ])
    func malformed(line: String) throws {
        let file = try file("\(line)\nb:x:7:0:::\n")
        defer { try? FileManager.default.removeItem(atPath: file.path) }
        #expect(file.name(of: 7) == "b" && file.id(of: "a") == nil)
    }

    @Test("a file that is not there, is none, or is too large has nobody")
    func unreadable() throws {
        let large = try file(String(repeating: "a:x:7:0:::\n", count: 100_000))
        defer { try? FileManager.default.removeItem(atPath: large.path) }
        for file in [large, PasswordFile(path: "/nowhere"), PasswordFile(path: "/")] {
            #expect(file.name(of: 7) == nil && file.id(of: "a") == nil)
        }
    }
}
