import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneEnclaveInterface
import TouchstoneLog

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost

/// One boot of an enclave whose log the test holds.
private final class Boot: Sendable {
    /// A clock that the test moves.
    final class Clock: TimeSource {
        private let time = Mutex(1000.0)
        var now: Double { time.withLock { $0 } }
        var date: Date { Date(timeIntervalSince1970: 1_800_000_000 + now) }
        func advance(_ seconds: Double) { time.withLock { $0 += seconds } }
    }

    let host: EnclaveHost
    let storage: TestStorage
    let clock = Clock()
    private let received = Mutex<[String]>([])

    init(_ storage: TestStorage, root: TestRoot = TestRoot(), newestLines: [String] = []) throws {
        self.storage = storage
        host = try EnclaveHost(storage: storage, root: root, clock: clock, newPasscodeCost: { .minimum })
        host.watch { [weak self] event in self?.received.withLock { $0 += event.log ?? [] } }
        host.resumeLog(newestLines: newestLines)
    }

    convenience init(root: TestRoot = TestRoot()) throws {
        try self.init(TestStorage(Enclave.device(passcode: nil, fingers: 0, root: root).stateFile()), root: root)
    }

    /// What was written so far, without ending any count.
    func written() async -> [String] {
        let head = host.read { enclave, _ in enclave.log.head }
        while received.withLock({ $0.last.flatMap(LogEntry.init(line:))?.sequence ?? 0 }) < head.sequence {
            try? await Task.sleep(for: .milliseconds(1))
        }
        return received.withLock { $0 }
    }

    func entries() async -> [LogEntry] { await written().compactMap(LogEntry.init(line:)) }

    /// What the enclave and the check have to say of these lines.
    func findings(_ lines: [String], from: Int = 1, isNewest: Bool = true) -> [LogCheck.Finding] {
        var check = LogCheck(from: from)
        for (line, isGenuine) in zip(lines, host.checkLog(lines)) { check.add(line, isGenuine: isGenuine) }
        let head = host.logHead()
        check.finish(between: isNewest ? (head, head) : nil)
        return check.findings
    }
}

extension LogFact {
    fileprivate static func used(_ app: AppIdentifier = "app", repeatable: Bool = false) -> LogFact {
        LogFact(
            event: .itemOpened, app: app, asked: "biometryAny", factors: [.touchID], isRepeatable: repeatable)
    }
}

