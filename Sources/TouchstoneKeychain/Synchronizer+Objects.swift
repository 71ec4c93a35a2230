import Foundation
import GRDB
import TouchstoneCircle
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneInterfaces

/// What a store is given, and what comes from it.
extension Synchronizer {
    /// This device's own objects after a place among them; nil: all that are alive.
    func list(after: Int64?) throws -> SyncInterface.ListObjects.Reply {
        try with { circle in
            var reply = SyncInterface.ListObjects.Reply(objects: [], dropped: [], next: after ?? 0)
            // Away for too long: it joins anew, and until then nobody hears of it (SY-21).
            guard !circle.ledger.isExpired(now: milliseconds) else { return reply }
            let me = circle.me
            let objects = try store.inspect {
                try CircleTables.objects(
                    after: after ?? 0, of: me, count: Limits.objects, longest: Limits.batchBytes, $0)
            }
            var bytes = 0
            for object in objects {
                bytes += object.bytes?.count ?? 0
                // One is always there, however large it is.
                if bytes > Limits.batchBytes, reply.next != after ?? 0 { break }
                reply.next = object.number
                let kind: SyncInterface.Kind = object.isHead ? .head : .record
                let counter = CircleTables.signed(object.counter)
                if let bytes = object.bytes {
                    reply.objects.append(
                        .init(kind: kind, member: me.description, counter: counter, bytes: bytes))
                } else {
                    reply.dropped.append(.init(kind: kind, member: me.description, counter: counter))
                }
            }
            return reply
        }
    }

    func links(after: Int?) throws -> [String] {
        try with { circle in
            let all = circle.links + (circle.proposed.map { [$0] } ?? [])
            let first = min(max(0, after.map { $0 < Int.max ? $0 + 1 : $0 } ?? 0), all.count)
            return all[first...].prefix(Limits.links).map { $0.base64EncodedString() }
        }
    }

    /// The newest counter of a member's that was taken: what it wrote up to there counts after its removal.
    func newestCounter(of member: String) throws -> Int64 {
        try with { circle in
            MemberID(hexadecimal: member).map { CircleTables.signed(circle.ledger.newestCounter(of: $0)) } ?? 0
        }
    }

    // MARK: taking

    private struct Taken {
        var version: RecordVersion
        var bytes: Data
        var place: Int
    }

    /// Takes objects of any member, all of them or none.
    func take(_ objects: [SyncInterface.SealedObject]) throws -> [SyncInterface.Verdict] {
        let verdicts = try with { circle in
            var verdicts = [SyncInterface.Verdict](repeating: .waiting, count: objects.count)
            guard circle.keys != nil, !circle.ledger.isExpired(now: milliseconds) else { return verdicts }
            var records: [(place: Int, record: SealedRecord, bytes: Data)] = []
            var heads: [(head: MemberHead, bytes: Data)] = []
            for (place, object) in objects.enumerated() where object.kind == .record {
                guard let record = Self.record(object) else {
                    verdicts[place] = .forged
                    continue
                }
                records.append((place, record, object.bytes))
            }
            let taken = try open(records, &verdicts, circle)
            var kept: [Taken] = []
            for record in taken {
                let outcome = circle.ledger.take(record.version, now: milliseconds)
                if outcome == .taken { kept.append(record) }
                verdicts[record.place] = Self.verdict(outcome)
            }
            for (place, object) in objects.enumerated() where object.kind == .head {
                let outcome = try take(object, &circle)
                verdicts[place] = outcome.verdict
                if let head = outcome.head { heads.append((head, object.bytes)) }
            }
            circle.ledger.checkHeads()
            let ledger = circle.ledger
            try keep { [kept, heads] writer in
                for record in kept {
                    try CircleTables.save(record.version, bytes: record.bytes, writer.database)
                    if record.version.member == ledger.me {
                        try CircleTables.list(isHead: false, counter: record.version.counter, writer.database)
                    }
                }
                for (head, bytes) in heads { try CircleTables.save(head: bytes, of: head.member, writer.database) }
                try CircleTables.save(ledger, writer.database)
            }
            try work(&circle)
            return verdicts
        }
        for (object, verdict) in zip(objects, verdicts) {
            guard let member = MemberID(hexadecimal: object.member) else { continue }
            noteWaiting(
                .init(
                    isHead: object.kind == .head, member: member, counter: UInt64(bitPattern: object.counter)),
                verdict == .waiting)
        }
        return verdicts
    }

    private static func record(_ object: SyncInterface.SealedObject) -> SealedRecord? {
        guard object.counter > 0, let record = try? SealedRecord(object.bytes),
            record.header.member.description == object.member,
            record.header.counter == UInt64(bitPattern: object.counter)
        else { return nil }
        return record
    }

