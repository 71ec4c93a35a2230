package import Crypto

/// How a ledger comes back from where it was kept.
extension Ledger {
    /// What has to be kept of a ledger, with the contents of its versions.
    package struct Kept: Sendable {
        package var versions: [RecordVersion] = []
        package var heads: [MemberHead] = []
        package var seen: [MemberID: UInt64] = [:]
        package var whole: [MemberID: UInt64] = [:]
        package var faults: [MemberID: Fault] = [:]
        /// Which version the keychain shows of each item, by its member and counter.
        package var shown: [RecordName: (member: MemberID, counter: UInt64)] = [:]
        package var counter: UInt64 = 0
        package var clock = ClockTime(milliseconds: 0)
        package var lastContact: UInt64?
        package var waitedForSince: [MemberID: UInt64] = [:]
        /// Counters and sequences of this member begin after this: where what was kept is lost, none comes twice.
        package var first: UInt64 = 0

        package init() {}
    }

    package init(me: MemberID, membership: Membership, _ kept: Kept) {
        self.init(me: me, membership: membership)
        for version in kept.versions { insert(version) }
        for head in kept.heads { heads[head.member] = head }
        seen = kept.seen
        whole = kept.whole
        faults = kept.faults
        for (name, place) in kept.shown {
            shown[name] = versions[name]?.first { $0.member == place.member && $0.counter == place.counter }
        }
        // A record may be on the disk, and its number not yet; or the number is damaged, and then all else says it.
        counter = max(
            max(kept.counter, kept.first), max(names[me]?.keys.max() ?? 0, heads[me]?.counter ?? 0), seen[me] ?? 0)
        firstSequence = kept.first
        clock.see(kept.clock)
        for version in kept.versions { clock.see(version.clock) }
        lastContact =
            hasOthers
            ? kept.lastContact ?? kept.heads.lazy.filter { $0.member != me }.map(\.time).max() : nil
        waitedForSince = kept.waitedForSince
        touched.formUnion(kept.shown.keys)
        unchecked = membership.members
    }

    /// The clock's newest time.
    package var newestClock: ClockTime { clock.last }

    /// Takes the keys of heads' sums, which nobody keeps.
    package mutating func know(_ keys: TagKeys) {
        for head in heads.values { sumKeys[head.epoch] = keys.sum(of: head.epoch) }
    }

    /// The keychain could not show a change now: it comes again.
    package mutating func putBack(_ change: Change) {
        shown[change.name] = change.from
        touched.insert(change.name)
    }

    /// The keychain shows this version, because it came from there.
    package mutating func show(_ version: RecordVersion) { shown[version.name] = version }

    package func contains(member: MemberID, counter: UInt64) -> Bool { names[member]?[counter] != nil }

    /// The newest counter that was taken of a member.
    package func newestCounter(of member: MemberID) -> UInt64 { names[member]?.keys.max() ?? seen[member] ?? 0 }

    /// The version that has this place, or nil.
    package func version(of member: MemberID, counter: UInt64) -> RecordVersion? {
        guard let name = names[member]?[counter] else { return nil }
        return versions[name]?.first { $0.member == member && $0.counter == counter }
    }

    /// The next head, if it is due and would say anything new; it is not kept yet.
    ///
    /// The sums of a large keychain take long, so all else is compared first. They follow from the rest of a head, from the versions,
    /// and once in half a year from the time, which can wait for the next head. `isDue` says whether to make a head that says this,
    /// without its sums. After `silence` milliseconds a head says anew what the last one said.
    package mutating func nextHead(
        epoch: UInt32, sumKey: SymmetricKey, now: UInt64, silence: UInt64, isDue: (MemberHead) -> Bool
    ) -> MemberHead? {
        let next = headWithoutSums(epoch: epoch, now: now)
        guard isDue(next) else { return nil }
        guard let last = heads[me], last.time + silence > now else { return summed(next, sumKey) }
        var same = next
        (same.sequence, same.time, same.sum, same.newestSum) = (last.sequence, last.time, last.sum, last.newestSum)
        guard same != last || isUnsummed else { return nil }
        let head = summed(next, sumKey)
        (same.sum, same.newestSum) = (head.sum, head.newestSum)
        if same != last { return head }
        isUnsummed = false
        return nil
    }

    /// A head of this member's that was signed and kept.
    package mutating func keep(_ head: MemberHead) {
        heads[me] = head
        isUnsummed = false
    }
}
