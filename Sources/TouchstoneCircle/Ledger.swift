package import Crypto
import Foundation

/// One version of one item, without its content.
package struct RecordVersion: Hashable, Sendable {
    package let name: RecordName
    package let member: MemberID
    /// From 1 on; no two of a member have the same.
    package let counter: UInt64
    package let clock: ClockTime
    package let isTombstone: Bool

    package init(name: RecordName, member: MemberID, counter: UInt64, clock: ClockTime, isTombstone: Bool) {
        self.name = name
        self.member = member
        self.counter = counter
        self.clock = clock
        self.isTombstone = isTombstone
    }

    package init(_ header: RecordHeader, isTombstone: Bool) {
        self.init(
            name: header.name, member: header.member, counter: header.counter, clock: header.clock,
            isTombstone: isTombstone)
    }
}

/// Which version of each item counts, and what is known of each member: the same records give the same answer in whatever order they
/// come (SY-20 to SY-22).
///
/// A plain value without contents. Whoever has it keeps it with the contents, and asks for ``changes()`` after each call. What a version must
/// be to come here is decided before: its signature is right and its content opens.
package struct Ledger: Sendable {
    package enum Limits {
        /// Of a tombstone at least, and of a member's silence at most: 180 days, in milliseconds (SY-21).
        package static let longestAway: UInt64 = 180 * 24 * 3600 * 1000
        /// What a clock may run ahead of all heads at once, in milliseconds: 90 days.
        ///
        /// More is a clock that is wrong.
        static let longestLeap: UInt64 = 90 * 24 * 3600 * 1000
        /// Versions of an item that its member replaced itself and that are kept all the same, the oldest ones (DEC-588).
        package static let replaced = 4
        /// For how long links, or what another member has, may be on their way: an hour, in milliseconds.
        static let longestDelay: UInt64 = 3600 * 1000
    }

    package let me: MemberID
    package internal(set) var membership: Membership
    /// Of this member's newest record.
    package internal(set) var counter: UInt64 = 0
    package internal(set) var heads: [MemberID: MemberHead] = [:]
    /// Up to which counter everything of a member has come that it had then.
    package internal(set) var seen: [MemberID: UInt64] = [:]
    /// Up to which counter everything of a member has come that was alive then: what comes again of that was dropped since.
    ///
    /// Never more than ``seen``. What is between may be needed if a removed member's records, which took its place, count no more.
    package internal(set) var whole: [MemberID: UInt64] = [:]
    package internal(set) var faults: [MemberID: Fault] = [:]
    var clock = HybridClock()
    var versions: [RecordName: [RecordVersion]] = [:]
    /// By member and counter.
    var names: [MemberID: [UInt64: RecordName]] = [:]
    /// Names of which something may be forgotten: with a tombstone, or several versions.
    var crowded: Set<RecordName> = []
    /// What the keychain shows, as far as it was told.
    var shown: [RecordName: RecordVersion] = [:]
    var touched: Set<RecordName> = []
    /// ``Limits/replaced``, or what a test says.
    var keepsReplaced = Limits.replaced
    /// When another member was last heard, by this device's clock; nil before the first time.
    package internal(set) var lastContact: UInt64?
    /// Whether there is another device that this one may hear.
    var hasOthers: Bool { membership.members.contains { $0 != me && !membership.recoveryKeys.contains($0) } }
    /// Since when a member that wrote no head yet is waited for.
    package internal(set) var waitedForSince: [MemberID: UInt64] = [:]
    /// Since when a member's head names a link that is not there.
    var linkMissingSince: [MemberID: UInt64] = [:]
    /// What others have of a member and this device has not, and since when.
    var claims: [MemberID: (counter: UInt64, since: UInt64)] = [:]
    /// The newest link of a member's newest complete head.
    var completeLinks: [MemberID: UInt32] = [:]
    /// Whether a version came or went since the last head that may change its sums, whatever else that says.
    var isUnsummed = true
    /// Heads of this member have greater numbers.
    var firstSequence: UInt64 = 0

    package enum Fault: String, Hashable, Sendable {
        /// What the newest head covers has not all come.
        case missing
        /// It has another chain.
        case forked
        /// Two heads, or two records, of one number.
        case conflicting
        /// Its clock is more than a day ahead.
        case clock
    }

    package enum Outcome: Hashable, Sendable {
        case taken
        /// It is there already.
        case known
        /// To be given again: its clock is ahead, or its writer, or its link, is not known yet.
        case waiting
        /// The member has dropped it since.
        case repeated
        /// Written by a member after what counts of it.
        case notMember
        /// The member gave this number to something else.
        case conflicting
    }

    package init(me: MemberID, membership: Membership) {
        self.me = me
        self.membership = membership
    }

    // MARK: writing

    /// A new version by this device, `now` in milliseconds.
    package mutating func write(_ name: RecordName, isTombstone: Bool, now: UInt64) -> RecordVersion {
        let now = plausible(now)
        // What was there before this device came into the circle has a time that the clock has not seen, if that goes back now.
        for version in versions[name] ?? [] where version.member == me { clock.see(version.clock) }
        return write(name, isTombstone: isTombstone, clock: clock.tick(now: now))
    }

    /// The same of something that was written before this device came into the circle: its own time counts, so that it takes the place of nothing
    /// newer.
    package mutating func write(_ name: RecordName, isTombstone: Bool, clock: ClockTime) -> RecordVersion {
        counter += 1
        let version = RecordVersion(
            name: name, member: me, counter: counter, clock: clock, isTombstone: isTombstone)
        insert(version)
        seen[me] = counter
        return version
    }

    /// Writes anew what counts of removed members that this device answers for: with the time that it had, so that what somebody wrote
    /// since stays newer.
    ///
    /// - Returns: What was adopted, and the version that has its content.
    package mutating func adopt() -> [(from: RecordVersion, to: RecordVersion)] {
        let orphans = membership.removed.filter { $0.value.adopter == me }.keys
        guard !orphans.isEmpty else { return [] }
        let names = Set(orphans.flatMap { (self.names[$0] ?? [:]).values })
        return names.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }.compactMap { name in
            guard let winner = winner(name), orphans.contains(winner.member) else { return nil }
            return (winner, write(name, isTombstone: winner.isTombstone, clock: winner.clock))
        }
    }

    /// Writes a version of this device's anew, so that it is sealed in the present epoch (SY-12): with the time that it had.
    ///
    /// - Returns: The version that has its content; nil for one that does not count, or is of another member.
    package mutating func renew(_ version: RecordVersion) -> RecordVersion? {
        guard version.member == me, winner(version.name) == version else { return nil }
        return write(version.name, isTombstone: version.isTombstone, clock: version.clock)
    }

    // MARK: taking

    /// Takes a version of any member.
    package mutating func take(_ version: RecordVersion, now: UInt64) -> Outcome {
        let isRemoved = membership.removed[version.member] != nil
        guard isRemoved || membership.members.contains(version.member) else { return .waiting }
        if let name = names[version.member]?[version.counter] {
            guard versions[name]?.contains(version) == true else {
                faults[version.member] = .conflicting
                return .conflicting
            }
            return .known
        }
        // What counts of it comes from who adopted it: its own word for what it wrote before is worth nothing.
        guard !isRemoved, !membership.recoveryKeys.contains(version.member) else { return .notMember }
        if version.clock.isAhead(of: now) {
            faults[version.member] = .clock
            return .waiting
        }
        if version.member != me, version.counter <= whole[version.member] ?? 0 { return .repeated }
        if isLeftOut(version) { return .waiting }
        clock.see(version.clock)
        insert(version)
        if version.member == me {
            // Restored from a copy: what the store has of this device is what it does not know any more.
            counter = max(counter, version.counter)
            seen[me] = counter
        }
        unchecked.insert(version.member)
        return .taken
    }

    /// Whether a head that fits leaves it out, because it was replaced, and what replaced it is here no more (DEC-578).
    ///
    /// It waits for a head that says whether it was dropped. If somebody was removed since, it may count again.
    private func isLeftOut(_ version: RecordVersion) -> Bool {
        guard version.member != me, version.counter <= seen[version.member] ?? 0 else { return false }
        let link = completeLinks[version.member] ?? 0
        return membership.removed.values.allSatisfy { $0.since <= link }
            && versions[version.name]?.contains { isOlder(version, than: $0) } != true
    }

    /// Takes a head whose signature is right; `sumKey` is of its epoch.
    package mutating func take(_ head: MemberHead, sumKey: SymmetricKey, now: UInt64) -> Outcome {
        let isRemoved = membership.removed[head.member] != nil
        guard isRemoved || membership.members.contains(head.member) else { return .waiting }
        // The chain first, and of removed members, too: a member with another chain may think that it removed this device, or the other way.
        guard Int(head.link) < membership.linkHashes.count else {
            let since = linkMissingSince[head.member] ?? now
            linkMissingSince[head.member] = min(since, now)
            if since + Limits.longestDelay < now { faults[head.member] = .missing }
            return .waiting
        }
        guard membership.linkHashes[Int(head.link)] == head.linkHash else {
            faults[head.member] = .forked
            return .conflicting
        }
        guard !isRemoved, !membership.recoveryKeys.contains(head.member) else { return .notMember }
        if ClockTime(milliseconds: head.time).isAhead(of: now) {
            faults[head.member] = .clock
            return .waiting
        }
        if let known = heads[head.member] {
            guard head.sequence >= known.sequence else { return .known }
            if head.sequence == known.sequence {
                guard head == known else {
                    faults[head.member] = .conflicting
                    return .conflicting
                }
                return .known
            }
            guard head.counter >= known.counter else {
                faults[head.member] = .conflicting
                return .conflicting
            }
        }
        heads[head.member] = head
        // Of this device itself, which was restored from a copy: what it covers is not known.
        if head.member == me { isUnsummed = true }
        linkMissingSince[head.member] = nil
        if head.member != me {
            // By the head's time: a store that gives out old heads one by one is no contact.
            lastContact = max(lastContact ?? 0, min(now, head.time))
            claim(head, now: now)
        }
        sumKeys[head.epoch] = sumKey
        if faults[head.member] == .clock { faults[head.member] = nil }
        unchecked.insert(head.member)
        return .taken
    }

    /// The circle has changed.
    ///
    /// What a removed member wrote after its last counter counts no more. But an older version may be forgotten where all members had a newer
    /// one, so that one is written anew, by each member that knows so. The version itself stays too, without counting, if there are older ones:
    /// for its sake some may have dropped them, and those must not come back.
    ///
    /// - Returns: What was written anew, and the version that has its content.
    package mutating func update(_ membership: Membership) -> [(from: RecordVersion, to: RecordVersion)] {
        let isAnyRemoved = membership.removed.count > self.membership.removed.count
        self.membership = membership
        if !hasOthers { lastContact = nil }
        if isAnyRemoved { forgetClaims() }
        var adopted: [(RecordVersion, RecordVersion)] = []
        for (member, removal) in membership.removed.sorted(by: { $0.key < $1.key }) {
            heads[member] = nil
            if faults[member] != .forked { faults[member] = nil }
            claims[member] = nil
            for (counter, name) in (names[member] ?? [:]).sorted(by: { $0.key < $1.key }) {
                // The order of what is left may be another, too.
                touched.insert(name)
                guard counter > removal.lastCounter else { continue }
                guard let late = versions[name]?.first(where: { $0.member == member && $0.counter == counter })
                else { continue }
                let isWritten = versions[name]!.contains { $0.member == me && isOlder(late, than: $0) }
                if counter <= heads[me]?.stable[member] ?? 0, !isWritten {
                    adopted.append((late, write(name, isTombstone: late.isTombstone, clock: late.clock)))
                }
                let isOldest = !versions[name]!.contains { isOlder($0, than: late) }
                if counter > seen[member] ?? 0 || isOldest { remove(name) { $0 == late } }
            }
        }
        return adopted
    }

    // MARK: what counts

    /// The newest version of an item, which may be a tombstone.
    ///
    /// What a member wrote counts from its first complete head on, so that a store cannot show a new device half of it, or what is long deleted.
    package func winner(_ name: RecordName) -> RecordVersion? {
        (versions[name] ?? []).filter {
            $0.member == me || (seen[$0.member] ?? 0) > 0 && !isLate($0) && !isAdopted($0.member)
        }.max(by: isOlder)
    }

    /// Whether a removed member wrote it after its last counter.
    private func isLate(_ version: RecordVersion) -> Bool {
        membership.removed[version.member].map { version.counter > $0.lastCounter } ?? false
    }

    /// Whether all that counts of a removed member was written anew by another one, and has come: then nothing else of it counts.
    ///
    /// So it does not matter to whom a removed member gave which of its records.
    func isAdopted(_ member: MemberID) -> Bool {
        guard let removal = membership.removed[member], let adopter = removal.adopter, adopter != me,
            let link = completeLinks[adopter]
        else { return false }
        return link >= removal.since
    }

    /// By clock, then by writer; what a removed member wrote gives way to the copy of who adopted it.
    func isOlder(_ left: RecordVersion, than right: RecordVersion) -> Bool {
        if left.clock != right.clock { return left.clock < right.clock }
        let isLeftRemoved = membership.removed[left.member] != nil
        if isLeftRemoved != (membership.removed[right.member] != nil) { return isLeftRemoved }
        return left.member == right.member ? left.counter < right.counter : left.member < right.member
    }

    /// What became of one item.
    package struct Change: Hashable, Sendable {
        package let name: RecordName
        /// What the keychain shows so far; nil, or a tombstone: nothing.
        package let from: RecordVersion?
        package let to: RecordVersion?
    }

    /// What is to be changed in the keychain since this was last asked: once after many records, because heads are looked at here.
    ///
    /// What is replaced, and has a content, is kept for the owner for 30 days (SY-20). It is of `count` items at most, and ``hasChanges`` says
    /// whether there are more.
    package mutating func changes(atMost count: Int = .max) -> [Change] {
        checkHeads()
        let names = touched.prefix(count)
        defer { touched.subtract(names) }
        return names.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }.compactMap { name in
            let (from, to) = (shown[name], winner(name))
            guard from != to else { return nil }
            shown[name] = to
            return Change(name: name, from: from, to: to)
        }
    }

    /// Whether items were touched that ``changes(atMost:)`` has not looked at.
    package var hasChanges: Bool { !touched.isEmpty }

    // MARK: keeping

    mutating func insert(_ version: RecordVersion) {
        versions[version.name, default: []].append(version)
        names[version.member, default: [:]][version.counter] = version.name
        touched.insert(version.name)
        let (member, counter) = (version.member, version.counter)
        if member == me || counter <= max(seen[member] ?? 0, heads[me]?.stable[member] ?? 0) { isUnsummed = true }
        if version.isTombstone || versions[version.name]!.count > 1 { crowded.insert(version.name) }
    }

    mutating func remove(_ name: RecordName, where isRemoved: (RecordVersion) -> Bool) {
        for version in versions[name] ?? [] where isRemoved(version) {
            names[version.member]?[version.counter] = nil
        }
        versions[name]?.removeAll(where: isRemoved)
        if versions[name]?.isEmpty == true {
            versions[name] = nil
            crowded.remove(name)
        }
        isUnsummed = true
        touched.insert(name)
    }

    /// Members of whom something came since their heads were last looked at.
    var unchecked: Set<MemberID> = []
    /// Keys of heads' sums, by epoch.
    var sumKeys: [UInt32: SymmetricKey] = [:]
}
