import Foundation
import NIOCore
import Testing

@testable import touchstone_simulator

/// What each tab is told, and how much may wait for one that does not read.
@Suite struct TabsTests {
    private func text(_ event: PageEvent) -> String { String(buffer: event.frame) }

    /// What a tab that reads is told, until its stream ends.
    private func all(_ tabs: Tabs, _ tab: Tabs.Tab) async -> [String] {
        tabs.close(tab.number)
        var found: [String] = []
        for await event in tab.events { found.append(text(event)) }
        return found
    }

    @Test("an event is one name and one line, whatever its JSON looks like") func frames() {
        let event = PageEvent("log", Data("{\n\"a\":\r\n1}".utf8))
        #expect(text(event) == "event: log\ndata: { \"a\":  1}\n\n")
    }

    @Test("a tab that opens later is told what is kept, in its order, and then what comes") func kept() async {
        let tabs = Tabs()
        tabs.publish(.init("feed", Data("1".utf8)), keptAs: "feed log")
        for number in 2...4 { tabs.publish(.init("log", Data("\(number)".utf8)), keptAs: "log", limit: 2) }
        tabs.publish(.init("status", Data("5".utf8)), keptAs: "status")
        tabs.forget("status")
        #expect(tabs.newest("log") == Data("4".utf8))
        #expect(tabs.newest("status") == nil)
        let tab = tabs.open()
        tabs.publish(.init("log", Data("6".utf8)), keptAs: "log", limit: 2)
        let found = await all(tabs, tab)
        #expect(found.map { $0.split(separator: "data: ")[1].prefix(1) } == ["1", "3", "4", "6"])
    }

    @Test("of what is kept no more bytes are than a tab takes that opens") func keptBytes() async {
        let tabs = Tabs()
        for _ in 0..<8 { tabs.publish(.init("log", Data(repeating: 0x31, count: 60 << 10)), keptAs: "log", limit: 100) }
        tabs.publish(.init("keys", Data(repeating: 0x31, count: Tabs.maximumWaitingBytes + 1)), keptAs: "keys")
        let tab = tabs.open()
        #expect(await all(tabs, tab).count == 4)
    }

    @Test("a tab that does not read is told no more before much waits for it, and others go on") func slowTabs() async {
        let tabs = Tabs()
        let event = PageEvent("log", Data(repeating: UInt8(ascii: "1"), count: 64 << 10))
        let (slow, quick) = (tabs.open(), tabs.open())
        var reader = quick.events.makeAsyncIterator()
        let count = 4 * Tabs.maximumWaitingBytes / event.frame.readableBytes
        for _ in 0..<count {
            tabs.publish(event, keptAs: "log")
            guard let taken = await reader.next() else {
                Issue.record("the tab that reads was closed")
                return
            }
            tabs.written(taken, to: quick.number)
        }
        var waiting = 0
        for await event in slow.events { waiting += event.frame.readableBytes }
        #expect(waiting > Tabs.maximumWaitingBytes / 2)
        #expect(waiting <= Tabs.maximumWaitingBytes)
    }

    @Test("with the last tab the watching ends, but not at once") func watching() {
        let tabs = Tabs(patience: .seconds(3600))
        #expect(!tabs.isWatched)
        let (one, other) = (tabs.open(), tabs.open())
        tabs.close(one.number)
        #expect(tabs.isWatched)
        tabs.close(other.number)
        #expect(tabs.isWatched)
        let impatient = Tabs(patience: .zero)
        impatient.close(impatient.open().number)
        #expect(!impatient.isWatched)
    }

    @Test("a poke ends a pause, also one that begins after it") func pokes() {
        let tabs = Tabs()
        tabs.poke()
        let started = ContinuousClock.now
        tabs.pause(1200)
        #expect(ContinuousClock.now - started < .seconds(600))
    }

    @Test("a pause ends when the last tab leaves, and is no longer than its way back") func lastTab() {
        let tabs = Tabs(patience: .milliseconds(1))
        let (one, other) = (tabs.open(), tabs.open())
        let started = ContinuousClock.now
        tabs.close(one.number)
        tabs.close(other.number)
        tabs.pause(1200)
        tabs.pause(1200)
        #expect(ContinuousClock.now - started < .seconds(600))
    }
}