    /// Has the enclave look at records that are not known yet.
    private func open(
        _ records: [(place: Int, record: SealedRecord, bytes: Data)], _ verdicts: inout [SyncInterface.Verdict],
        _ circle: Circle
    ) throws -> [Taken] {
        var taken: [Taken] = []
        for batch in batches(of: records, bytes: \.bytes) {
            let reply = try enclave.call(EnclaveInterface.OpenRecords.self, .init(records: batch.map(\.bytes)))
            guard reply.records.count == batch.count else { throw Status.internalError }
            for (record, opened) in zip(batch, reply.records) {
                switch opened.verdict {
                case .item, .tombstone:
                    taken.append(
                        Taken(
                            version: RecordVersion(record.record.header, isTombstone: opened.verdict == .tombstone),
                            bytes: record.bytes, place: record.place))
                case .locked, .waiting: verdicts[record.place] = .waiting
                case .forged: verdicts[record.place] = .forged
                case .notMember: verdicts[record.place] = .notMember
                }
            }
        }
        return taken
    }

    private func take(
        _ object: SyncInterface.SealedObject, _ circle: inout Circle
    ) throws -> (verdict: SyncInterface.Verdict, head: MemberHead?) {
        guard object.counter > 0, let member = MemberID(hexadecimal: object.member) else { return (.forged, nil) }
        guard circle.chain.identity(of: member) != nil else { return (.waiting, nil) }
        guard let head = try? MemberHead(object.bytes, identity: circle.chain.identity(of:)), head.member == member,
            head.sequence == UInt64(bitPattern: object.counter)
        else { return (.forged, nil) }
        guard let key = circle.keys?.sum(of: head.epoch) else { return (.waiting, nil) }
        let outcome = circle.ledger.take(head, sumKey: key, now: milliseconds)
        return (Self.verdict(outcome), outcome == .taken ? head : nil)
    }

    private static func verdict(_ outcome: Ledger.Outcome) -> SyncInterface.Verdict {
        switch outcome {
        case .taken, .known: .taken
        case .waiting: .waiting
        case .repeated: .repeated
        case .notMember: .notMember
        case .conflicting: .forged
        }
    }

    // MARK: status

    func status() -> SyncInterface.GetStatus.Reply {
        let waiting = waitingCount
        let found = try? with { circle -> SyncInterface.GetStatus.Reply? in
            // It waits for the link that a recovery key signed for it.
            guard circle.chain.members[circle.me] != nil else { return nil }
            var members = circle.chain.members.sorted { $0.key < $1.key }.map { id, member in
                let head = circle.ledger.heads[id]
                let seen = circle.ledger.seen[id] ?? 0
                return SyncInterface.Member(
                    member: id.description, name: member.name, isThisDevice: id == circle.me,
                    isRecoveryKey: member.isRecoveryKey,
                    lastHeard: head.map {
                        Date(timeIntervalSince1970: Double($0.time) / 1000).timeIntervalSinceReferenceDate
                    },
                    isComplete: id == circle.me || head.map { seen >= $0.counter } ?? false,
                    fault: circle.fault(of: id))
            }
            // A removed member that shows others another chain: it may have drawn a device to its side.
            members += circle.ledger.faults.filter { $0.value == .forked && circle.chain.removed[$0.key] != nil }.map {
                .init(
                    member: $0.key.description, name: "a removed device", isThisDevice: false, isRecoveryKey: false,
                    isComplete: false, fault: .forked)
            }
            return SyncInterface.GetStatus.Reply(
                circle: circle.chain.circle.map { String(format: "%02x", $0) }.joined(),
                epoch: Int(circle.chain.epoch), links: circle.links.count, members: members, waiting: waiting,
                isExpired: circle.ledger.isExpired(now: milliseconds),
                incoming: circle.isTakingIn ? try store.inspect { try CircleTables.unshown($0) } : nil)
        }
        return (found ?? nil) ?? .init(links: 0, members: [], waiting: 0, isExpired: false)
    }
}

extension Synchronizer.Circle {
    /// Whether records have come that the keychain will show by itself: with the next turns, or once their writer's head is here.
    fileprivate var isTakingIn: Bool {
        isMerging
            || chain.members.keys.contains { $0 != me && ledger.seen[$0] ?? 0 == 0 && ledger.newestCounter(of: $0) > 0 }
    }

    /// What the store, or the member, did wrong.
    fileprivate func fault(of member: MemberID) -> SyncInterface.Fault? {
        switch ledger.faults[member] {
        case .missing: return .missing
        case .forked: return .forked
        case .conflicting: return .rolledBack
        case .clock: return .clock
        case nil: break
        }
        // Others have more of this device than it knows itself: its database was put back from a copy.
        guard member != me else { return ledger.isRestored ? .rolledBack : nil }
        // SY-22: another member has seen more of it than the store gives to this device.
        let counter = ledger.heads[member]?.counter ?? 0
        let isBehind = ledger.heads.values.contains { $0.member != me && ($0.seen[member] ?? 0) > counter }
        return isBehind ? .rolledBack : nil
    }
}
