import Crypto
import Foundation
import Testing

@testable import TouchstoneCircle

/// The model of SY-40: devices with a store between them that loses, repeats, reorders, withholds and rolls back.
///
/// `SYNC_HISTORIES` says how many random histories there are, and `SYNC_SEED` which number is the first. A failure names its own.
@Suite("Random histories of a circle (SY-20, SY-21, SY-22, SY-40)")
struct LedgerModelTests {
    @Test func everyHistoryEndsWithTheSameKeychainEverywhere() {
        let environment = ProcessInfo.processInfo.environment
        let count = environment["SYNC_HISTORIES"].flatMap(Int.init) ?? 1000
        let first = environment["SYNC_SEED"].flatMap(UInt64.init) ?? 1
        #expect(count > 0)
        var seen = CircleModel.Seen()
        for seed in first..<(first + UInt64(max(count, 1))) {
            var model = CircleModel(seed: seed)
            model.run()
            let broken = model.broken()
            #expect(broken.isEmpty, "history \(seed): \(broken.joined(separator: "; "))")
            if !broken.isEmpty { return }
            seen.add(model.happened)
        }
        // A model in which nothing happens proves nothing.
        if count >= 100 { #expect(seen.missing.isEmpty, "never happened: \(seen.missing)") }
    }

    /// A merge that is wrong on purpose is found: by the order in which versions come.
    @Test func aMergeByOrderOfArrivalIsFound() {
        let isFound = (UInt64(1)...50).contains { seed in
            var model = CircleModel(seed: seed, countsByArrival: true)
            model.run()
            return !model.broken().isEmpty
        }
        #expect(isFound)
    }
}