/// The chain of codes, what it finds, and how it goes on from one boot to the next.
@Suite(.timeLimit(.minutes(10))) struct LogChainTests {
    /// A log of several kinds of entries, and the enclave that wrote it.
    private func log(_ count: Int = 12, root: TestRoot = TestRoot()) async throws -> (Boot, [String]) {
        let boot = try Boot(root: root)
        for number in 1..<count {
            boot.host.note([LogFact.used("org.example.app\(number % 3)")])
            boot.clock.advance(0.5)
        }
        return (boot, await boot.written())
    }

    // MARK: what is found

    @Test("Threat 34: a log that nobody touched is whole") func whole() async throws {
        let (boot, lines) = try await log()
        #expect(lines.count == 12)
        #expect(boot.findings(lines) == [])
        #expect(lines.compactMap(LogEntry.init(line:)).map(\.sequence) == Array(1...12))
    }

    @Test("Threat 34: every change of every byte of an entry is found, and only that entry is said to be damaged")
    func everyByte() async throws {
        let (boot, lines) = try await log(4)
        let line = Array(lines[1].utf8)
        for index in line.indices {
            // One bit, another case, what ends a line, what no text has.
            for byte in [line[index] ^ 1, line[index] ^ 0x20, 0x0A, 0xFF, 0x00] where byte != line[index] {
                var changed = line
                changed[index] = byte
                var text = Array(lines[0].utf8) + [0x0A]
                text += changed + [0x0A]
                text += Array(lines[2].utf8) + [0x0A] + Array(lines[3].utf8)
                let read = text.split(separator: 0x0A, omittingEmptySubsequences: false)
                    .map { String(decoding: $0, as: UTF8.self) }
                let findings = boot.findings(read)
                #expect(!findings.isEmpty, "byte \(index) as \(byte)")
                #expect(
                    findings.allSatisfy {
                        if case .damaged(let line, _) = $0 { [2, 3].contains(line) } else { false }
                    },
                    "byte \(index) as \(byte): \(findings)")
            }
        }
    }

    @Test("Threat 34: an entry removed is missing, wherever it stood") func removed() async throws {
        let (boot, lines) = try await log()
        for index in lines.indices {
            var cut = lines
            cut.remove(at: index)
            #expect(boot.findings(cut) == [.missing((index + 1)...(index + 1))])
        }
        #expect(boot.findings([]) == [.missing(1...12)])
        #expect(boot.findings(Array(lines[..<3] + lines[7...])) == [.missing(4...7)])
    }

    @Test("Threat 34: a cut of the newest entries is found as long as the enclave runs, however many")
    func truncated() async throws {
        let (boot, lines) = try await log()
        for count in lines.indices {
            #expect(boot.findings(Array(lines.prefix(count))) == [.missing((count + 1)...12)])
        }
    }

    @Test("Threat 34: entries exchanged are out of their place") func reordered() async throws {
        let (boot, lines) = try await log()
        for first in lines.indices {
            for second in lines.indices where second > first {
                var moved = lines
                moved.swapAt(first, second)
                let findings = boot.findings(moved)
                #expect(
                    findings.contains {
                        if case .outOfOrder(let entry, _) = $0 {
                            (first + 1...second + 1).contains(entry)
                        } else {
                            false
                        }
                    }, "\(first) and \(second): \(findings)")
            }
        }
    }

    @Test("Threat 34: an entry that is there twice, or was never written, is found") func inserted() async throws {
        let (boot, lines) = try await log()
        for index in lines.indices {
            for place in (index + 1)...lines.count {
                var doubled = lines
                doubled.insert(lines[index], at: place)
                #expect(boot.findings(doubled) == [.repeated(entry: index + 1, line: place + 1)])
            }
        }
        let made = lines[4].replacing("\"ok\"", with: "\"no\"")
        #expect(boot.findings(lines + [made]) == [.damaged(line: 13, entry: 5)])
        #expect(boot.findings(lines + ["", "nonsense", "{}"]).count == 3)
    }

    @Test("Threat 34: another device's log is not accepted, whole or in part") func anotherDevice() async throws {
        let (boot, lines) = try await log()
        let (_, others) = try await log(root: TestRoot(2))
        #expect(boot.findings(others).count == 12)
        var mixed = lines
        mixed[5] = others[5]
        #expect(boot.findings(mixed) == [.damaged(line: 6, entry: 6)])
    }

    @Test("Threat 34: a log that went two ways, as after an older state was put back, is found") func forked()
        async throws
    {
        let storage = TestStorage(try Enclave.device(passcode: nil, fingers: 0).stateFile())
        func lines() async throws -> [String] {
            // From the same state, each time: what an owner of the disk can bring about.
            let boot = try Boot(TestStorage(storage.versions[0]))
            for _ in 0..<4 { boot.host.note([.used()]) }
            return await boot.written()
        }
        let (first, second) = (try await lines(), try await lines())
        let boot = try Boot(TestStorage(storage.versions[0]), newestLines: second)
        #expect(boot.findings(Array(first[..<3] + second[3...]), isNewest: false) == [.forked(entry: 4, line: 4)])
        #expect(boot.findings(second, isNewest: false) == [], "each by itself is whole")
    }

    @Test("Threat 34: any edit at random is found", arguments: UInt64(1)...40) func random(seed: UInt64) async throws {
        let (boot, lines) = try await log(8)
        var numbers = SplitMix(state: seed)
        for _ in 0..<50 {
            var bytes = Array(lines.joined(separator: "\n").utf8)
            for _ in 0..<Int.random(in: 1...3, using: &numbers) {
                let place = Int.random(in: 0..<bytes.count, using: &numbers)
                let length = Int.random(in: 1...min(300, bytes.count - place), using: &numbers)
                switch Int.random(in: 0..<4, using: &numbers) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &numbers)
                case 1: bytes.removeSubrange(place..<(place + length))
                case 2: bytes.insert(contentsOf: bytes[place..<(place + length)], at: 0)
                default:
                    let piece = Array(bytes[place..<(place + length)])
                    bytes.insert(contentsOf: piece, at: Int.random(in: 0...bytes.count, using: &numbers))
                }
                if bytes.isEmpty { break }
            }
            let changed = String(decoding: bytes, as: UTF8.self)
            guard changed != lines.joined(separator: "\n") else { continue }
            let findings = boot.findings(
                changed.split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
            #expect(!findings.isEmpty, "seed \(seed): \(changed)")
        }
    }

    @Test("Older entries that are kept elsewhere are not missed where it is said which is the first")
    func from() async throws {
        let (boot, lines) = try await log()
        #expect(boot.findings(Array(lines[6...]), from: 7) == [])
        #expect(boot.findings(Array(lines[6...]), from: 6) == [.missing(6...6)])
        #expect(boot.findings(Array(lines[..<6]), isNewest: false) == [])
    }

    @Test("A code has one spelling: capitals, or anything after it, is another line") func oneSpelling() async throws {
        let (boot, lines) = try await log(2)
        let line = try #require(lines.last)
        let code = try #require(LogEntry(line: line)).code
        let capitals = line.replacing(code, with: code.uppercased())
        try #require(capitals != line)
        #expect(
            boot.host.checkLog([line, capitals, line + " ", " " + line, line + "\n"]) == [
                true, false, false, false, false,
            ])
        #expect(boot.host.checkLog([String(repeating: "x", count: 1 << 20), "", "\0"]) == [false, false, false])
    }

    // MARK: lines

    @Test("A line is plain ASCII whatever an app is called, and says its name back")
    func hostileNames() async throws {
        let boot = try Boot()
        let names = [
            "org.example.app", "quote\" slash\\ brace}", "line\nbreak\r\u{2028}", "\u{202E}gnp.exe", "名前", "e\u{301}",
            "\u{e9}", "\0",
            "\",\"result\":\"ok\",\"code\":\"", "😀", String(repeating: "long", count: 1000),
        ]
        for name in names { boot.host.note([.used(AppIdentifier(name))]) }
        let lines = await boot.written()
        #expect(lines.allSatisfy { $0.utf8.allSatisfy { (0x20...0x7E).contains($0) } && $0.utf8.count < 4096 })
        let told = lines.compactMap(LogEntry.init(line:)).compactMap(\.app)
        #expect(told.dropLast().elementsEqual(names.dropLast()) { $0.utf8.elementsEqual($1.utf8) })
        #expect(told.last == String(repeating: "long", count: 50) + "…")
        #expect(boot.findings(lines) == [])
    }

    @Test("Time is the wall clock's, in UTC; the boot has one name") func timeAndBoot() async throws {
        let boot = try Boot()
        boot.clock.advance(61.25)
        boot.host.note([.used()])
        let entries = await boot.entries()
        #expect(entries.map(\.time) == ["2027-01-15T08:16:40.000Z", "2027-01-15T08:17:41.250Z"])
        #expect(Set(entries.map(\.boot)).count == 1)
    }

    // MARK: counting

    @Test("Equal uses within ten seconds are counted, and told together when they are over") func counted() async throws
    {
        let boot = try Boot()
        for _ in 0..<100 { boot.host.note([.used(repeatable: true)]) }
        boot.host.note([.used("other", repeatable: true)])
        #expect(await boot.entries().map(\.app) == [nil, "app", "other"])
        boot.clock.advance(10)
        boot.host.note([LogFact(event: .locked)])
        let entries = await boot.entries()
        #expect(entries.map(\.event).suffix(2) == ["item-opened", "locked"])
        #expect(entries.map(\.count) == [nil, nil, nil, 99, nil])
        #expect(boot.findings(await boot.written()) == [])
    }

    @Test("A count of touchstoned's that no number holds is no trap")
    func countsHaveAnEnd() async throws {
        let boot = try Boot()
        for _ in 0..<3 { boot.host.note([LogFact(.init(.init(.agentConnected, count: .max)))]) }
        boot.clock.advance(1)
        for _ in 0..<3 { boot.host.note([LogFact(event: .backupExported, count: .max, isRepeatable: true)]) }
        boot.host.note([LogFact(.logInterrupted(lines: .max))])
        boot.clock.advance(10)
        boot.host.note([LogFact(event: .locked)])
        let entries = await boot.entries()
        // Started, connected, exported, interrupted, then what was counted.
        #expect(entries.map(\.count) == [nil, nil, .max, .max, 2, .max, nil])
        #expect(boot.findings(await boot.written()) == [])
    }

    @Test("A touch for an app ends its counts, and no other's") func countsEndWithATouch() async throws {
        let boot = try Boot()
        for app: AppIdentifier in ["a", "b"] {
            for _ in 0..<3 { boot.host.note([.used(app, repeatable: true)]) }
        }
        boot.host.note([.used("a")])
        boot.host.note([.used("a", repeatable: true)])
        let entries = await boot.entries().dropFirst()
        #expect(entries.map { "\($0.app ?? "") \($0.count ?? 0)" } == ["a 0", "b 0", "a 2", "a 0", "a 0"])
    }

    @Test("What was counted is told when somebody asks where the log ends, and at the end") func countsAreNotLost()
        async throws
    {
        let boot = try Boot()
        for _ in 0..<3 { boot.host.note([.used(repeatable: true)]) }
        #expect(boot.host.logHead().sequence == 3)
        for _ in 0..<3 { boot.host.note([.used(repeatable: true)]) }
        #expect(boot.host.closeLog().sequence == 5)
        #expect(await boot.entries().map(\.count) == [nil, nil, 2, 3, nil])
        #expect(await boot.entries().last?.event == "device-stopped")
    }

    @Test("Threat 34: who asks where the log ends, again and again, gets the counts and no more entries by it")
    func askingEndsNoCount() async throws {
        let boot = try Boot()
        for _ in 0..<1000 {
            boot.host.note([.used(repeatable: true)])
            _ = boot.host.logHead()
        }
        #expect(await boot.entries().count == 1 + LogChain.Limits.entriesPerSecond)
        boot.clock.advance(5)
        boot.host.note([.used(repeatable: true)])
        let counted = await boot.entries().filter { $0.event == "item-opened" }.count
        #expect(counted == LogChain.Limits.entriesPerSecond, "the ten seconds are not over")
        _ = boot.host.closeLog()
        let entries = await boot.entries().filter { $0.event == "item-opened" }
        #expect(entries.reduce(0) { $0 + ($1.count ?? 1) } == 1001)
        #expect(boot.findings(await boot.written()) == [])
    }

    @Test(
        "Threat 34: of what can be repeated there are 20 entries in a second and one of all others, and what cannot is told"
    )
    func ceiling() async throws {
        let boot = try Boot()
        for _ in 0..<2 {
            for number in 0..<1000 { boot.host.note([.used("app \(number)", repeatable: true)]) }
        }
        boot.host.note([LogFact(event: .locked)])
        #expect(await boot.entries().map(\.event).count { $0 == "item-opened" } == 20)
        #expect(await boot.entries().last?.event == "locked")
        boot.clock.advance(0.5)
        boot.host.note([.used("app 2000", repeatable: true)])
        #expect(await boot.entries().last?.event == "locked", "the second is not over")
        boot.clock.advance(0.5)
        boot.host.note([.used("app 2001", repeatable: true)])
        let last = await boot.entries().suffix(2)
        #expect(last.map(\.event) == ["others", "item-opened"])
        // Of the twenty the second time was counted.
        #expect(last.map(\.count) == [2 * 980 + 1, nil])
        #expect(last.map(\.app) == [nil, "app 2001"])
        boot.clock.advance(10)
        boot.host.note([LogFact(event: .locked)])
        let entries = await boot.entries().filter { ["item-opened", "others"].contains($0.event) }
        #expect(entries.filter { $0.event == "item-opened" }.count == 20 + 1 + 20)
        #expect(boot.findings(await boot.written()) == [])
    }

    @Test("DEC-022: of refused calls there are ten entries in a second, so that they hide nothing else") func refusals()
        async throws
    {
        let boot = try Boot()
        for number in 0..<1000 { boot.host.note([LogFact(refused: "app \(number)", for: nil, .noAgent, nil)]) }
        boot.host.note([.used(repeatable: true)])
        #expect(await boot.entries().map(\.event).count { $0 == "call-refused" } == 10)
        #expect(await boot.entries().last?.event == "item-opened")
        boot.clock.advance(1)
        boot.host.note([LogFact(event: .locked)])
        #expect(await boot.entries().suffix(2).map(\.event) == ["others", "locked"])
        #expect(await boot.entries().suffix(2).first?.count == 990)
    }

    @Test("DEC-022: what touchstoned counted before is counted on") func countedRefusals() async throws {
        let boot = try Boot()
        let refused = Enclave.RefusedCall(
            app: "app", cause: .interactionForbidden, requirement: Requirement(proofs: [.presence]))
        for count in [3, 4, .max] { boot.host.note(.callRefused(refused, count: count)) }
        boot.clock.advance(10)
        boot.host.note([LogFact(event: .locked)])
        let entries = await boot.entries().filter(\.isRefusal)
        #expect(entries.map(\.count) == [nil, .max])
        #expect(entries.allSatisfy { $0.author == .touchstoned && $0.app == "app" && $0.asked == "presence" })
        #expect(entries.allSatisfy { $0.result == "interactionForbidden" })
    }

    @Test("Threat 35: a word that touchstoned made up is not written down") func madeUpCause() async throws {
        let boot = try Boot()
        var refused = EnclaveInterface.RefusedCall(app: "CANARY", cause: .noAgent, requirement: nil)
        refused.reason = "CANARY\",\"result\":\"ok"
        boot.host.note(.init(.init(.callRefused, refused: refused)))
        boot.host.note(.init(.init(.callRefused, count: 7)))
        let entries = await boot.entries().filter(\.isRefusal)
        #expect(entries.map(\.result) == ["others"] && entries.map(\.app) == [nil])
        #expect(!(await boot.written().joined().contains("CANARY")))
        // The twin: a word of ours is.
        refused.reason = "noAgent"
        boot.host.note(.init(.init(.callRefused, refused: refused)))
        #expect(await boot.entries().last?.app == "CANARY")
    }

    @Test("DEC-022: a refused call writes no state") func refusalWritesNoState() async throws {
        let boot = try Boot()
        let versions = boot.storage.versions.count
        for _ in 0..<100 { boot.host.noteRefusal(of: "app", in: nil, .deviceLocked, nil) }
        #expect(await boot.entries().contains { $0.event == "call-refused" })
        #expect(boot.storage.versions.count == versions)
    }

    @Test("Threat 34: what came when a second was full is told at the end as well") func othersAreNotLost() async throws
    {
        let boot = try Boot()
        for number in 0..<30 { boot.host.note([.used("app \(number)", repeatable: true)]) }
        _ = boot.host.closeLog()
        let last = await boot.entries().suffix(2)
        #expect(last.map(\.event) == ["others", "device-stopped"])
        #expect(last.first?.count == 10)
    }

    // MARK: from boot to boot

    private func results(_ boot: Boot) async -> [String] {
        await boot.entries().filter { $0.event == "device-started" }.map(\.result)
    }

    @Test("After an orderly end the log goes on, and a cut of even its last entry shows at the next boot")
    func orderlyEnd() async throws {
        let (boot, _) = try await log()
        _ = boot.host.closeLog()
        let lines = await boot.written()
        boot.host.note([.used()])
        #expect(boot.host.logHead().sequence == lines.count, "nothing is written after the end")

        let next = try Boot(TestStorage(try #require(boot.storage.versions.last)), newestLines: lines)
        #expect(await results(next) == ["ok"])
        #expect(next.findings(lines + (await next.written())) == [])

        for (last, what) in [
            (Array(lines.dropLast()), "one"), ([], "all"), (["nonsense"], "damaged"), (lines + ["nonsense"], "more"),
        ] {
            let after = try Boot(TestStorage(try #require(boot.storage.versions.last)), newestLines: last)
            #expect(await results(after) == ["log-cut"], "\(what)")
            #expect(!after.findings(last + (await after.written())).isEmpty, "\(what)")
        }
    }

    @Test("After a crash it goes on after the last line that was written, and says that it was one")
    func crash() async throws {
        let (boot, lines) = try await log()
        // The state was kept when the log began; the last two lines never came to the disk.
        let next = try Boot(TestStorage(try #require(boot.storage.versions.last)), newestLines: Array(lines[..<10]))
        #expect(await results(next) == ["after-crash"])
        #expect(next.findings(Array(lines[..<10]) + (await next.written())) == [])
    }

    @Test("Threat 34: after a power cut that left half a line it goes on after the last whole one") func halfALine()
        async throws
    {
        let boot = try Boot()
        for _ in 0..<8 { boot.host.note([.used()]) }
        try boot.host.change { enclave, _ in
            enclave.state.passcodeFailures = 1
            enclave.note(LogFact(event: .passcodeRejected, result: "wrong"))
            return ((), [])
        }
        for _ in 0..<6 { boot.host.note([.used()]) }
        let lines = await boot.written()
        try #require(lines.count == 16)
        let torn = Array(lines[..<15]) + [String(lines[15].prefix(lines[15].utf8.count / 2))]
        let next = try Boot(TestStorage(try #require(boot.storage.versions.last)), newestLines: torn)
        #expect(await results(next) == ["after-crash"])
        let more = await next.written()
        #expect(next.findings(Array(lines[..<15]) + more) == [], "the half is taken away by who keeps the file")
        #expect(next.findings(torn + more) == [.damaged(line: 16, entry: nil)])
    }

    @Test("Lines that were told before the end of the state last kept, and are gone after a crash, are missing")
    func crashAfterAStateChange() async throws {
        let boot = try Boot()
        for _ in 0..<3 { boot.host.note([.used()]) }
        try boot.host.change { enclave, _ in
            enclave.state.passcodeFailures = 1
            enclave.note(LogFact(event: .passcodeRejected, result: "wrong"))
            return ((), [])
        }
        let lines = await boot.written()
        let next = try Boot(TestStorage(try #require(boot.storage.versions.last)), newestLines: Array(lines[..<3]))
        #expect(await results(next) == ["log-cut"])
        #expect(next.findings(Array(lines[..<3]) + (await next.written())) == [.missing(4...5)])
    }

    @Test("An older state that is put back under a log that went on is told, where it was kept by an orderly end")
    func olderState() async throws {
        let (boot, _) = try await log()
        _ = boot.host.closeLog()
        let old = try #require(boot.storage.versions.last)
        let lines = await boot.written()
        let second = try Boot(TestStorage(old), newestLines: lines)
        second.host.note([.used()])
        _ = second.host.closeLog()
        let more = await second.written()
        let third = try Boot(TestStorage(old), newestLines: more)
        #expect(await results(third) == ["state-restored"])
        #expect(third.findings(lines + more + (await third.written())) == [])
    }

    @Test("Without a log to go on with nothing is written, and what waits is not without bound") func notResumed()
        throws
    {
        let storage = TestStorage(try Enclave.device().stateFile())
        let host = try EnclaveHost(
            storage: storage, root: TestRoot(), clock: StandingClock(), newPasscodeCost: { .minimum })
        for _ in 0..<5000 { host.note([.used()]) }
        #expect(host.logHead() == .empty)
        host.resumeLog(newestLines: [])
        #expect(host.logHead().sequence == 1 + LogChain.Limits.waiting)
        host.resumeLog(newestLines: ["x"])
        #expect(host.logHead().sequence == 1 + LogChain.Limits.waiting, "the second time it does nothing")
    }

    @Test("Where the storage is full the device boots and logs, and a turn that is undone leaves no entry")
    func fullStorage() async throws {
        let storage = TestStorage(try Enclave.device(passcode: nil, fingers: 0).stateFile())
        storage.isFull = true
        let boot = try Boot(storage)
        boot.host.note([.used()])
        #expect(throws: EnclaveHost.NotKept.self) {
            try boot.host.change { enclave, _ in
                enclave.state.passcodeFailures = 1
                enclave.note(LogFact(event: .passcodeRejected))
                return ((), [])
            }
        }
        #expect(await boot.entries().map(\.event) == ["device-started", "item-opened"])
        #expect(boot.findings(await boot.written()) == [])
    }

    @Test("An entry writes no state: a use waits for no disk") func noWrite() async throws {
        let boot = try Boot()
        let before = boot.storage.versions.count
        for _ in 0..<100 { boot.host.note([.used()]) }
        #expect(boot.storage.versions.count == before)
    }

    @Test("A state from before there was a log opens, and its log begins with 1") func yesterdaysState() async throws {
        let file = try Enclave.device(passcode: nil, fingers: 0).stateFile()
        #expect(!String(decoding: file, as: UTF8.self).contains("\"log\""))
        let boot = try Boot(TestStorage(file))
        #expect(await results(boot) == ["ok"])
        #expect(String(decoding: try #require(boot.storage.versions.last), as: UTF8.self).contains("\"isOpen\":true"))
    }
}
