import Crypto
import Foundation
import Testing

@testable import TouchstoneCircle

let sumKey = SymmetricKey(data: Data(repeating: 1, count: 32))

func member(_ number: UInt8) -> MemberID { MemberID(bytes: Data(repeating: number, count: 32)) }
func name(_ number: UInt8) -> RecordName { RecordName(bytes: Data(repeating: number, count: 32)) }

extension Membership {
    static func of(_ members: MemberID...) -> Membership {
        Membership(members: Set(members), linkHashes: [Data(count: 32)])
    }
}

@Suite("Merging: which version of an item counts (SY-20 to SY-22)")
struct LedgerTests {
    private let a = member(1)
    private let b = member(2)
    private let c = member(3)
    private let day: UInt64 = 24 * 3600 * 1000
    private let start: UInt64 = 1_800_000_000_000

    private func version(
        _ counter: UInt64, of member: MemberID, at milliseconds: UInt64, name number: UInt8 = 1,
        isTombstone: Bool = false
    ) -> RecordVersion {
        RecordVersion(
            name: name(number), member: member, counter: counter, clock: ClockTime(milliseconds: milliseconds),
            isTombstone: isTombstone)
    }

    @Test func theNewestVersionCountsInEveryOrder() {
        // SY-20: by clock, then by writer.
        let versions = [
            version(1, of: a, at: 5), version(2, of: a, at: 7), version(1, of: b, at: 7), version(2, of: b, at: 6),
            version(1, of: c, at: 4, isTombstone: true),
        ]
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<100 {
            var ledger = Ledger(me: member(9), membership: .of(a, b, c, member(9)))
            ledger.seen = [a: 0, b: 0, c: 0]
            for version in versions.shuffled(using: &generator) { #expect(ledger.take(version, now: start) == .taken) }
            // Nothing counts before the first head.
            #expect(ledger.winner(name(1)) == nil)
            ledger.seen = [a: 2, b: 2, c: 1]
            #expect(ledger.winner(name(1)) == versions[2])
        }
    }

    @Test func aVersionMoreThanADayAheadWaits() {
        var ledger = Ledger(me: a, membership: .of(a, b))
        let ahead = version(1, of: b, at: start + day + 1)
        #expect(ledger.take(ahead, now: start) == .waiting)
        #expect(ledger.faults[b] == .clock)
        #expect(ledger.take(ahead, now: start + 1) == .taken)
        // This device's next write is after it all the same.
        #expect(ledger.write(name(1), isTombstone: false, now: start + 2).clock > ahead.clock)
    }

    @Test func strangersAndRemovedMembersDoNotCount() {
        var ledger = Ledger(me: a, membership: .of(a, b))
        #expect(ledger.take(version(1, of: c, at: 5), now: start) == .waiting)
        ledger.seen[b] = 1
        #expect(ledger.take(version(2, of: b, at: 5), now: start) == .taken)
        #expect(ledger.take(version(3, of: b, at: 6), now: start) == .taken)
        var membership = Membership.of(a)
        membership.removed[b] = .init(lastCounter: 2, adopter: a)
        let kept = ledger.update(membership)
        #expect(kept.isEmpty)
        #expect(ledger.winner(name(1))?.counter == 2)
        #expect(ledger.take(version(3, of: b, at: 6), now: start) == .notMember)
        #expect(ledger.take(version(4, of: b, at: 7), now: start) == .notMember)
        // What counts of it is written anew, with its time, by who removed it.
        let adopted = ledger.adopt()
        #expect(adopted.map(\.from.counter) == [2])
        #expect(adopted.map(\.to.clock) == [ClockTime(milliseconds: 5)])
        #expect(ledger.winner(name(1))?.member == a)
        #expect(ledger.adopt().isEmpty)
    }

    @Test func aDroppedRecordIsNoticedByTheHead() {
        // SY-22
        var writer = Ledger(me: a, membership: .of(a, b))
        var reader = Ledger(me: b, membership: .of(a, b))
        for number in UInt8(1)...3 { _ = writer.write(name(number), isTombstone: false, now: start) }
        send(&writer, to: &reader, now: start, without: 2)
        #expect(reader.faults[a] == .missing)
        #expect(reader.seen[a] == nil)
        #expect(reader.winner(name(1)) == nil)
        // It comes after all.
        send(&writer, to: &reader, now: start)
        #expect(reader.faults[a] == nil)
        #expect(reader.seen[a] == 3)
        #expect(reader.winner(name(1)) != nil)
    }

    @Test func anOlderStateOfAMemberChangesNothing() {
        var writer = Ledger(me: a, membership: .of(a, b))
        var reader = Ledger(me: b, membership: .of(a, b))
        let old = writer.write(name(1), isTombstone: false, now: start)
        let oldHead = writer.makeHead(epoch: 0, sumKey: sumKey, now: start)
        _ = reader.take(old, now: start)
        _ = reader.take(oldHead, sumKey: sumKey, now: start)
        let new = writer.write(name(1), isTombstone: false, now: start + 1)
        _ = reader.take(new, now: start + 1)
        send(&writer, to: &reader, now: start + 1)
        send(&reader, to: &writer, now: start + 2)
        send(&writer, to: &reader, now: start + 3)
        let forgotten = reader.forgetDead()
        #expect(forgotten == [old])
        // The store gives it all back.
        #expect(reader.take(oldHead, sumKey: sumKey, now: start + 4) == .known)
        #expect(reader.take(old, now: start + 4) == .repeated)
        #expect(reader.winner(name(1)) == new)
    }

    /// Without the sum of what is newest, the third device says `missing` for ever.
    @Test func whatAnOldStoreShowsANewDeviceIsNotMissed() {
        // SY-22, DEC-566
        let d = member(4)
        var (one, two, four) = (
            Ledger(me: a, membership: .of(a, b, d)), Ledger(me: b, membership: .of(a, b, d)),
            Ledger(me: d, membership: .of(a, b, d))
        )
        let old = one.write(name(1), isTombstone: false, now: start)
        send(&one, to: &two, now: start)
        send(&one, to: &four, now: start)
        _ = two.write(name(1), isTombstone: false, now: start + 1)
        for _ in 0..<2 {
            send(&two, to: &one, now: start + 1)
            send(&two, to: &four, now: start + 1)
            send(&four, to: &one, now: start + 1)
            send(&four, to: &two, now: start + 1)
            send(&one, to: &two, now: start + 1)
            send(&one, to: &four, now: start + 1)
        }
        #expect(one.alive().isEmpty)
        // The next one is stable for its writer, and not for the first device, which has an old head of the fourth.
        let newest = two.write(name(1), isTombstone: false, now: start + 2)
        send(&two, to: &one, now: start + 2)
        send(&two, to: &four, now: start + 2)
        send(&one, to: &two, now: start + 2)
        send(&four, to: &two, now: start + 2)
        _ = two.makeHead(epoch: 0, sumKey: sumKey, now: start + 3)
        #expect(two.alive() == [newest.counter])
        #expect(two.forgetDead().count == 2)
        // Another one joins, and gets an old record.
        let all = Membership.of(a, b, c, d)
        _ = one.update(all)
        _ = two.update(all)
        var three = Ledger(me: c, membership: .of(a, b, c, d))
        #expect(three.take(old, now: start + 4) == .taken)
        send(&two, to: &three, now: start + 4)
        send(&one, to: &three, now: start + 4)
        #expect(one.heads[a]?.stable[b] == 1)
        #expect(three.faults.isEmpty)
        #expect(three.seen[a] == 1)
        #expect(three.winner(name(1)) == newest)
    }

    /// The new device needs what it was not given, because that was replaced, once its replacement counts no more.
    @Test func whatALateRecordReplacedIsTakenAfterAll() {
        // SY-22, DEC-566
        let all = Membership.of(a, b, c)
        var (one, two) = (Ledger(me: a, membership: all), Ledger(me: b, membership: all))
        var reader = Ledger(me: c, membership: all)
        let first = one.write(name(1), isTombstone: false, now: start)
        let late = two.write(name(1), isTombstone: false, now: start + 1)
        send(&two, to: &one, now: start + 1)
        send(&two, to: &reader, now: start + 1)
        send(&one, to: &reader, now: start + 1, without: first.counter)
        #expect(reader.faults.isEmpty)
        #expect(reader.seen[a] == 1)
        #expect(reader.whole[a] == nil)
        #expect(reader.winner(name(1)) == late)
        var membership = Membership.of(a, c)
        membership.removed[b] = .init(lastCounter: 0, adopter: a, since: 1)
        membership.linkHashes.append(Data(repeating: 1, count: 32))
        _ = reader.update(membership)
        #expect(reader.take(first, now: start + 2) == .taken)
        #expect(reader.winner(name(1)) == first)
        // Once it has all that is alive, what was dropped does not come back.
        _ = one.update(membership)
        send(&one, to: &reader, now: start + 3)
        #expect(reader.whole[a] == one.counter)
        reader.remove(name(1)) { $0 == first }
        #expect(reader.take(first, now: start + 4) == .repeated)
    }

    @Test func aMemberThatSaysTwoThingsUnderOneNumberIsNamed() {
        var ledger = Ledger(me: b, membership: .of(a, b))
        #expect(ledger.take(version(1, of: a, at: 5), now: start) == .taken)
        #expect(ledger.take(version(1, of: a, at: 6), now: start) == .conflicting)
        #expect(ledger.take(version(1, of: a, at: 5, name: 2), now: start) == .conflicting)
        #expect(ledger.faults[a] == .conflicting)
        var writer = Ledger(me: a, membership: .of(a, b))
        var head = writer.makeHead(epoch: 0, sumKey: sumKey, now: start)
        #expect(ledger.take(head, sumKey: sumKey, now: start) == .taken)
        head.time += 1
        #expect(ledger.take(head, sumKey: sumKey, now: start) == .conflicting)
        head.sequence += 1
        #expect(ledger.take(head, sumKey: sumKey, now: start) == .taken)
    }

    @Test func aMemberWithAnotherChainIsNamed() {
        var other = Membership.of(a, b)
        other.linkHashes.append(Data(repeating: 7, count: 32))
        var writer = Ledger(me: a, membership: other)
        let head = writer.makeHead(epoch: 0, sumKey: sumKey, now: start)
        var reader = Ledger(me: b, membership: .of(a, b))
        // A link that has not come yet is waited for.
        #expect(reader.take(head, sumKey: sumKey, now: start) == .waiting)
        var membership = Membership.of(a, b)
        membership.linkHashes.append(Data(repeating: 8, count: 32))
        let kept = reader.update(membership)
        #expect(kept.isEmpty)
        #expect(reader.take(head, sumKey: sumKey, now: start) == .conflicting)
        #expect(reader.faults[a] == .forked)
    }

    @Test func aDeviceThatWasRestoredCountsOnFromWhatTheStoreHas() {
        var ledger = Ledger(me: a, membership: .of(a, b))
        _ = ledger.write(name(1), isTombstone: false, now: start)
        #expect(ledger.take(version(7, of: a, at: start, name: 2), now: start) == .taken)
        #expect(ledger.write(name(3), isTombstone: false, now: start).counter == 8)
        // A head of its own with another sequence is taken, too.
        var restored = ledger
        for _ in 0..<3 { _ = ledger.makeHead(epoch: 0, sumKey: sumKey, now: start) }
        let head = ledger.makeHead(epoch: 0, sumKey: sumKey, now: start)
        #expect(restored.take(head, sumKey: sumKey, now: start) == .taken)
        #expect(restored.makeHead(epoch: 0, sumKey: sumKey, now: start).sequence == 5)
    }

    @Test(arguments: [179, 181])
    func aTombstoneStaysForHalfAYearAndADeviceThatWasAwayForLongerJoinsAnew(days: UInt64) {
        // SY-21
        var home = Ledger(me: a, membership: .of(a, b))
        var away = Ledger(me: b, membership: .of(a, b))
        _ = home.write(name(1), isTombstone: false, now: start)
        for round in 0..<3 as Range<UInt64> {
            send(&home, to: &away, now: start + round)
            send(&away, to: &home, now: start + round)
        }
        // It is deleted while the other device is away.
        let tombstone = home.write(name(1), isTombstone: true, now: start + 10)
        let later = start + days * day
        for month in 1...5 as ClosedRange<UInt64> {
            _ = home.makeHead(epoch: 0, sumKey: sumKey, now: start + month * 30 * day)
        }
        _ = home.makeHead(epoch: 0, sumKey: sumKey, now: later)
        _ = home.makeHead(epoch: 0, sumKey: sumKey, now: later)
        _ = home.forgetDead()
        let isThere = home.versions[name(1)]?.contains(tombstone) == true
        #expect(isThere == (days < 180))
        #expect(away.isExpired(now: later) == (days > 180))
        guard days < 180 else { return }
        send(&home, to: &away, now: later)
        #expect(away.winner(name(1)) == tombstone)
    }

    @Test func aRemovedMemberWritesNoMoreEvenIfItSkippedCounters() {
        // SY-40: it said that it had written a million records, to whoever removes it, and writes them afterwards.
        var remover = Ledger(me: a, membership: .of(a, b, c))
        var other = Ledger(me: c, membership: .of(a, b, c))
        var hostile = Ledger(me: b, membership: .of(a, b, c))
        let before = hostile.write(name(1), isTombstone: false, now: start)
        send(&hostile, to: &other, now: start)
        send(&hostile, to: &remover, now: start)
        hostile.counter = 1_000_000
        send(&hostile, to: &remover, now: start + 1)
        #expect(remover.seen[b] == 1_000_000)
        // To one device alone it gives a record that the remover has not.
        let secret = version(6, of: b, at: start + 2, name: 2)
        #expect(other.take(secret, now: start + 3) == .taken)
        #expect(other.winner(name(2)) == secret)
        var membership = Membership.of(a, c)
        membership.linkHashes.append(Data(repeating: 1, count: 32))
        membership.removed[b] = .init(lastCounter: 1_000_000, adopter: a, since: 1)
        _ = other.update(membership)
        _ = remover.update(membership)
        #expect(other.take(version(7, of: b, at: start + 9), now: start + 9) == .notMember)
        let adopted = remover.adopt()
        #expect(adopted.map(\.from) == [before])
        send(&remover, to: &other, now: start + 10)
        for number in UInt8(1)...2 { #expect(other.winner(name(number)) == remover.winner(name(number))) }
        #expect(other.winner(name(1))?.member == a)
        #expect(other.winner(name(2)) == nil)
    }

    @Test func aForkByARemovedMemberIsShownOnBothSides() {
        // c has another link 1, in which b removes a; a has a link 1 in which it removes b.
        func membership(_ link: UInt8, without gone: MemberID, count: Int) -> Membership {
            var membership = Membership.of(a, b, c)
            membership.members.remove(gone)
            membership.removed[gone] = .init(lastCounter: 0, adopter: nil)
            for _ in 0..<count { membership.linkHashes.append(Data(repeating: link, count: 32)) }
            return membership
        }
        var one = Ledger(me: a, membership: membership(1, without: b, count: 1))
        var two = Ledger(me: c, membership: membership(2, without: a, count: 3))
        let (left, right) = (
            one.makeHead(epoch: 0, sumKey: sumKey, now: start), two.makeHead(epoch: 0, sumKey: sumKey, now: start)
        )
        #expect(two.take(left, sumKey: sumKey, now: start) == .conflicting)
        #expect(two.faults[a] == .forked)
        // The other side has fewer links: it waits, but not for ever.
        #expect(one.take(right, sumKey: sumKey, now: start) == .waiting)
        #expect(one.faults[c] == nil)
        #expect(one.take(right, sumKey: sumKey, now: start + 2 * 3600 * 1000) == .waiting)
        #expect(one.faults[c] == .missing)
    }

    @Test func aClockInAnotherCenturyDoesNoHarm() {
        var one = Ledger(me: a, membership: .of(a, b))
        var two = Ledger(me: b, membership: .of(a, b))
        let older = one.write(name(1), isTombstone: false, now: start)
        send(&one, to: &two, now: start)
        send(&two, to: &one, now: start)
        // The battery was empty.
        let wrong = start + 60 * 365 * day
        let newer = one.write(name(1), isTombstone: false, now: wrong)
        let head = one.makeHead(epoch: 0, sumKey: sumKey, now: wrong)
        #expect(head.time == start)
        let forgotten = one.forgetDead()
        #expect(forgotten.isEmpty)
        #expect(one.versions[name(1)]?.contains(older) == true)
        // What it wrote reaches the other one, now and when the clock is right again.
        send(&one, to: &two, now: start + 1)
        #expect(two.faults[a] == nil)
        #expect(two.winner(name(1)) == newer)
    }

    @Test func aClockThatWasAMonthAheadIsSetBack() {
        var one = Ledger(me: a, membership: .of(a, b))
        var two = Ledger(me: b, membership: .of(a, b))
        _ = one.write(name(1), isTombstone: false, now: start)
        send(&one, to: &two, now: start)
        _ = one.makeHead(epoch: 0, sumKey: sumKey, now: start + 30 * day)
        _ = one.write(name(2), isTombstone: false, now: start + 30 * day)
        // Right again: heads and writes have the right time.
        let head = one.makeHead(epoch: 0, sumKey: sumKey, now: start + 5)
        #expect(head.time == start + 5)
        #expect(two.take(head, sumKey: sumKey, now: start + 5) == .taken)
        #expect(one.write(name(3), isTombstone: false, now: start + 6).clock.milliseconds == start + 6)
    }

    @Test func whatAnotherMemberHasSeenAndTheStoreWithholdsIsMissing() {
        var writer = Ledger(me: a, membership: .of(a, b, c))
        var reader = Ledger(me: b, membership: .of(a, b, c))
        var other = Ledger(me: c, membership: .of(a, b, c))
        _ = writer.write(name(1), isTombstone: false, now: start)
        send(&writer, to: &other, now: start)
        // The store has nothing of the writer for the reader. It may be on its way.
        send(&other, to: &reader, now: start)
        #expect(reader.faults[a] == nil)
        send(&other, to: &reader, now: start + 2 * 3600 * 1000)
        #expect(reader.faults[a] == .missing)
        send(&writer, to: &reader, now: start + 3 * 3600 * 1000)
        #expect(reader.faults[a] == nil)
        // A device that was restored from a copy hears from the others that it had written more.
        var restored = Ledger(me: a, membership: .of(a, b, c))
        #expect(!restored.isRestored)
        send(&other, to: &restored, now: start)
        #expect(restored.isRestored)
    }

    @Test func whatWasDroppedForARemovedMembersSakeKeepsNoHeadOpen() {
        // SY-22: b's version made a drop its own. c came later, was shown a's older one, and never gets b's.
        var one = Ledger(me: a, membership: .of(a, b))
        var two = Ledger(me: b, membership: .of(a, b))
        var late = Ledger(me: c, membership: .of(a, b, c))
        _ = one.write(name(1), isTombstone: false, now: start)
        send(&one, to: &two, now: start)
        send(&one, to: &late, now: start)
        #expect(late.seen[a] == 1)
        _ = two.write(name(1), isTombstone: false, now: start + 1)
        send(&two, to: &one, now: start + 1)
        send(&one, to: &two, now: start + 1)
        #expect(one.forgetDead().map(\.counter) == [1])
        var membership = Membership.of(a, c)
        membership.removed[b] = .init(lastCounter: 0, adopter: c, since: 1)
        membership.linkHashes.append(Data(repeating: 1, count: 32))
        #expect(one.update(membership).count == 1)
        _ = late.update(membership)
        send(&one, to: &late, now: start + 2)
        #expect(late.seen[a] == 2)
        #expect(late.faults[a] == nil)
        // What nothing newer took the place of may not be left out.
        var reader = Ledger(me: c, membership: .of(a, b, c))
        var writer = Ledger(me: a, membership: .of(a, b, c))
        _ = writer.write(name(1), isTombstone: false, now: start)
        send(&writer, to: &reader, now: start)
        writer.remove(name(1)) { _ in true }
        _ = writer.write(name(2), isTombstone: false, now: start + 1)
        send(&writer, to: &reader, now: start + 1)
        #expect(reader.faults[a] == .missing)
    }

    @Test func whatARemovedMemberSaidOfOthersIsForgotten() {
        // SY-22: it says that it has what nobody wrote, so that the store seems to withhold it.
        var liar = Ledger(me: c, membership: .of(a, b, c))
        var reader = Ledger(me: b, membership: .of(a, b, c))
        liar.seen[a] = 1000
        liar.seen[b] = 1000
        send(&liar, to: &reader, now: start)
        send(&liar, to: &reader, now: start + 2 * 3600 * 1000)
        #expect(reader.faults[a] == .missing)
        #expect(reader.isRestored)
        var membership = Membership.of(a, b)
        membership.removed[c] = .init(lastCounter: 0, adopter: a, since: 1)
        membership.linkHashes.append(Data(repeating: 1, count: 32))
        _ = reader.update(membership)
        #expect(reader.faults[a] == nil)
        #expect(!reader.isRestored)
    }

    @Test func aMemberThatNeverWroteAHeadIsWaitedForHalfAYearAndARecoveryKeyNotAtAll() {
        // SY-21
        var membership = Membership.of(a, b, c)
        for (recoveryKeys, days, isForgotten) in [
            (Set<MemberID>([c]), UInt64(1), true), ([], 1, false), ([], 179, false), ([], 181, true),
        ] {
            membership.recoveryKeys = recoveryKeys
            var one = Ledger(me: a, membership: membership)
            var two = Ledger(me: b, membership: membership)
            let older = one.write(name(1), isTombstone: false, now: start)
            _ = one.write(name(1), isTombstone: false, now: start + 1)
            for time in Array(stride(from: 1, to: days, by: 30)) + [days, days] {
                send(&one, to: &two, now: start + time * day)
                send(&two, to: &one, now: start + time * day)
            }
            // The first head was a day after the start.
            send(&one, to: &two, now: start + (days + 1) * day)
            let forgotten = one.forgetDead()
            #expect(forgotten == (isForgotten ? [older] : []), "\(days) days")
        }
    }

    @Test("SY-14, SY-21: a device that is alone, or alone with a recovery key, is never away") func aloneIsNotAway() {
        for isAlone in [true, false] {
            var one = Ledger(me: a, membership: .of(a, b))
            var other = Ledger(me: b, membership: .of(a, b))
            let head = other.makeHead(epoch: 0, sumKey: sumKey, now: start)
            #expect(one.take(head, sumKey: sumKey, now: start) == .taken)
            var membership = Membership.of(a, b)
            if isAlone { membership.recoveryKeys = [b] }
            _ = one.update(membership)
            #expect(one.isExpired(now: start + 181 * day) == !isAlone)
            // A device that joins then is heard.
            _ = one.update(.of(a, b, c))
            #expect(one.isExpired(now: start + 181 * day) == !isAlone)
        }
    }

    @Test("SY-14: a device that came back by a recovery key was in contact then, however long the others were silent")
    func recoveredAfterALongTime() {
        var lost = Ledger(me: a, membership: .of(a, b))
        let head = lost.makeHead(epoch: 0, sumKey: sumKey, now: start)
        let now = start + 400 * day
        for isRecovered in [true, false] {
            var kept = Ledger.Kept()
            kept.lastContact = isRecovered ? now : nil
            var new = Ledger(me: b, membership: .of(a, b), kept)
            #expect(new.take(head, sumKey: sumKey, now: now) == .taken)
            #expect(new.isExpired(now: now) == !isRecovered)
            #expect(new.makeHead(epoch: 0, sumKey: sumKey, now: now).time == (isRecovered ? now : start))
        }
    }

    @Test("SY-14: nothing that is written in a recovery key's name is taken") func aRecoveryKeyWritesNothing() {
        var writer = Ledger(me: a, membership: .of(a, b))
        let version = writer.write(name(1), isTombstone: false, now: start)
        let head = writer.makeHead(epoch: 0, sumKey: sumKey, now: start)
        for isRecoveryKey in [true, false] {
            var membership = Membership.of(a, b)
            membership.recoveryKeys = isRecoveryKey ? [a] : []
            var reader = Ledger(me: b, membership: membership)
            #expect(reader.take(version, now: start) == (isRecoveryKey ? .notMember : .taken))
            #expect(reader.take(head, sumKey: sumKey, now: start) == (isRecoveryKey ? .notMember : .taken))
        }
    }

    @Test func oldHeadsOneByOneAreNoContact() {
        var writer = Ledger(me: a, membership: .of(a, b))
        var reader = Ledger(me: b, membership: .of(a, b))
        let heads = (0..<10 as Range<UInt64>).map { writer.makeHead(epoch: 0, sumKey: sumKey, now: start + $0 * day) }
        for (index, head) in heads.enumerated() {
            #expect(reader.take(head, sumKey: sumKey, now: start + UInt64(index) * 30 * day) == .taken)
        }
        #expect(reader.isExpired(now: start + 270 * day))
    }

    @Test func aRestoredDeviceTakesItsOwnRecordsInEveryOrder() {
        var ledger = Ledger(me: a, membership: .of(a, b))
        let first = ledger.write(name(1), isTombstone: false, now: start)
        for counter in [5, 2, 4, 3] as [UInt64] {
            #expect(ledger.take(version(counter, of: a, at: start, name: UInt8(counter)), now: start) == .taken)
        }
        #expect(ledger.take(first, now: start) == .known)
        #expect(ledger.alive() == [1, 2, 3, 4, 5])
        #expect(ledger.write(name(9), isTombstone: false, now: start).counter == 6)
    }

    @Test func anOlderVersionStaysUntilAllMembersHaveTheNewerOne() {
        // SY-22: otherwise it would be lost if the newer one's writer is removed.
        let all = Membership.of(a, b, c)
        var one = Ledger(me: a, membership: all)
        var two = Ledger(me: b, membership: all)
        var three = Ledger(me: c, membership: all)
        let older = one.write(name(1), isTombstone: false, now: start)
        send(&one, to: &two, now: start)
        let newer = two.write(name(1), isTombstone: false, now: start + 1)
        send(&two, to: &one, now: start + 1)
        #expect(one.winner(name(1)) == newer)
        // The third has said nothing yet.
        _ = one.makeHead(epoch: 0, sumKey: sumKey, now: start + 2)
        #expect(one.alive() == [older.counter])
        let early = one.forgetDead()
        #expect(early.isEmpty)
        var removed = one
        var membership = Membership.of(a, c)
        membership.removed[b] = .init(lastCounter: 0, adopter: c)
        _ = removed.update(membership)
        #expect(removed.winner(name(1)) == older)
        // Now all have it.
        send(&one, to: &three, now: start + 3)
        send(&two, to: &three, now: start + 3)
        send(&three, to: &one, now: start + 4)
        send(&one, to: &two, now: start + 4)
        send(&two, to: &one, now: start + 5)
        _ = one.makeHead(epoch: 0, sumKey: sumKey, now: start + 6)
        #expect(one.alive().isEmpty)
        let forgotten = one.forgetDead()
        #expect(forgotten == [older])
    }

    /// Whose newer version is removed: counted by the removing link, or not.
    @Test(arguments: [0, 1] as [UInt64])
    func whatWasDroppedForARemovedMembersVersionStaysDropped(lastCounter: UInt64) {
        // SY-22: who had seen past it refuses it, and would miss it for ever.
        let all = Membership.of(a, b, c)
        var one = Ledger(me: a, membership: all)
        var two = Ledger(me: b, membership: all)
        var three = Ledger(me: c, membership: all)
        let older = one.write(name(1), isTombstone: false, now: start)
        _ = one.write(name(2), isTombstone: false, now: start)
        send(&one, to: &two, now: start)
        _ = two.write(name(1), isTombstone: false, now: start + 1)
        send(&two, to: &one, now: start + 1)
        send(&two, to: &three, now: start + 1)
        send(&three, to: &one, now: start + 2)
        // All have the newer one, so the third one gets the older one no more.
        send(&one, to: &three, now: start + 3, without: older.counter)
        #expect(three.seen[a] == 2)
        #expect(one.alive() == [2])
        var membership = Membership.of(a, c)
        membership.removed[b] = .init(lastCounter: lastCounter, adopter: a, since: 0)
        let kept = one.update(membership)
        #expect(kept.count == (lastCounter == 0 ? 1 : 0))
        _ = three.update(membership)
        // Each change of the circle says so again.
        let again = one.update(membership)
        #expect(again.isEmpty)
        _ = one.write(name(3), isTombstone: false, now: start + 4)
        for round in 5...7 as ClosedRange<UInt64> {
            let adopted = one.adopt()
            #expect(adopted.count == (round == 5 && lastCounter == 1 ? 1 : 0))
            send(&one, to: &three, now: start + round, without: older.counter)
            #expect(!one.alive().contains(older.counter))
            #expect(three.faults[a] == nil)
            #expect(three.seen[a] == one.counter)
            #expect(three.winner(name(1)) == one.winner(name(1)))
            #expect(three.winner(name(1))?.clock.milliseconds == start + 1)
            send(&three, to: &one, now: start + round)
            _ = one.forgetDead()
            _ = three.forgetDead()
        }
        // In the end nothing of it is left, and heads are as short as before.
        #expect(one.versions[name(1)]?.count == 1)
        let head = one.makeHead(epoch: 0, sumKey: sumKey, now: start + 9)
        #expect(head.stable.keys.sorted() == [a, c])
    }

    @Test func changesSayWhatIsReplaced() {
        var ledger = Ledger(me: a, membership: .of(a, b))
        ledger.seen[b] = 1
        let mine = ledger.write(name(1), isTombstone: false, now: start)
        #expect(ledger.changes() == [.init(name: name(1), from: nil, to: mine)])
        #expect(ledger.changes().isEmpty)
        let theirs = version(2, of: b, at: start + 5)
        _ = ledger.take(theirs, now: start + 5)
        _ = ledger.take(version(3, of: b, at: start - 5), now: start + 5)
        #expect(ledger.changes() == [.init(name: name(1), from: mine, to: theirs)])
    }
}
