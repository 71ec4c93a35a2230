import Foundation
import Testing
import TouchstoneCore

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost

/// AC-10: the items with an access control are bound to the enclave's state, over any crash.
@Suite(.timeLimit(.minutes(10))) struct RecordedItemsTests {
    /// An item's binding: the class, then a group and a version that the test chooses.
    private static func item(_ group: UInt8, _ version: Int) -> Data {
        var item = Data("genp".utf8) + [group] + Data(count: 15)
        item += withUnsafeBytes(of: UInt64(version).bigEndian) { Data($0) } + Data(count: 8)
        return item
    }

    /// A keychain of which the test says what reaches its disk.
    private struct Rows {
        var items: Set<Data> = []

        var bytes: Data { items.sorted { $0.lexicographicallyPrecedes($1) }.reduce(Data(), +) }
    }

    @discardableResult
    private static func compare(_ items: Data, by host: EnclaveHost, takes: Bool = false) throws -> [UInt8] {
        try host.compareItems(items, isFirst: true, isLast: true, takes: takes).altered
    }

    private static func record(
        removed: Data = Data(), added: Data = Data(), isDeletion: Bool = false, by host: EnclaveHost
    ) throws {
        let isRecorded = try host.recordItems(
            .init(removed: removed, added: added, isFirst: true, isLast: true, isDeletion: isDeletion))
        #expect(isRecorded)
    }

    private static func isRecorded(_ item: Data, by host: EnclaveHost) -> Bool {
        host.read { enclave, _ in enclave.isRecorded(.init(accessGroup: "app", item: item)) }
    }

    /// A device whose keychain is empty, and known to be.
    private static func device() throws -> RunningEnclave {
        let enclave = try RunningEnclave()
        try compare(Data(), by: enclave.host, takes: true)
        return enclave
    }

    private func size(_ enclave: RunningEnclave) throws -> Int { try #require(enclave.storage.versions.last).count }

    @Test("AC-10: nothing is bound before the rows were shown, and what is there then is taken once")
    func taken() throws {
        let enclave = try RunningEnclave()
        let (a, b) = (Self.item(1, 1), Self.item(2, 1))
        #expect(Self.isRecorded(a, by: enclave.host))
        let isRecorded = try enclave.host.recordItems(
            .init(removed: Data(), added: a, isFirst: true, isLast: true, isDeletion: false))
        #expect(!isRecorded)
        #expect(try Self.compare(a, by: enclave.host) == [])
        #expect(enclave.host.read { now, _ in now.state.items == nil })
        #expect(try Self.compare(a, by: enclave.host, takes: true) == [])
        #expect(Self.isRecorded(a, by: enclave.host) && !Self.isRecorded(b, by: enclave.host))
        // Not again.
        #expect(try Self.compare(a + b, by: enclave.host, takes: true) == [2])
        try enclave.reboot()
        #expect(try Self.compare(b, by: enclave.host, takes: true) == [1, 2])
    }

    @Test("AC-10: an older row, a missing row and a row too many are each noticed, in their group and in no other")
    func attacks() throws {
        let enclave = try Self.device()
        let items = (0..<20).map { Self.item(UInt8($0), 1) }
        try Self.record(added: items.reduce(Data(), +), by: enclave.host)
        enclave.host.settleItems()
        let (new, last) = (Self.item(5, 2), Self.item(30, 1))
        try Self.record(removed: items[5], added: new, by: enclave.host)
        enclave.host.settleItems()
        // The next write of the state: from now on the change above cannot be undone.
        try Self.record(added: last, by: enclave.host)
        enclave.host.settleItems()
        var honest = items + [last]
        honest[5] = new
        var attacked = honest
        attacked[5] = items[5]
        let attacks: [([Data], [UInt8])] = [
            (honest, []), (attacked, [5]), (honest.filter { $0 != honest[7] }, [7]), (honest + [items[5]], [5]),
            ([last], Array(0..<20)),
            (honest, []),
        ]
        for reboots in [false, true] {
            for (rows, groups) in attacks {
                if reboots { try enclave.reboot() }
                #expect(try Self.compare(rows.reduce(Data(), +), by: enclave.host) == groups)
                for item in honest + [items[5]] {
                    let isThere = rows.contains(item) && !groups.contains(item[4])
                    #expect(Self.isRecorded(item, by: enclave.host) == isThere)
                }
            }
        }
    }

    @Test("AC-10: what was altered stays altered, whatever apps do after it")
    func goesOn() throws {
        let enclave = try Self.device()
        let (old, new, other) = (Self.item(5, 1), Self.item(5, 2), Self.item(5, 3))
        try Self.record(added: new, by: enclave.host)
        enclave.host.settleItems()
        #expect(try Self.compare(old, by: enclave.host) == [5])
        // The app deletes what it finds, and adds it again.
        try Self.record(removed: old, by: enclave.host)
        enclave.host.settleItems()
        try Self.record(added: other, by: enclave.host)
        enclave.host.settleItems()
        #expect(!Self.isRecorded(other, by: enclave.host))
        for _ in 0..<2 {
            #expect(try Self.compare(other, by: enclave.host) == [5])
            try enclave.reboot()
        }
    }

    @Test("AC-10: the change last under way can be undone, and no other: the price of one write of the state")
    func lastChange() throws {
        let enclave = try Self.device()
        let items = (1...3).map { Self.item(5, $0) }
        try Self.record(added: items[0], by: enclave.host)
        enclave.host.settleItems()
        try Self.record(removed: items[0], added: items[1], by: enclave.host)
        enclave.host.settleItems()
        #expect(try Self.compare(items[0], by: enclave.host) == [5], "not while the device runs")
        #expect(try Self.compare(items[1], by: enclave.host) == [])
        try enclave.reboot()
        #expect(try Self.compare(items[0], by: enclave.host) == [], "undone")
        #expect(try Self.compare(items[1], by: enclave.host) == [])
        // As the keychain does after its first look.
        enclave.host.settleItems()
        try Self.record(removed: items[1], added: items[2], by: enclave.host)
        enclave.host.settleItems()
        try enclave.reboot()
        #expect(try Self.compare(items[0], by: enclave.host) == [5])
    }

    @Test("AC-10: on a full disk an item is not added, and one can be deleted") func fullDisk() throws {
        let enclave = try Self.device()
        let (a, b) = (Self.item(1, 1), Self.item(1, 2))
        try Self.record(added: a, by: enclave.host)
        enclave.host.settleItems()
        enclave.storage.fill(spares: RecordedItems.sparesForPasscodes + 1)
        #expect(throws: EnclaveHost.NotKept.self) { try Self.record(added: b, by: enclave.host) }
        #expect(try Self.compare(a, by: enclave.host) == [])
        try Self.record(removed: a, isDeletion: true, by: enclave.host)
        enclave.host.settleItems()
        try enclave.reboot()
        #expect(try Self.compare(Data(), by: enclave.host) == [])
        #expect(!Self.isRecorded(a, by: enclave.host))
    }

    @Test("AC-10, PC-01: deletions on a full disk leave room to count guesses") func deletionsLeaveRoom() throws {
        let enclave = try Self.device()
        let (a, b) = (Self.item(1, 1), Self.item(1, 2))
        for item in [a, b] {
            try Self.record(added: item, by: enclave.host)
            enclave.host.settleItems()
        }
        enclave.storage.fill(spares: RecordedItems.sparesForPasscodes + 1)
        try Self.record(removed: a, isDeletion: true, by: enclave.host)
        enclave.host.settleItems()
        #expect(throws: EnclaveHost.NotKept.self) {
            try Self.record(removed: b, isDeletion: true, by: enclave.host)
        }
    }

    @Test("PC-34: an app that changes items without end raises the state's revision once in a while only")
    func revisions() throws {
        let enclave = try Self.device()
        func revision() -> UInt64 { enclave.host.read { enclave, _ in enclave.state.revision ?? 0 } }
        let before = revision()
        for number in 0..<50 {
            try Self.record(added: Self.item(1, number), by: enclave.host)
            enclave.host.settleItems()
        }
        #expect(revision() == before + 1)
        try enclave.reboot()
        #expect(try Self.compare((0..<50).reduce(Data()) { $0 + Self.item(1, $1) }, by: enclave.host) == [])
    }

    @Test("PC-01, PC-34: a flood of changes waits for no TPM, however slow, and makes no passcode wait for it long")
    func slowCounter() throws {
        let enclave = try Self.device()
        enclave.host.settle()
        let (counter, before) = (enclave.counter, enclave.counter.attempts)
        func flood(_ range: Range<Int>) throws {
            for number in range {
                try Self.record(added: Self.item(1, number), by: enclave.host)
                enclave.host.settleItems()
            }
        }
        counter.hold()
        try flood(0..<100)
        DispatchQueue.global().async { counter.release() }
        #expect(try enclave.unlock("1234") == .right)
        enclave.host.settle()
        // One for the flood; the others are the passcode's, before it is looked at and after.
        #expect(counter.attempts - before <= 4)
        let after = counter.attempts
        try flood(100..<200)
        enclave.host.settle()
        #expect(counter.attempts == after, "none in the same minute")
        enclave.clock.advance(by: RecordedItems.secondsBetweenRevisions)
        try flood(200..<300)
        enclave.host.settle()
        #expect(counter.attempts == after + 1)
    }

    @Test("AC-10: a look at a part of the rows settles nothing, and cannot be accepted") func partial() throws {
        let enclave = try Self.device()
        let items = (1...3).map { Self.item(UInt8($0), 1) }
        func look(_ rows: Data) throws -> Enclave.ItemsLook {
            try enclave.host.compareItems(rows, isFirst: true, isLast: true, isPartial: true)
        }
        let expected: [(rows: Data, altered: [UInt8])] = [
            (items[0], []), (Data(), [1]), (items[0] + items[1], []), (Data(), [1]),
        ]
        try Self.record(added: items[0], by: enclave.host)
        enclave.host.settleItems()
        try Self.record(added: items[1], by: enclave.host)
        try enclave.reboot()
        for (rows, altered) in expected {
            let reply = try look(rows)
            #expect(reply.isRecorded && reply.altered == altered && reply.look == nil)
            enclave.host.settleItems()
        }
        #expect(!Self.isRecorded(items[0], by: enclave.host), "not shown by this look")
        try Self.record(added: items[2], by: enclave.host)
        enclave.host.settleItems()
        try enclave.reboot()
        #expect(try Self.compare(items.reduce(Data(), +), by: enclave.host) == [], "nobody is accused")
        enclave.host.settleItems()
        try Self.record(added: Self.item(4, 1), by: enclave.host)
        try enclave.reboot()
        #expect(try Self.compare(items.reduce(Data(), +) + Self.item(4, 1), by: enclave.host) == [])
        #expect(
            try Self.compare(items[0] + items[2] + Self.item(4, 1), by: enclave.host) == [2], "a whole look settles")
    }

    @Test(
        "PC-22: what is accepted while a change is under way stays accepted, whatever becomes of the change",
        arguments: [false, true])
    func acceptedMeanwhile(isKept: Bool) throws {
        let enclave = try Self.device()
        let (old, new, added) = (Self.item(5, 1), Self.item(5, 2), Self.item(5, 3))
        try Self.record(added: new, by: enclave.host)
        enclave.host.settleItems()
        let reply = try enclave.host.compareItems(old, isFirst: true, isLast: true)
        #expect(reply.altered == [5])
        try Self.record(added: added, by: enclave.host)
        #expect(try enclave.acceptItems(#require(reply.look), passcode: "1234") == .right)
        if isKept { enclave.host.settleItems() }
        let rows = isKept ? old + added : old
        for _ in 0..<2 {
            #expect(try Self.compare(rows, by: enclave.host) == [])
            #expect(Self.isRecorded(old, by: enclave.host))
            #expect(Self.isRecorded(added, by: enclave.host) == isKept)
            try enclave.reboot()
        }
    }

    @Test("What a touchstoned that was taken over tells of rows does not fill the enclave's memory") func mostItems()
        throws
    {
        let enclave = try Self.device()
        enclave.host.changeInMemory { $0.guardedItems.maximum = 100 }
        func items(_ numbers: Range<Int>) -> Data { numbers.reduce(Data()) { $0 + Self.item(UInt8($1), 1) } }
        #expect(throws: MalformedItems.self) {
            for page in 0..<10 {
                let rows = items(page * 20..<(page + 1) * 20)
                _ = try enclave.host.compareItems(rows, isFirst: page == 0, isLast: false)
            }
        }
        #expect(enclave.host.read { now, _ in now.guardedItems.compared == nil })
        for isAdded in [false, true] {
            #expect(throws: MalformedItems.self) {
                for page in 0..<10 {
                    let rows = items(0..<20)
                    _ = try enclave.host.recordItems(
                        .init(
                            removed: isAdded ? Data() : rows, added: isAdded ? rows : Data(), isFirst: page == 0,
                            isLast: false, isDeletion: false))
                }
            }
        }
        try Self.record(added: items(0..<100), by: enclave.host)
        enclave.host.settleItems()
        #expect(throws: TooManyItems.self) { try Self.record(added: Self.item(1, 2), by: enclave.host) }
        // What is said to go has to be there.
        #expect(throws: TooManyItems.self) {
            try Self.record(removed: Self.item(9, 9), added: Self.item(1, 2), by: enclave.host)
        }
        try Self.record(removed: items(0..<1), added: Self.item(1, 2), by: enclave.host)
        enclave.host.settleItems()
        #expect(try Self.compare(items(1..<100) + Self.item(1, 2), by: enclave.host) == [])
    }

    @Test("AC-10: a look, and a change, of more rows than one message takes") func pages() throws {
        let enclave = try Self.device()
        let items = (0..<600).map { Self.item(UInt8($0 % 256), $0) }
        for (number, item) in items.enumerated() {
            let isRecorded = try enclave.host.recordItems(
                .init(
                    removed: Data(), added: item, isFirst: number == 0, isLast: number == 599, isDeletion: false))
            #expect(isRecorded)
        }
        enclave.host.settleItems()
        for (number, item) in items.enumerated() {
            let reply = try enclave.host.compareItems(item, isFirst: number == 0, isLast: number == 599)
            #expect(reply.altered == [])
        }
        #expect(items.allSatisfy { Self.isRecorded($0, by: enclave.host) })
        for bytes in [1, 35, 37] {
            #expect(throws: (any Error).self) {
                try Self.compare(Data(count: bytes), by: enclave.host)
            }
        }
    }

    @Test("The state stays small, however many items there are") func bounded() throws {
        let enclave = try Self.device()
        let empty = try size(enclave)
        for number in 0..<40 {
            let added = (0..<250).map { Self.item(UInt8($0), number) }.reduce(Data(), +)
            try Self.record(added: added, by: enclave.host)
            enclave.host.settleItems()
        }
        // 256 groups: number, count, the sum and what it was before; in base64, some of whose characters JSON writes as two.
        #expect(try size(enclave) - empty <= 256 * 34 * 3 / 2 + 100)
        for number in 0..<10 {
            let added = (0..<256).map { Self.item(UInt8($0), 100 + number) }.reduce(Data(), +)
            // None of these is ever settled.
            try Self.record(added: added, by: enclave.host)
        }
        #expect(try size(enclave) - empty <= 256 * (2 + 16 * 5) * 3 / 2 + 100)
    }

    @Test(
        "AC-10: whatever is cut off where, on a disk that fails, nothing is accused and nothing is lost",
        arguments: 0..<100)
    func crashes(seed: Int) throws {
        var random = SplitMix(state: UInt64(seed))
        let enclave = try Self.device()
        var rows = Rows()
        // What a commit that failed left on the disk: the next boot may find it there, until another commit takes its place.
        var hidden: Rows?
        var version = 0

        func boot() throws {
            try enclave.reboot()
            if let found = hidden, Bool.random(using: &random) { rows = found }
            hidden = nil
            #expect(try Self.compare(rows.bytes, by: enclave.host) == [], "boot")
            enclave.host.settleItems()
        }

        for step in 0..<60 {
            var next = rows
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                version += 1
                let old = next.items.sorted { $0.lexicographicallyPrecedes($1) }.randomElement(using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: next.items.insert(Self.item(UInt8.random(in: 0..<4, using: &random), version))
                case 1: if let old { next.items.remove(old) }
                default:
                    guard let old else { continue }
                    next.items.remove(old)
                    next.items.insert(Self.item(old[4], version))
                }
            }
            if Int.random(in: 0..<4, using: &random) == 0 {
                enclave.storage.plan([UnreliableStorage.Outcome.allCases.randomElement(using: &random) ?? .kept])
            }
            let removed = Rows(items: rows.items.subtracting(next.items)).bytes
            let added = Rows(items: next.items.subtracting(rows.items)).bytes
            do {
                try Self.record(removed: removed, added: added, isDeletion: added.isEmpty, by: enclave.host)
            } catch is EnclaveHost.NotKept {
                enclave.storage.plan([])
                if Bool.random(using: &random) { try boot() }
                continue
            }
            enclave.storage.plan([])
            #expect(rows.items.union(next.items).allSatisfy { Self.isRecorded($0, by: enclave.host) }, "under way")
            switch Int.random(in: 0..<6, using: &random) {
            case 0:
                // Cut off before the commit.
                try boot()
            case 1:
                // Cut off behind it.
                (rows, hidden) = (next, nil)
                try boot()
            case 2:
                // The commit fails, and the device goes on.
                hidden = next
                #expect(try Self.compare(rows.bytes, by: enclave.host) == [], "step \(step)")
            default:
                (rows, hidden) = (next, nil)
                enclave.host.settleItems()
            }
            #expect(rows.items.allSatisfy { Self.isRecorded($0, by: enclave.host) }, "step \(step)")
        }
        try boot()
        #expect(rows.items.allSatisfy { Self.isRecorded($0, by: enclave.host) })
    }
}
