import Crypto
import Foundation

@testable import TouchstoneCircle

/// Devices, a store that is trusted with nothing, and a history that a seed decides.
struct CircleModel {
    enum Event: CaseIterable {
        case write, delete, push, pull, lock, clock, join, remove, rollBack, lose, forget, lateWrite, adopted, kept,
            replaced,
            repeated, refused, missing, skip, wrongCentury, recoveryKey, renewed, nothingNew,
            initial, thinned
    }

    /// What happened in all histories together.
    struct Seen {
        private var events: Set<Event> = []
        mutating func add(_ more: Set<Event>) { events.formUnion(more) }
        var missing: [Event] { Event.allCases.filter { !events.contains($0) } }
    }

    private struct Device {
        var ledger: Ledger
        var contents: [RecordVersion: Int] = [:]
        /// What an app sees.
        var shown: [RecordName: Int] = [:]
        /// Contents that gave way to another member's.
        var replaced: Set<Int> = []
        var written: [(version: RecordVersion, content: Int)] = []
        var deleted: [RecordVersion] = []
        var links = 1
        var isLocked = false
        /// Milliseconds that its clock is wrong by.
        var skew: Int64
        /// In the wrong model: what came last counts.
        var arrived: [RecordName: RecordVersion] = [:]
    }

    private struct Store {
        var records: [RecordVersion: Int] = [:]
        var heads: [MemberID: [MemberHead]] = [:]
    }

    private var generator: SeededGenerator
    private let countsByArrival: Bool
    private var devices: [MemberID: Device] = [:]
    private var store = Store()
    /// What the store had once, and may give out again.
    private var snapshots: [Store] = []
    /// The circle after each link: here the store does not lie, since ``CircleChain`` refuses if it does.
    private var circles: [(membership: Membership, epoch: UInt32)]
    private var now: UInt64 = 1_800_000_000_000
    private var nextContent = 1
    /// How far a member had come when it was removed.
    private var writtenBefore: [MemberID: UInt64] = [:]
    private var nextDevice: UInt8 = 3
    /// Heads that would not have been made, and say something new.
    private var unsaid = 0
    private static let oldName = RecordName(bytes: Data(repeating: 100, count: 32))
    private static let oldTime: UInt64 = 1_700_000_000_000
    private(set) var happened: Set<Event> = []
    private let names: [RecordName]

    init(seed: UInt64, countsByArrival: Bool = false) {
        generator = SeededGenerator(seed: seed)
        self.countsByArrival = countsByArrival
        names = (1...UInt8.random(in: 1...5, using: &generator)).map { name($0) }
        circles = [(Membership.of(member(1), member(2)), 0)]
        for number in UInt8(1)...2 { devices[member(number)] = newDevice(member(number)) }
    }

