import Foundation
import Testing

@testable import SyncEngine
@testable import SyncStores

/// Names, bytes, ranges, waits and the board.
@Suite struct ValuesTests {
    @Test func sy30_namesAreReadAsTheyWereWritten() throws {
        let members = [
            String(repeating: "0", count: 64), String(repeating: "f", count: 64),
            "0123456789abcdef" + String(repeating: "7", count: 48),
        ]
        for member in members {
            for kind in ObjectKind.allCases {
                for counter in [1, 2, .max] as [Int64] {
                    let name = StoredName.object(ObjectName(kind: kind, member: member, counter: counter))
                    let record = try name.record
                    #expect(StoredName(record) == name)
                    #expect(record.writer.utf8.count == 53)
                }
            }
        }
        #expect(StoredName(try StoredName.link(3).record) == .link(3))
    }

    @Test(arguments: [
        ("x" + String(repeating: "a", count: 52), "record"), ("r" + String(repeating: "a", count: 51), "record"),
        ("r" + String(repeating: "a", count: 52), "head"), ("r" + String(repeating: "a", count: 51) + "b", "record"),
        ("r" + String(repeating: "1", count: 52), "record"), ("chain", "record"),
    ])
    func sy30_foreignNamesAreNone(writer: String, label: String) throws {
        #expect(StoredName(try RecordName(writer: writer, number: 1, label: label)) == nil)
    }

    @Test func sy30_aMemberThatIsNoneHasNoName() {
        for member in ["", "abc", String(repeating: "A", count: 64), String(repeating: "g", count: 64)] {
            #expect(throws: StoreError.self) {
                try StoredName.object(ObjectName(kind: .head, member: member, counter: 1)).record
            }
        }
    }

    @Test func sy4_bytesArePaddedAndComeBack() {
        for count in [0, 1, 251, 252, 253, 508, 70_000] {
            let bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0) })
            let padded = PaddedBytes.padded(bytes)
            #expect(padded.count % 256 == 0)
            #expect(PaddedBytes.content(of: padded) == bytes)
        }
        for wrong in [
            Data(), Data([1]), Data(repeating: 0, count: 512), Data(repeating: 255, count: 256),
            Data([1, 0, 0, 0, 9] + [UInt8](repeating: 1, count: 251)),
        ] {
            #expect(PaddedBytes.content(of: wrong) == nil)
        }
    }

    @Test func sy33_rangesHaveWhatWasPutIn() throws {
        var (ranges, set) = (NumberRanges(), Set<UInt64>())
        var state: UInt64 = 7
        for _ in 0..<500 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let number = (state >> 33) % 200
            ranges.insert(number)
            set.insert(number)
            #expect((0...201).allSatisfy { ranges.contains($0) == set.contains($0) })
        }
        let bytes = try JSONEncoder().encode(ranges)
        #expect(try JSONDecoder().decode(NumberRanges.self, from: bytes) == ranges)
        for wrong in ["[[2,1]]", "[[1]]", "[[5,6],[1,2]]", "[[1,18446744073709551615]]", "{}"] {
            #expect(throws: (any Error).self) { try JSONDecoder().decode(NumberRanges.self, from: Data(wrong.utf8)) }
        }
    }

    @Test func sy33_waitsGrowAndEnd() {
        var backoff = Backoff()
        #expect((0..<8).map { _ in backoff.next(chance: 1) } == [1, 2, 4, 8, 16, 30, 30, 30].map { .seconds($0) })
        backoff.reset()
        #expect(backoff.next(chance: 0) == .milliseconds(750))
    }

    @Test func sy10_theBoardIsChangedByOneAtATime() async throws {
        let bench = try Bench()
        let (one, two) = (BoardChanges(try await bench.store()), BoardChanges(try await bench.store()))
        #expect(try await one.read().joining == nil)
        try await one.change { $0.joining = Board.Joining(application: Data("laptop".utf8)) }
        try await two.change { $0.joining?.challenge = Data("challenge".utf8) }
        try await one.change { $0.joining?.reveal = Data("number".utf8) }
        let joining = try await two.read().joining
        #expect(joining?.challenge == Data("challenge".utf8))
        #expect(joining?.reveal == Data("number".utf8))
        // What changes nothing writes nothing.
        let before = try await two.read()
        try await one.change { _ in }
        #expect(try await two.read() == before)
    }

    @Test func sy10_manyChangesAtOnceAllCount() async throws {
        let bench = try Bench()
        let store = try await bench.store()
        try await BoardChanges(store).change { $0.joining = Board.Joining(application: Data()) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    try await BoardChanges(store).change { $0.joining?.application.append(1) }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await BoardChanges(store).read().joining?.application.count == 4)
    }

    @Test func sy10_aBoardOfSomebodyElseIsNamed() async throws {
        let bench = try Bench()
        let store = try await bench.store()
        _ = try await store.swapHead(nil, for: Data("hello".utf8))
        await #expect(throws: StoreError.self) { try await BoardChanges(store).read() }
    }
}
