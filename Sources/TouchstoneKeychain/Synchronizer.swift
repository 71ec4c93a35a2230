import Dispatch
import Foundation
import GRDB
import Synchronization
import TouchstoneCircle
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneInterfaces

/// This device's part in a circle: makes records of what apps change, and takes others' records into the keychain.
///
/// All of it happens on a queue of its own, in small transactions: no call of an app's waits for it (SY-23). What was changed, and what the
/// keychain shows, is noted in the database, so that after a crash it goes on where it was.
final class Synchronizer: Sendable {
    let store: KeychainStore
    let enclave: EnclaveClient
    let keychain: KeychainService
    let now: @Sendable () -> Date
    private let queue = DispatchQueue(label: "io.touchstone.sync")
    /// Touched on the queue only.
    private let state = Mutex(State())
    private let isScheduled = Atomic(false)
    private let isInCircle = Atomic(false)
    private let watchers = Mutex(Watchers())

    private struct Watchers {
        var all: [ObjectIdentifier: Watcher] = [:]
    }

    private struct Watcher {
        /// The place of the newest own object, and the number of links.
        var tell: @Sendable (Int64, Int) -> Void
        /// The device has left the circle.
        var ended: @Sendable () -> Void
    }

    enum Limits {
        /// Of one transaction, for which apps' writes wait.
        static let batch = 32
        static let batchBytes = 4 << 20
        /// Items of others that come into the keychain at once, and batches of own changes: then other calls have their turn.
        static let merged = 2000
        static let recorded = 64
        /// Records that are sealed anew at once.
        static let renewed = 32
        /// Objects that wait are remembered, to be counted.
        static let waiting = 10_000
        /// What all members have seen is said with the next head, or after half an hour: in milliseconds.
        static let patience: UInt64 = 1800 * 1000
        /// A member says at least once a day that it is there: in milliseconds.
        static let silence: UInt64 = 24 * 3600 * 1000
        static let watchers = 16
        /// Seconds between two looks without a reason, for what could not be done and for the daily head.
        static let beat = 3600.0
        /// In one message.
        static let objects = 1000
        static let links = 100
    }

    struct State {
        var circle: Circle?
        /// Objects that were given and wait.
        var waiting: Set<ObjectKey> = []
        /// An item could not be sealed, and which one is not known yet.
        var isSingly = false
    }

    struct ObjectKey: Hashable {
        var isHead: Bool
        var member: MemberID
        var counter: UInt64
    }

    struct Circle {
        var me: MemberID
        var links: [Data]
        var proposed: Data?
        var chain: CircleChain
        /// nil: the device was not unlocked since its boot.
        var keys: TagKeys?
        var ledger: Ledger
        /// Whether what removed members wrote was looked at since the ledger was read: nothing is said of it before.
        var isSettled = false
        /// The newest counter that a record got because it was sealed in a new epoch: the older ones are to go soon.
        var renewed: UInt64 = 0
        /// In which epoch all of this device's records are.
        var renewedEpoch: UInt32?
        /// The number of the own change that was looked at last; 0: the next turn begins with the oldest.
        var recorded: Int64 = 0
        /// Changes of others that come into the keychain with the next turns.
        var unshown = 0
        /// Whether more changes of others come into the keychain with the next turns.
        var isMerging = false
        /// Changes that earlier turns could not show: they are tried again after the last turn, so that each of them is tried once.
        var aside: [Ledger.Change] = []
    }

    /// This device is in no circle.
    struct NoCircle: Error {}

    init(
        store: KeychainStore, enclave: EnclaveClient, keychain: KeychainService, now: @escaping @Sendable () -> Date
    ) {
        self.store = store
        self.enclave = enclave
        self.keychain = keychain
        self.now = now
        store.tellSynchronizer { [weak self] in self?.schedule() }
        queue.async { [weak self] in self?.reload() }
        beat()
    }

    private func beat() {
        queue.asyncAfter(deadline: .now() + Limits.beat) { [weak self] in
            self?.work()
            self?.beat()
        }
    }

    /// Writes what only the synchronizer has to know.
    func keep<R>(isDeletion: Bool = false, _ body: (KeychainStore.KeychainWriter) throws -> R) throws -> R {
        try store.write(isDeletion: isDeletion, tellsSynchronizer: false, body)
    }

    /// The wall clock, in milliseconds since 1970.
    var milliseconds: UInt64 { UInt64(max(0, now().timeIntervalSince1970 * 1000)) }

