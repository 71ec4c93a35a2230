import Crypto
import Foundation
import Testing

@testable import TouchstoneCircle

@Suite("Heads, versions of the same time, and changes in turns (SY-20, SY-22)")
struct LedgerHeadTests {
    private let a = member(1)
    private let b = member(2)
    private let c = member(3)
    private let day: UInt64 = 24 * 3600 * 1000
    private let start: UInt64 = 1_800_000_000_000

    /// DEC-577: who is removed gives way to what others wrote at the same time, so that has to be there still.
    @Test func whatIsAsOldIsNotDroppedForAnotherMember() {
        let all = Membership.of(a, b, c)
        var (one, two, three) = (
            Ledger(me: a, membership: all), Ledger(me: b, membership: all), Ledger(me: c, membership: all)
        )
        let then = ClockTime(milliseconds: start - day)
        let mine = one.write(name(1), isTombstone: false, clock: then)
        _ = three.write(name(1), isTombstone: false, clock: then)
        for round in 1...3 as ClosedRange<UInt64> {
            send(&one, to: &two, now: start + round)
            send(&one, to: &three, now: start + round)
            send(&three, to: &one, now: start + round)
            send(&three, to: &two, now: start + round)
            send(&two, to: &one, now: start + round)
            send(&two, to: &three, now: start + round)
        }
        #expect(one.winner(name(1))?.member == c)
        #expect(one.forgetDead().isEmpty && one.alive() == [mine.counter])
        let without = Membership(
            members: [a, b], removed: [c: .init(lastCounter: 1, adopter: b, since: 1)],
            linkHashes: [Data(count: 32), Data(repeating: 1, count: 32)])
        _ = (two.update(without), two.adopt(), one.update(without))
        send(&two, to: &one, now: start + 4)
        send(&one, to: &two, now: start + 4)
        #expect(one.winner(name(1)) == mine && two.winner(name(1)) == mine)
        // Of the same member, and of one that is removed, the older one goes.
        let next = one.write(name(1), isTombstone: false, clock: then)
        for round in 5...6 as ClosedRange<UInt64> {
            send(&one, to: &two, now: start + round)
            send(&two, to: &one, now: start + round)
        }
        _ = one.forgetDead()
        #expect(one.versions[name(1)] == [next])
    }

    @Test func aWriteIsNewerThanWhatWasThereBefore() {
        // Its time is an earlier one, and the clock goes back now.
        var ledger = Ledger(me: a, membership: .of(a, b))
        let before = ledger.write(name(1), isTombstone: false, clock: ClockTime(milliseconds: start))
        let after = ledger.write(name(1), isTombstone: false, now: start - 1000)
        #expect(ledger.winner(name(1)) == after && before.clock < after.clock)
    }

    /// The first records of a circle are of items that were there years before it.
    @Test func recordsSayNothingOfTheTime() {
        var ledger = Ledger(me: b, membership: .of(a, b))
        let old = RecordVersion(
            name: name(1), member: a, counter: 1, clock: ClockTime(milliseconds: start - 1000 * day), isTombstone: false
        )
        #expect(ledger.take(old, now: start) == .taken)
        #expect(ledger.write(name(2), isTombstone: false, now: start).clock.milliseconds == start)
    }

    /// DEC-578: an old record that a store gives after a head that only its second sum fits.
    @Test func whatAHeadLeavesOutWaits() throws {
        var writer = Ledger(me: a, membership: .of(a))
        let dropped = writer.write(name(1), isTombstone: false, now: start)
        _ = writer.write(name(1), isTombstone: true, now: start + 1)
        let later = start + 200 * day
        _ = writer.makeHead(epoch: 0, sumKey: sumKey, now: start + 60 * day)
        _ = writer.makeHead(epoch: 0, sumKey: sumKey, now: start + 120 * day)
        _ = writer.makeHead(epoch: 0, sumKey: sumKey, now: later)
        #expect(writer.forgetDead().count == 2)
        _ = writer.update(.of(a, b))
        let replaced = writer.write(name(2), isTombstone: false, now: later)
        let newest = writer.write(name(2), isTombstone: false, now: later + 1)
        let head = writer.makeHead(epoch: 0, sumKey: sumKey, now: later + 2)
        var reader = Ledger(me: b, membership: .of(a, b))
        #expect(reader.take(newest, now: later + 3) == .taken)
        #expect(reader.take(head, sumKey: sumKey, now: later + 3) == .taken)
        reader.checkHeads()
        #expect(reader.seen[a] == newest.counter && reader.faults[a] == nil)
        #expect(reader.take(dropped, now: later + 4) == .waiting)
        #expect(reader.winner(name(1)) == nil)
        // A head that does not fit is told of, though its counter is not new.
        var other = head
        other.sequence += 1
        (other.sum, other.newestSum) = (RecordSum([dropped], key: sumKey), RecordSum([dropped], key: sumKey))
        #expect(reader.take(other, sumKey: sumKey, now: later + 5) == .taken)
        reader.checkHeads()
        #expect(reader.faults[a] == .missing)
        var next = head
        next.sequence += 2
        _ = reader.take(next, sumKey: sumKey, now: later + 6)
        #expect(reader.take(replaced, now: later + 6) == .taken)
        reader.checkHeads()
        #expect(reader.faults[a] == nil)
        #expect(reader.take(dropped, now: later + 7) == .repeated)
    }

    @Test func aHeadIsMadeIfItIsDueAndSaysSomethingNew() {
        let silence = day
        func next(_ ledger: inout Ledger, at now: UInt64, isDue: Bool = true) -> MemberHead? {
            let head = ledger.nextHead(epoch: 0, sumKey: sumKey, now: now, silence: silence) { _ in isDue }
            if let head { ledger.keep(head) }
            return head
        }
        var ledger = Ledger(me: a, membership: .of(a, b))
        #expect(next(&ledger, at: start)?.sequence == 1)
        #expect(next(&ledger, at: start + 1) == nil)
        _ = ledger.write(name(1), isTombstone: false, now: start + 2)
        #expect(next(&ledger, at: start + 2, isDue: false) == nil)
        #expect(next(&ledger, at: start + 2)?.counter == 1)
        // A day without one.
        #expect(next(&ledger, at: start + day) == nil)
        #expect(next(&ledger, at: start + 2 + day)?.sequence == 3)
        // What the store gives back to a device that was restored changes nothing but the sums.
        let back = ledger.write(name(2), isTombstone: false, now: start + 3 + day)
        ledger.remove(name(2)) { $0.member == a }
        let without = next(&ledger, at: start + 3 + day)
        _ = ledger.take(back, now: start + 4 + day)
        let with = next(&ledger, at: start + 4 + day)
        #expect(without?.counter == with?.counter && without?.sum != with?.sum && with != nil)
    }

    @Test func changesComeInTurns() {
        var ledger = Ledger(me: a, membership: .of(a, b))
        let versions = (1...5).map { ledger.write(name($0), isTombstone: false, now: start) }
        var told: [Ledger.Change] = []
        for left in [3, 1, 0] {
            told += ledger.changes(atMost: 2)
            #expect(told.count == 5 - left)
            #expect(ledger.hasChanges == (left > 0))
        }
        #expect(Set(told) == Set(versions.map { .init(name: $0.name, from: nil, to: $0) }))
    }
}
