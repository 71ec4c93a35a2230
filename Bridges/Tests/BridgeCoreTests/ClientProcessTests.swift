import BridgeCore
import Foundation
import Testing

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

    @Test("BR-13: shells, interpreters and ssh say nothing about who asks; other programs do") func multiplexers() {
        for path in ["/bin/sh", "/usr/bin/python3.11", "/usr/bin/git", "/usr/lib/git-core/git-remote-https", "/usr/bin/ssh",
            "/usr/bin/xargs", "/usr/bin/bash (deleted)"] {
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
        #expect(Sentence.reason("sign", for: "/usr/bin/ssh") == "sign for “ssh” (/usr/bin/ssh)")
        #expect(Sentence.reason(String(repeating: "a", count: 900), for: "/usr/bin/ssh").count <= 256)
    }
}
