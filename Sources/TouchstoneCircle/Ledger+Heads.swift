package import Crypto
import Foundation

/// Which records are alive, and whether all that a head covers is there (SY-21, SY-22, DEC-462).
extension Ledger {
    /// This device's next head, to be signed; `now` in milliseconds.
    package mutating func makeHead(epoch: UInt32, sumKey: SymmetricKey, now: UInt64) -> MemberHead {
        let head = summed(headWithoutSums(epoch: epoch, now: now), sumKey)
        heads[me] = head
        return head
    }

    /// All that the next head says but its sums.
    mutating func headWithoutSums(epoch: UInt32, now: UInt64) -> MemberHead {
        checkHeads()
        let now = plausible(now)
        for member in membership.members where member != me && heads[member] == nil {
            waitedForSince[member] = waitedForSince[member] ?? now
        }
        let link = membership.linkHashes.count - 1
        return MemberHead(
            member: me, sequence: max(heads[me]?.sequence ?? 0, firstSequence) + 1, counter: counter,
            time: headTime(now), epoch: epoch, link: UInt32(link),
            linkHash: membership.linkHashes[link], sum: .none, newestSum: .none,
            seen: seen.filter { membership.members.contains($0.key) }, stable: stable(now: now))
    }

    /// The head with both sums: each is a look at all of this member's records.
    mutating func summed(_ head: MemberHead, _ sumKey: SymmetricKey) -> MemberHead {
        sumKeys[head.epoch] = sumKey
        var head = head
        head.sum = sum(of: head, sumKey, without: isDead)
        head.newestSum = sum(of: head, sumKey, without: isReplaced)
        return head
    }

    /// Up to which counters all members have everything: it never goes back, whoever joins.
    private func stable(now: UInt64) -> [MemberID: UInt64] {
        let others = membership.members.filter { member in
            // Who is silent for so long joins anew (SY-21).
            member != me && !membership.recoveryKeys.contains(member)
                && (heads[member]?.time ?? waitedForSince[member] ?? now) + Limits.longestAway >= now
        }
        var stable: [MemberID: UInt64] = [:]
        for member in membership.members {
            let all = others.reduce(seen[member] ?? 0) { min($0, heads[$1]?.seen[member] ?? 0) }
            stable[member] = max(all, heads[me]?.stable[member] ?? 0)
        }
        // What was dropped for a removed member's versions stays dropped, as long as there are any.
        for member in membership.removed.keys where names[member]?.isEmpty == false {
            stable[member] = heads[me]?.stable[member]
        }
        return stable
    }

    /// The wall clock, unless it is far ahead of all that was heard and written: then the newest of that.
    ///
    /// Records alone say nothing of the time, because they may be of items that were there years before the circle.
    ///
    /// A device that boots with a wrong year may not take all others for gone, or write what nobody takes. A device that a recovery key
    /// added was in contact when its owner said so, however long the others have been silent.
    func plausible(_ now: UInt64) -> UInt64 {
        let heard = heads.values.reduce(lastContact ?? 0) { max($0, $1.time) }
        let known = max(heard, clock.last.milliseconds)
        return heard > 0 && known + Limits.longestLeap < now ? known : now
    }

    /// Never before the last one's, but where that was wrong: others wait for a time that is more than a day ahead.
    private func headTime(_ now: UInt64) -> UInt64 {
        let last = heads[me]?.time ?? 0
        return ClockTime(milliseconds: last).isAhead(of: now) ? now : max(now, last)
    }

    /// What another member has seen and this device has not: if it does not come soon, somebody withholds it.
    mutating func claim(_ head: MemberHead, now: UInt64) {
        for (member, counter) in head.seen where membership.members.contains(member) {
            guard counter > (member == me ? self.counter : seen[member] ?? 0) else { continue }
            claims[member] = (max(counter, claims[member]?.counter ?? 0), min(now, claims[member]?.since ?? now))
        }
        for (member, claim) in claims where member != me && claim.since + Limits.longestDelay < now {
            if faults[member] == nil { faults[member] = .missing }
        }
    }

    /// What a member said that was removed is no claim: the others' heads make theirs again.
    mutating func forgetClaims() {
        claims = [:]
        for member in membership.members where faults[member] == .missing { faults[member] = nil }
        unchecked.formUnion(membership.members)
    }

    /// Another member has more of this one than it knows itself: it was restored from a copy.
    package var isRestored: Bool { claims[me].map { $0.counter > counter } ?? false }

    /// Whether a version is needed no more by a head's account: all members have a newer one, or it is a tombstone that all have had for long
    /// enough.
    private func isDead(_ version: RecordVersion, _ head: MemberHead) -> Bool {
        isOutlived(version, head) || isOlderThanAny(version) { head.stable[$0] ?? 0 }
    }

    /// Whether a head's member has seen a newer version, or nobody needs this one.
    private func isReplaced(_ version: RecordVersion, _ head: MemberHead) -> Bool {
        isOutlived(version, head) || isOlderThanAny(version) { head.seen[$0] ?? head.stable[$0] ?? 0 }
    }

    /// A tombstone that all members have had for long enough.
    private func isOutlived(_ version: RecordVersion, _ head: MemberHead) -> Bool {
        version.isTombstone && version.clock.milliseconds + Limits.longestAway < head.time
            && version.counter <= head.stable[version.member] ?? 0
    }