    /// Runs `body` with the circle as it is.
    ///
    /// What it throws leaves the ledger as it is on the disk.
    ///
    /// - Throws: `NoCircle`, and what `body` throws.
    func with<R: Sendable>(_ body: @Sendable (inout Circle) throws -> R) throws -> R {
        try queue.sync { try run(body) }
    }

    private func run<R>(_ body: (inout Circle) throws -> R) throws -> R {
        guard
            var circle = state.withLock({ state in
                // Taken out, so that changing it copies nothing.
                defer { state.circle = nil }
                return state.circle
            })
        else { throw NoCircle() }
        do {
            let result = try body(&circle)
            state.withLock { [circle] in $0.circle = circle }
            return result
        } catch {
            // In memory it may be ahead of the disk.
            state.withLock { [circle] in $0.circle = circle }
            try? load(anew: true)
            throw error
        }
    }

    /// The circle's keys came or went, or the circle is another.
    func refresh() { queue.async { [weak self] in self?.reload() } }

    /// The same, before it returns.
    func refreshNow() { queue.sync { reload() } }

    private func reload() {
        try? load(anew: false)
        work()
        tellWatchers()
    }

    /// Something in the keychain was changed, or there is more to do: soon, and once for all that is changed until then.
    ///
    /// Calls that wait already come first.
    func schedule() {
        guard isInCircle.load(ordering: .relaxed), !isScheduled.exchange(true, ordering: .relaxed) else { return }
        queue.async { [weak self] in
            guard let self else { return }
            isScheduled.store(false, ordering: .relaxed)
            work()
        }
    }

    /// Does what there is to do now; what cannot be done now stays noted.
    private func work() {
        // A disk that is full, or an enclave that is gone: the next change, or the next hour, tries again.
        try? run { circle in try self.work(&circle) }
    }

    func work(_ circle: inout Circle) throws {
        guard circle.keys != nil else { return }
        let before = try store.inspect { try CircleTables.newestObject($0) }
        try updateMembership(&circle)
        try recordChanges(&circle)
        try merge(&circle)
        try renew(&circle)
        try forget(&circle)
        try makeHead(&circle)
        if try store.inspect({ try CircleTables.newestObject($0) }) != before { tellWatchersSoon() }
    }

    // MARK: the circle

    private func load(anew: Bool) throws {
        let reply = try enclave.call(EnclaveInterface.GetCircle.self, Empty())
        guard let me = reply.member.flatMap({ MemberID(hexadecimal: $0) }) else {
            isInCircle.store(false, ordering: .relaxed)
            let hadCircle = state.withLock { state in
                defer { (state.circle, state.waiting) = (nil, []) }
                return state.circle != nil
            }
            if try hadCircle || store.inspect({ try CircleTables.state($0) }) != nil {
                try keep(isDeletion: true) { try CircleTables.clear($0.database) }
            }
            return
        }
        let keys = reply.keys.map { TagKeys(names: $0.names, sums: $0.sums) }
        let known = state.withLock { $0.circle }
        if !anew, var known, known.me == me, known.links == reply.links {
            (known.keys, known.proposed) = (keys, reply.proposed)
            if let keys { known.ledger.know(keys) }
            return state.withLock { [known] in $0.circle = known }
        }
        let chain = try CircleChain(reply.links)
        let kept = try store.inspect { try CircleTables.state($0) }
        if kept?.member != me.bytes || kept?.circle != chain.circle {
            let tags = ItemClass.stored.compactMap { itemClass in
                keychain.tag(.synchronizable, .number(1), in: itemClass).map { (itemClass, $0) }
            }
            let first = milliseconds
            // By a recovery key, whose link is on its way: the others may have been silent for years, and this device was not away.
            let contact = chain.members[me] == nil ? first : nil
            try keep {
                try CircleTables.begin(
                    member: me, circle: chain.circle, first: first, contact: contact, tags: tags, $0.database)
            }
        }
        var ledger: Ledger
        if !anew, let known, known.me == me {
            // Its membership follows with the next work.
            ledger = known.ledger
            for change in known.aside { ledger.putBack(change) }
        } else {
            ledger = Ledger(
                me: me, membership: chain.membership,
                try store.inspect { try CircleTables.kept($0, identity: chain.identity(of:)) })
            let kept = ledger
            try keep { try CircleTables.deleteRecords(notIn: kept, $0.database) }
        }
        if let keys { ledger.know(keys) }
        let circle = Circle(
            me: me, links: reply.links, proposed: reply.proposed, chain: chain, keys: keys, ledger: ledger)
        state.withLock { $0.circle = circle }
        isInCircle.store(true, ordering: .relaxed)
    }

