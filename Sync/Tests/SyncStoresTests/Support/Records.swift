import Foundation

@testable import SyncStores

/// Numbers that are the same in each run.
struct Dice: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

func recordName(_ writer: String, _ number: Int, _ label: String = "item") throws -> RecordName {
    try RecordName(writer: writer, number: UInt64(number), label: label)
}

/// Bytes that differ by their seed; a multiple of the padding.
func record(_ seed: Int, steps: Int = 1) -> Data {
    var dice = Dice(state: UInt64(seed))
    return Data((0..<steps * StoreLimits.padding).map { _ in UInt8.random(in: 0...255, using: &dice) })
}

extension SyncStore {
    /// All pages since a cursor.
    func everything(since cursor: inout StoreCursor, limit: Int = 100) async throws(StoreError) -> [RecordName] {
        var names: [RecordName] = []
        // Bounded: a store that never ends fails the test.
        for _ in 0..<10_000 {
            let page = try await list(since: cursor, limit: limit)
            names += page.names
            cursor = page.cursor
            if !page.hasMore { return names }
        }
        throw .damaged("the list does not end")
    }

    /// Lists and gets through faults until `count` records came, or for ten minutes, because the writers may be slow.
    func follow(until count: Int, limit: Int) async throws -> [RecordName: Data] {
        var (cursor, records) = (StoreCursor.start, [RecordName: Data]())
        let end = ContinuousClock.now + .seconds(600)
        while records.count < count, ContinuousClock.now < end {
            let page = try await persistently { [cursor] () async throws(StoreError) in
                try await list(since: cursor, limit: limit)
            }
            cursor = page.cursor
            for name in page.names where records[name] == nil {
                records[name] = try await persistently { () async throws(StoreError) in try await get(name) }
            }
            if page.names.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        }
        return records
    }

    func everything() async throws(StoreError) -> Set<RecordName> {
        var cursor = StoreCursor.start
        return Set(try await everything(since: &cursor))
    }
}