    /// Whether there is a version that stays newer, among each member's up to a counter.
    ///
    /// At the same time a removal decides who is older (DEC-577). So another member's version of that time is enough only if this one's member
    /// is removed already.
    private func isOlderThanAny(_ version: RecordVersion, upTo last: (MemberID) -> UInt64) -> Bool {
        guard let others = versions[version.name], others.count > 1 else { return false }
        let isRemoved = membership.removed[version.member] != nil
        return others.contains {
            $0.counter <= last($0.member) && isOlder(version, than: $0)
                && ($0.clock > version.clock || $0.member == version.member || isRemoved)
        }
    }

    /// The sum of what a head covers of its member's.
    private func sum(
        of head: MemberHead, _ key: SymmetricKey, without isLeftOut: (RecordVersion, MemberHead) -> Bool
    ) -> RecordSum {
        let covered = (names[head.member] ?? [:]).compactMap { counter, name -> RecordVersion? in
            guard counter <= head.counter,
                let version = versions[name]?.first(where: { $0.member == head.member && $0.counter == counter }),
                !isLeftOut(version, head)
            else { return nil }
            return version
        }
        return RecordSum(covered.sorted { $0.counter < $1.counter }, key: key)
    }

    /// Holds what there is of each member against its newest head: all of it, so that this is not done for each record.
    package mutating func checkHeads() {
        for member in unchecked { check(member) }
        unchecked = []
    }

    /// Holds what there is of one member against its newest head: either sum is enough (DEC-566).
    ///
    /// Its member may have dropped something for the sake of what was dropped too, and this device, which came later, was never given that. But
    /// a member that wrote its head before another one was removed may have taken what that one wrote for the newest.
    private mutating func check(_ member: MemberID) {
        guard let head = heads[member], let key = sumKeys[head.epoch], member != me else { return }
        if head.counter <= whole[member] ?? 0, completeLinks[member] == head.link, claims[member] == nil { return }
        let isWhole = sum(of: head, key, without: isDead) == head.sum
        guard isWhole || sum(of: head, key, without: isReplaced) == head.newestSum else {
            if faults[member] == nil { faults[member] = .missing }
            return
        }
        if isWhole { whole[member] = max(head.counter, whole[member] ?? 0) }
        if completeLinks[member] ?? 0 < head.link {
            completeLinks[member] = head.link
            for gone in membership.removed.keys where isAdopted(gone) {
                touched.formUnion((names[gone] ?? [:]).values)
            }
        }
        if let claim = claims[member], claim.counter <= head.counter { claims[member] = nil }
        if faults[member] == .missing, claims[member] == nil { faults[member] = nil }
        guard head.counter > seen[member] ?? 0 else { return }
        let isFirst = (seen[member] ?? 0) == 0
        seen[member] = head.counter
        if isFirst { touched.formUnion((names[member] ?? [:]).values) }
    }

    /// Counters of this device's records that a store has to have; it should delete all others.
    package func alive() -> Set<UInt64> {
        guard let head = heads[me] else { return Set((names[me] ?? [:]).keys) }
        return Set(
            (names[me] ?? [:]).compactMap { counter, name in
                versions[name]?.first { $0.member == me && $0.counter == counter }
            }.filter { !isDead($0, head) }.map(\.counter))
    }

    /// Forgets versions of an item that their own member replaced, but for a few: a member that is away stops nobody's disk (DEC-588).
    ///
    /// Of each member these stay: the oldest ones, for whose sake others may have dropped theirs; the newest that its newest head covers;
    /// and the newest of all. What others' heads do not cover yet stays too, because a head on its way may.
    ///
    /// - Returns: Of what the contents are needed no more.
    package mutating func forgetReplaced(_ name: RecordName) -> [RecordVersion] {
        guard let all = versions[name], all.count > keepsReplaced + 1 else { return [] }
        var forgotten: Set<RecordVersion> = []
        for (member, own) in Dictionary(grouping: all, by: \.member) where membership.members.contains(member) {
            let covered = member == me ? heads[me]?.counter ?? 0 : seen[member] ?? 0
            let sorted = own.sorted { isOlder($0, than: $1) }
            let newest = sorted.last { $0.counter <= covered }
            forgotten.formUnion(
                sorted.dropFirst(keepsReplaced).dropLast().filter {
                    $0 != newest && (member == me || $0.counter <= covered)
                })
        }
        guard !forgotten.isEmpty else { return [] }
        remove(name) { forgotten.contains($0) }
        return Array(forgotten)
    }

    /// Forgets versions that their writers have dropped, oldest first: each newer one says that an older one is dead.
    ///
    /// - Returns: Of what the contents are needed no more.
    package mutating func forgetDead() -> [RecordVersion] {
        var forgotten: [RecordVersion] = []
        for name in crowded {
            forgotten += forgetReplaced(name)
            while let oldest = versions[name]?.min(by: isOlder) {
                // Nobody writes heads for a removed member.
                guard let head = heads[oldest.member] ?? heads[me],
                    isDead(oldest, head)
                else { break }
                remove(name) { $0 == oldest }
                forgotten.append(oldest)
            }
            if let left = versions[name], left.count == 1, !left[0].isTombstone { crowded.remove(name) }
        }
        return forgotten
    }

    /// Whether this device was away for so long that the others may have forgotten its tombstones' items: it joins anew (SY-21).
    package func isExpired(now: UInt64) -> Bool {
        lastContact.map { $0 + Limits.longestAway < now } ?? false
    }
}