    /// Whether all classes that travel are open: what is written anew then can be.
    private var isAllOpen: Bool {
        keychain.metadataKeys.withLock { keys in
            [Accessibility.whenUnlocked, .afterFirstUnlock, .always].allSatisfy { keys.open[$0] != nil }
        }
    }

    /// The chain is longer than it was: what removed members wrote may have to be written anew, which needs all classes.
    private func updateMembership(_ circle: inout Circle) throws {
        let isSame = circle.chain.links.count == circle.ledger.membership.linkHashes.count
        guard !(circle.isSettled && isSame), isAllOpen else { return }
        var copies = circle.ledger.update(circle.chain.membership)
        copies += circle.ledger.adopt()
        try copy(copies, &circle)
        let ledger = circle.ledger
        try keep {
            try CircleTables.deleteRecords(notIn: ledger, $0.database)
            try CircleTables.save(ledger, $0.database)
        }
        circle.isSettled = true
    }

    /// Seals what others' records have in them as this device's own.
    private func copy(_ copies: [(from: RecordVersion, to: RecordVersion)], _ circle: inout Circle) throws {
        for (from, to) in copies {
            guard let bytes = try store.inspect({ try CircleTables.bytes(of: from.member, from.counter, $0) }) else {
                continue
            }
            var item: EnclaveInterface.RecordItem?
            if !from.isTombstone {
                let reply = try enclave.call(EnclaveInterface.OpenRecords.self, .init(records: [bytes]))
                // Locked meanwhile: all of it once more, after the unlock.
                if reply.records.first?.verdict == .locked { throw Status.interactionNotAllowed }
                guard let opened = reply.records.first, let wrapped = opened.item, let attributes = opened.attributes,
                    let record = try? SealedRecord(bytes)
                else { continue }
                item = .init(item: wrapped, attributes: attributes, secret: record.secret)
            }
            guard let sealed = try seal([(to, item)]).first ?? nil else { throw Status.interactionNotAllowed }
            try keep { writer in
                try CircleTables.save(
                    to, bytes: sealed, group: CircleTables.group(of: from, writer.database), writer.database)
                try CircleTables.list(isHead: false, counter: to.counter, writer.database)
            }
        }
    }

    /// Seals a few of this device's records in the present epoch, which a removed member has no key of (SY-12).
    ///
    /// All of them by and by: at each change, and each hour.
    private func renew(_ circle: inout Circle) throws {
        let (me, epoch) = (circle.me, circle.chain.epoch)
        guard epoch > 0, circle.isSettled, isAllOpen, circle.renewedEpoch != epoch else { return }
        let counters = try store.inspect {
            try CircleTables.counters(of: me, notOf: epoch, count: Limits.renewed, $0)
        }
        // Looking for them is a look at all records.
        if counters.isEmpty { circle.renewedEpoch = epoch }
        var copies: [(from: RecordVersion, to: RecordVersion)] = []
        for counter in counters {
            guard let from = circle.ledger.version(of: me, counter: counter),
                let bytes = try store.inspect({ try CircleTables.bytes(of: me, counter, $0) })
            else { continue }
            // Once there is a new version, there has to be a record of it.
            let opened = try enclave.call(EnclaveInterface.OpenRecords.self, .init(records: [bytes])).records.first
            guard let opened, opened.verdict == .item || opened.verdict == .tombstone,
                let to = circle.ledger.renew(from)
            else { continue }
            copies.append((from, to))
        }
        guard !copies.isEmpty else { return }
        try copy(copies, &circle)
        // The keychain shows the same item as before.
        let ledger = circle.ledger
        try keep { [copies] writer in
            for (from, to) in copies {
                guard var shown = try CircleTables.shown(to.name, writer.database), shown.member == from.member,
                    shown.counter == from.counter
                else { continue }
                shown.counter = to.counter
                try CircleTables.show(to.name, shown, writer.database)
            }
            try CircleTables.save(ledger, writer.database)
        }
        for (_, to) in copies {
            circle.ledger.show(to)
            circle.renewed = max(circle.renewed, to.counter)
        }
    }