    private mutating func newDevice(_ id: MemberID) -> Device {
        var device = Device(
            ledger: Ledger(me: id, membership: circles[circles.count - 1].membership),
            skew: Int64.random(in: -36_000_000...36_000_000, using: &generator))
        device.links = circles.count
        // Fewer than real devices keep, so that it happens in short histories.
        device.ledger.keepsReplaced = Int.random(in: 0...2, using: &generator)
        return device
    }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percent }

    private func time(_ device: Device) -> UInt64 { UInt64(Int64(now) + device.skew) }

    private func key(_ epoch: UInt32) -> SymmetricKey { SymmetricKey(data: Data(repeating: UInt8(epoch), count: 32)) }

    /// Those that are devices.
    private var members: [MemberID] {
        let membership = circles[circles.count - 1].membership
        return membership.members.subtracting(membership.recoveryKeys).sorted()
    }

    // MARK: what happens

    mutating func run() {
        for _ in 0..<Int.random(in: 20...120, using: &generator) {
            now += UInt64.random(in: 0...3_600_000, using: &generator)
            let id = devices.keys.sorted().randomElement(using: &generator)!
            switch Int.random(in: 0..<100, using: &generator) {
            case 0..<30: write(id, isTombstone: false)
            case 30..<38: write(id, isTombstone: true)
            case 38..<58: push(id, isHonest: false)
            case 58..<80: pull(id, isHonest: false)
            case 80..<85:
                devices[id]!.isLocked.toggle()
                happened.insert(.lock)
            case 85..<88:
                // Days pass, but in all fewer than half a year.
                now += UInt64.random(in: 0...30, using: &generator) * 3_600_000
                happened.insert(.clock)
            case 88..<90: join(id)
            case 90: setClock(id)
            case 91..<94: remove(id)
            case 94..<96:
                snapshots.append(store)
            case 96..<98:
                if let old = snapshots.randomElement(using: &generator) {
                    store = old
                    happened.insert(.rollBack)
                }
            default:
                if !devices[id]!.ledger.forgetDead().isEmpty { happened.insert(.forget) }
            }
        }
        settle()
    }

    private mutating func write(_ id: MemberID, isTombstone: Bool) {
        guard var device = devices[id], !device.isLocked else { return }
        // As what was there before the device came into the circle, with the same time on several devices. Apps seldom change it later.
        let isOld = !isTombstone && chance(15)
        let name = isOld || chance(2) ? Self.oldName : names.randomElement(using: &generator)!
        let isThere = device.shown[name] != nil
        guard isThere || !isTombstone else { return }
        if chance(3) {
            // As after a restore: no counter is used twice, and some never.
            device.ledger.counter += UInt64.random(in: 1...1000, using: &generator)
            happened.insert(.skip)
        }
        let isInitial = isOld && device.ledger.versions[name]?.contains { $0.member == id } != true
        let version =
            isInitial
            ? device.ledger.write(
                name, isTombstone: false, clock: ClockTime(milliseconds: min(Self.oldTime, time(device))))
            : device.ledger.write(name, isTombstone: isTombstone, now: time(device))
        if isInitial {
            device.ledger.show(version)
            device.shown[name] = nextContent
            happened.insert(.initial)
        }
        if !isTombstone {
            device.contents[version] = nextContent
            device.written.append((version, nextContent))
            nextContent += 1
        } else {
            device.deleted.append(version)
        }
        if !device.ledger.forgetReplaced(name).isEmpty { happened.insert(.thinned) }
        device.arrived[name] = version
        happened.insert(isTombstone ? .delete : .write)
        if circles[circles.count - 1].membership.removed[id] != nil { happened.insert(.lateWrite) }
        show(&device)
        devices[id] = device
    }

    /// Puts what is alive, and a head.
    ///
    /// A store that is not honest loses some of it, and says that it has it.
    private mutating func push(_ id: MemberID, isHonest: Bool) {
        guard var device = devices[id], isHonest || !device.isLocked else { return }
        adopt(&device)
        let epoch = circles[device.links - 1].epoch
        if epoch > 0, !isHonest, chance(20) { renew(&device) }
        let head = makeHead(epoch, &device)
        let alive = device.ledger.alive()
        // In their order, so that a seed always gives the same history.
        for version in device.ledger.versions.values.joined().sorted(by: { $0.counter < $1.counter })
        where version.member == id && alive.contains(version.counter) {
            if !isHonest, chance(15) {
                happened.insert(.lose)
                continue
            }
            store.records[version] = device.contents[version] ?? 0
        }
        // It deletes what it has dropped, and of removed members what nobody needs.
        if isHonest || chance(50) {
            let membership = device.ledger.membership
            for version in store.records.keys
            where version.member == id && !alive.contains(version.counter)
                || (membership.removed[version.member].map { version.counter > $0.lastCounter } ?? false)
            {
                store.records[version] = nil
            }
        }
        if isHonest || !chance(15) { store.heads[id, default: []].append(head) }
        happened.insert(.push)
        devices[id] = device
    }

    /// One that says nothing new may be made all the same; the device has to find that out, mostly without its sums.
    private mutating func makeHead(_ epoch: UInt32, _ device: inout Device) -> MemberHead {
        let last = device.ledger.heads[device.ledger.me]
        let next = device.ledger.nextHead(
            epoch: epoch, sumKey: key(epoch), now: time(device), silence: 24 * 3_600_000, isDue: { _ in true })
        let head = device.ledger.makeHead(epoch: epoch, sumKey: key(epoch), now: time(device))
        if next == nil, var same = last {
            (same.sequence, same.time) = (head.sequence, head.time)
            if same != head { unsaid += 1 }
            happened.insert(.nothingNew)
        }
        device.ledger.keep(head)
        return head
    }

    /// Takes some of what the store has, or had, in any order; a store that is honest gives all.
    private mutating func pull(_ id: MemberID, isHonest: Bool) {
        guard var device = devices[id], isHonest || !device.isLocked else { return }
        if isHonest || chance(70) { updateChain(&device) }
        var source = store
        if !isHonest, chance(20), let old = snapshots.randomElement(using: &generator) { source = old }
        var records = source.records.sorted { ($0.key.member, $0.key.counter) < ($1.key.member, $1.key.counter) }
        var heads = source.heads.sorted { $0.key < $1.key }.flatMap(\.value)
        if !isHonest {
            records.shuffle(using: &generator)
            heads.shuffle(using: &generator)
            records.removeLast(Int.random(in: 0...records.count, using: &generator))
            if let again = records.first { records.append(again) }
            heads.removeLast(Int.random(in: 0...heads.count, using: &generator))
        }
        let headsFirst = !isHonest && chance(30)
        if headsFirst { take(heads, &device) }
        for (version, content) in records {
            if device.ledger.names[version.member]?[version.counter] == nil, content != 0 {
                device.contents[version] = content
            }
            switch device.ledger.take(version, now: time(device)) {
            case .taken: device.arrived[version.name] = version
            case .repeated: happened.insert(.repeated)
            case .notMember: happened.insert(.refused)
            default: break
            }
        }
        if !headsFirst { take(heads, &device) }
        happened.insert(.pull)
        show(&device)
        if device.ledger.faults.values.contains(.missing) { happened.insert(.missing) }
        devices[id] = device
    }

    private func take(_ heads: [MemberHead], _ device: inout Device) {
        for head in heads { _ = device.ledger.take(head, sumKey: key(head.epoch), now: time(device)) }
    }

    private mutating func adopt(_ device: inout Device) {
        for (from, to) in device.ledger.adopt() {
            device.contents[to] = device.contents[from]
            happened.insert(.adopted)
        }
        show(&device)
    }

    /// As after a new epoch.
    private mutating func renew(_ device: inout Device) {
        let mine = device.ledger.versions.values.joined().filter { $0.member == device.ledger.me }
        for version in mine.sorted(by: { $0.counter < $1.counter }) {
            guard let new = device.ledger.renew(version) else { continue }
            device.contents[new] = device.contents[version]
            happened.insert(.renewed)
        }
        show(&device)
    }

    private mutating func updateChain(_ device: inout Device) {
        device.links = circles.count
        for (from, to) in device.ledger.update(circles[circles.count - 1].membership) {
            device.contents[to] = device.contents[from]
            happened.insert(.kept)
        }
        show(&device)
    }

    private mutating func show(_ device: inout Device) {
        for change in device.ledger.changes() {
            if let from = change.from, !from.isTombstone, change.to?.member != device.ledger.me,
                let content = device.contents[from]
            {
                device.replaced.insert(content)
                happened.insert(.replaced)
            }
            let to = countsByArrival ? device.arrived[change.name] : change.to
            device.shown[change.name] = to.flatMap { $0.isTombstone ? nil : device.contents[$0] }
        }
    }

    // MARK: the circle

    /// Only who knows the newest link can add one: the others' is refused, and they try again.
    private mutating func change(by id: MemberID, _ body: (inout Membership) -> Bool) -> Bool {
        guard members.contains(id), devices[id]!.links == circles.count, circles.count < 20 else { return false }
        var (membership, epoch) = circles[circles.count - 1]
        guard body(&membership) else { return false }
        membership.linkHashes.append(Data(repeating: UInt8(circles.count), count: 32))
        if membership.removed.count > circles[circles.count - 1].membership.removed.count { epoch += 1 }
        circles.append((membership, epoch))
        var device = devices[id]!
        updateChain(&device)
        devices[id] = device
        return true
    }

    /// An empty battery, and later a clock that is right again.
    private mutating func setClock(_ id: MemberID) {
        guard devices[id]!.ledger.heads.count > 1 else { return }
        let isWrong = devices[id]!.skew > 1_000_000_000
        devices[id]!.skew =
            isWrong ? Int64.random(in: -36_000_000...36_000_000, using: &generator) : 60 * 365 * 86_400_000
        happened.insert(.wrongCentury)
    }

    private mutating func join(_ approver: MemberID) {
        if chance(20) {
            let key = member(99)
            let isNew = change(by: approver) { membership in
                membership.recoveryKeys.insert(key)
                return membership.members.insert(key).inserted
            }
            if isNew { happened.insert(.recoveryKey) }
            return
        }
        guard nextDevice < 7 else { return }
        let id = member(nextDevice)
        guard change(by: approver, { $0.members.insert(id).inserted }) else { return }
        devices[id] = newDevice(id)
        nextDevice += 1
        happened.insert(.join)
    }

    private mutating func remove(_ remover: MemberID) {
        guard let id = members.filter({ $0 != remover }).randomElement(using: &generator), members.count > 2 else {
            return
        }
        let last = devices[remover]!.ledger.seen[id] ?? 0
        let isDone = change(by: remover) { membership in
            membership.members.remove(id)
            let link = UInt32(membership.linkHashes.count)
            membership.removed[id] = .init(lastCounter: last, adopter: remover, since: link)
            for (gone, removal) in membership.removed where removal.adopter == id {
                membership.removed[gone]?.adopter = remover
                membership.removed[gone]?.since = link
            }
            return true
        }
        if isDone {
            happened.insert(.remove)
            writtenBefore[id] = devices[id]!.ledger.counter
        }
    }

    // MARK: the end

    /// Everybody is unlocked and connected, the store is honest, and long enough passes.
    private mutating func settle() {
        for id in members where devices[id]!.skew > 1_000_000_000 { devices[id]!.skew = 0 }
        for _ in 0..<8 {
            now += 48 * 3_600_000
            for id in members {
                pull(id, isHonest: true)
                push(id, isHonest: true)
            }
            for id in members { _ = devices[id]!.ledger.forgetDead() }
        }
        for id in members { pull(id, isHonest: true) }
    }

    /// What must not be, in words.
    func broken() -> [String] {
        var broken: [String] = []
        let all = members.map { devices[$0]! }
        let membership = circles[circles.count - 1].membership
        if unsaid > 0 { broken.append("\(unsaid) heads were not made, and say something new") }
        for device in all where device.shown != all[0].shown {
            broken.append("\(short(device)) shows \(device.shown), \(short(all[0])) \(all[0].shown)")
        }
        // Nothing that a removed member wrote afterwards.
        for (id, last) in writtenBefore {
            let late = Set(devices[id]!.written.filter { $0.version.counter > last }.map(\.content))
            if all.contains(where: { !late.isDisjoint(with: $0.shown.values) }) {
                broken.append("a removed member's \(late) counts")
            }
        }
        for device in all {
            // No write of a member is lost but to a newer one, and then it is kept.
            for (version, content) in device.written {
                let winner = device.ledger.winner(version.name)
                if let winner {
                    if device.ledger.isOlder(winner, than: version) { broken.append("\(content) lost to an older one") }
                } else {
                    broken.append("\(content) lost to nothing")
                }
                let isOverwritten =
                    winner == version || device.replaced.contains(content)
                    || (device.written.map(\.version) + device.deleted).contains {
                        $0.name == version.name && $0.counter > version.counter
                    }
                    || (winner?.member == device.ledger.me)
                if !isOverwritten { broken.append("\(content) was lost and not kept") }
            }
            for other in all {
                let (has, wrote) = (device.ledger.seen[other.ledger.me] ?? 0, other.ledger.counter)
                if has != wrote { broken.append("\(short(device)) has \(has) of \(wrote) of \(short(other))") }
            }
            if let fault = device.ledger.faults.first { broken.append("\(short(device)) sees \(fault)") }
        }
        // Of each item one version is left in the store, and none that is dead; several of the same time, each of another member.
        let alive = store.records.keys.filter { membership.members.contains($0.member) }
        for (_, versions) in Dictionary(grouping: alive, by: \.name)
        where Set(versions.map(\.clock)).count > 1 || Set(versions.map(\.member)).count < versions.count {
            broken.append("\(versions) are left in the store")
        }
        return broken
    }

    private func short(_ device: Device) -> String { "device \(device.ledger.me.bytes[0])" }
}

func < (left: (MemberID, UInt64), right: (MemberID, UInt64)) -> Bool {
    left.0 == right.0 ? left.1 < right.1 : left.0 < right.0
}
