import BridgeCore
import Dispatch
import Foundation
import Synchronization
import Testing

@Suite struct ClientListenerTests {
    @Test("BR-12: whoever sends at once, before it was accepted, is known") func early() throws {
        let path = "\(NSTemporaryDirectory())/\(UUID().uuidString.prefix(8)).sock"
        let listener = try ClientListener(path: path)
        defer { unlink(path) }
        let unknown = Mutex(0)
        // It accepts until the process ends.
        Thread.detachNewThread {
            listener.run { connection in
                guard (try? connection.receive(longest: 1, { $0.isEmpty ? .unknown : .bytes(1) })) != nil else {
                    return
                }
                if (try? connection.look())?.process?.processID != getpid() { unknown.withLock { $0 += 1 } }
                try? connection.send([1])
            }
        }
        let answered = Mutex(0)
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<250 {
                let answer = try? ServiceConnection(path: path).exchange([0], longest: 1) {
                    $0.isEmpty ? .unknown : .bytes(1)
                }
                if answer == [1] { answered.withLock { $0 += 1 } }
            }
        }
        #expect(answered.withLock { $0 } == 2000)
        #expect(unknown.withLock { $0 } == 0)
    }

    @Test("SA-24: of a long part both ends are seen") func parts() {
        let name = String(repeating: "a", count: 200) + ".example.org"
        #expect(Sentence.short(name).count < 49 && Sentence.short(name).hasSuffix(".example.org"))
        #expect(Sentence.short("example.org") == "example.org")
        #expect(!Sentence.short("a\u{202E}”b").contains { ["\u{202E}", "”"].contains($0) })
    }
}
