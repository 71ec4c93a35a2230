import Crypto
import Foundation
import Testing

@testable import TouchstoneCircle

/// What a member keeps of its own earlier versions while another member is away (DEC-588).
@Suite("Versions that their own member replaced (SY-21, SY-22)")
struct LedgerReplacedTests {
    private let a = member(1)
    private let b = member(2)
    private let c = member(3)
    private let start: UInt64 = 1_800_000_000_000
    /// The oldest ones, the newest that a head covers, and the newest of all.
    private let most = Ledger.Limits.replaced + 2

    private func ledgers() -> (Ledger, Ledger, Ledger) {
        let all = Membership.of(a, b, c)
        return (Ledger(me: a, membership: all), Ledger(me: b, membership: all), Ledger(me: c, membership: all))
    }

    @Test func manyUpdatesWhileAMemberIsAwayLeaveFewVersions() {
        var (one, two, three) = ledgers()
        for number in 1...500 as ClosedRange<UInt64> {
            let version = one.write(name(1), isTombstone: number % 7 == 0, now: start + number)
            let forgotten = one.forgetReplaced(name(1))
            #expect(
                !forgotten.contains(version) && forgotten.allSatisfy { !one.contains(member: a, counter: $0.counter) })
            #expect(one.versions[name(1)]!.count <= most)
            guard number.isMultiple(of: 5) else { continue }
            send(&one, to: &two, now: start + number)
            _ = two.forgetDead()
            #expect(two.versions[name(1)]!.count <= most)
            #expect(two.seen[a] == number && two.faults.isEmpty && two.winner(name(1)) == version)
        }
        // Who comes back has all that counts, and then one version is left.
        for round in 1...3 as ClosedRange<UInt64> {
            send(&one, to: &two, now: start + 1000 + round)
            send(&one, to: &three, now: start + 1000 + round)
            send(&two, to: &one, now: start + 1000 + round)
            send(&two, to: &three, now: start + 1000 + round)
            send(&three, to: &one, now: start + 1000 + round)
            send(&three, to: &two, now: start + 1000 + round)
        }
        #expect(three.seen[a] == 500 && three.faults.isEmpty)
        for var ledger in [one, two, three] {
            _ = ledger.forgetDead()
            #expect(ledger.versions[name(1)]?.map(\.counter) == [500])
        }
    }

    @Test func fewUpdatesLeaveAllVersions() {
        var (one, _, _) = ledgers()
        for number in 0...UInt64(Ledger.Limits.replaced) {
            _ = one.write(name(1), isTombstone: false, now: start + number)
            #expect(one.forgetReplaced(name(1)).isEmpty)
        }
        // Others' are not counted among them.
        let foreign = RecordVersion(
            name: name(1), member: b, counter: 1, clock: ClockTime(milliseconds: start - 1), isTombstone: false)
        #expect(one.take(foreign, now: start) == .taken)
        #expect(one.forgetReplaced(name(1)).isEmpty)
    }

    /// A head may be in the store longer than what replaced its version is on the way there.
    @Test func whatTheNewestHeadCoversStays() {
        var (one, two, _) = ledgers()
        for number in 1...10 as ClosedRange<UInt64> { _ = one.write(name(1), isTombstone: false, now: start + number) }
        let head = one.makeHead(epoch: 0, sumKey: sumKey, now: start + 11)
        for number in 12...30 as ClosedRange<UInt64> {
            _ = one.write(name(1), isTombstone: false, now: start + number)
            _ = one.forgetReplaced(name(1))
        }
        #expect(one.versions[name(1)]!.map(\.counter).sorted() == [1, 2, 3, 4, 10, 29])
        // The records and this head are complete, without the next head.
        for version in one.versions[name(1)]! { #expect(two.take(version, now: start + 31) == .taken) }
        #expect(two.take(head, sumKey: sumKey, now: start + 31) == .taken)
        two.checkHeads()
        #expect(two.seen[a] == 10 && two.faults.isEmpty)
        #expect(two.forgetDead().isEmpty)
    }
}