    /// Seals versions of this device's; nil for what cannot be.
    func seal(_ versions: [(RecordVersion, EnclaveInterface.RecordItem?)]) throws -> [Data?] {
        let reply = try enclave.call(
            EnclaveInterface.SealRecords.self,
            .init(
                records: versions.map { version, item in
                    .init(
                        name: version.name.bytes, counter: CircleTables.signed(version.counter),
                        clock: CircleTables.signed(version.clock.bits), item: item)
                }))
        guard reply.records.count == versions.count else { throw Status.internalError }
        if reply.records.contains(where: { $0.verdict == .locked }) { throw Status.interactionNotAllowed }
        return reply.records.map(\.record)
    }

    /// Forgets versions that all members have newer ones of.
    private func forget(_ circle: inout Circle) throws {
        let dead = circle.ledger.forgetDead()
        guard !dead.isEmpty else { return }
        let me = circle.me
        try keep(isDeletion: true) { try CircleTables.drop(dead, of: me, $0.database) }
    }

    /// Says what this device has written and seen, if that is new.
    private func makeHead(_ circle: inout Circle) throws {
        guard circle.isSettled, circle.ledger.membership.linkHashes.count == circle.chain.links.count,
            let key = circle.keys?.sum(of: circle.chain.epoch),
            let head = circle.ledger.nextHead(
                epoch: circle.chain.epoch, sumKey: key, now: milliseconds, silence: Limits.silence,
                isDue: { [circle] in isDue($0, after: circle.ledger.heads[circle.me], circle) }),
            let signed = try enclave.call(EnclaveInterface.SignHead.self, .init(head: head.written)).signed
        else { return }
        let last = circle.ledger.heads[circle.me]?.sequence
        circle.ledger.keep(head)
        if let keys = circle.keys { circle.ledger.know(keys) }
        let (me, ledger) = (circle.me, circle.ledger)
        try keep { writer in
            try CircleTables.save(head: signed, of: me, writer.database)
            try CircleTables.save(ledger, writer.database)
            if let last { try CircleTables.list(isHead: true, counter: last, isDropped: true, writer.database) }
            try CircleTables.list(isHead: true, counter: head.sequence, writer.database)
        }
    }

    /// Whether a head says more than what may be dropped, which is no hurry, and would be a third head for each change (SY-33).
    private func isDue(_ head: MemberHead, after last: MemberHead?, _ circle: Circle) -> Bool {
        guard let last, last.time + Limits.patience > milliseconds, last.stable[circle.me] ?? 0 >= circle.renewed else {
            return true
        }
        return (head.counter, head.epoch, head.link) != (last.counter, last.epoch, last.link) || head.seen != last.seen
    }

    // MARK: watching

    /// - Returns: false if there are as many as may be.
    func watch(
        _ key: ObjectIdentifier, _ tell: @escaping @Sendable (Int64, Int) -> Void,
        ended: @escaping @Sendable () -> Void
    ) -> Bool {
        let isTaken = watchers.withLock { watchers in
            guard watchers.all.count < Limits.watchers else { return false }
            watchers.all[key] = Watcher(tell: tell, ended: ended)
            return true
        }
        if isTaken { queue.async { [weak self] in self?.tellWatchers() } }
        return isTaken
    }

    func unwatch(_ key: ObjectIdentifier) { watchers.withLock { _ = $0.all.removeValue(forKey: key) } }

    private func tellWatchersSoon() { queue.async { [weak self] in self?.tellWatchers() } }

    private func tellWatchers() {
        guard let circle = state.withLock({ $0.circle }) else {
            let ended = watchers.withLock { watchers in
                defer { watchers.all = [:] }
                return Array(watchers.all.values)
            }
            for watcher in ended { watcher.ended() }
            return
        }
        guard let next = try? store.inspect({ try CircleTables.newestObject($0) }) else { return }
        let links = circle.links.count + (circle.proposed == nil ? 0 : 1)
        for watcher in watchers.withLock({ Array($0.all.values) }) { watcher.tell(next, links) }
    }

    /// Whether this device is in a circle.
    var hasCircle: Bool { queue.sync { state.withLock { $0.circle != nil } } }

    // MARK: what waits

    func noteWaiting(_ key: ObjectKey, _ isWaiting: Bool) {
        state.withLock { state in
            if !isWaiting {
                state.waiting.remove(key)
            } else if state.waiting.count < Limits.waiting {
                state.waiting.insert(key)
            }
        }
    }

    var isRecordingSingly: Bool { state.withLock { $0.isSingly } }

    /// Goes on with one item at a time, or no longer.
    func recordSingly(_ isSingly: Bool) {
        state.withLock { $0.isSingly = isSingly }
        schedule()
    }

    var waitingCount: Int { state.withLock { $0.waiting.count } }
}
