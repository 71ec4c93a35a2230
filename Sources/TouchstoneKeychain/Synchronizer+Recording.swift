import Foundation
import GRDB
import TouchstoneCircle
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface

/// Records of what apps changed (SY-1, SY-2, SY-13).
extension Synchronizer {
    /// What becomes of one changed row.
    fileprivate enum Intent {
        /// It is as the keychain shows it, or never was the circle's.
        case nothing
        /// Its class is locked: later (SY-23).
        case later
        /// It is gone, or leaves the circle.
        case gone(RecordName)
        case present(Present)
    }

    fileprivate struct Present {
        var row: ItemRow
        var attributes: [AttributeKey: AttributeValue]
        var control: AccessControl
        var name: RecordName
        /// The name that the row had before its primary key was changed.
        var earlier: RecordName?
    }

    func recordChanges(_ circle: inout Circle) throws {
        for _ in 0..<Limits.recorded {
            let count = isRecordingSingly ? 1 : Limits.batch
            let last = circle.recorded
            let changes = try store.inspect { try CircleTables.changes(after: last, count: count, $0) }
            guard let done = try record(changes, &circle) else {
                circle.recorded = 0
                return
            }
            circle.recorded = done
        }
        schedule()
    }

    /// - Returns: The number of the last change that was looked at; nil: there are no more.
    private func record(_ changes: [CircleTables.Change], _ circle: inout Circle) throws -> Int64? {
        guard let keys = circle.keys else { return nil }
        var last: Int64?
        var versions: [(RecordVersion, EnclaveInterface.RecordItem?)] = []
        var groups: [RecordVersion: Data] = [:]
        var writes: [@Sendable (Database) throws -> Void] = []
        var bytes = 0
        for change in changes {
            let intent: Intent = try store.inspect { try self.intent(of: change, keys, $0) }
            if case .present(let present) = intent {
                bytes += present.row.storedBytes
                // One goes always, however large it is.
                if bytes > Limits.batchBytes, !writes.isEmpty { break }
            }
            last = change.number
            switch intent {
            case .later: continue
            case .nothing: writes.append { try CircleTables.forgetChange(numbered: change.number, $0) }
            case .gone(let name):
                let version = circle.ledger.write(name, isTombstone: true, now: milliseconds)
                versions.append((version, nil))
                groups[version] = change.group
                writes.append {
                    try CircleTables.show(name, .init(member: version.member, counter: version.counter), $0)
                    try CircleTables.forgetChange(numbered: change.number, $0)
                }
            case .present(let present):
                if let earlier = present.earlier {
                    let version = circle.ledger.write(earlier, isTombstone: true, now: milliseconds)
                    versions.append((version, nil))
                    groups[version] = change.group
                    writes.append {
                        try CircleTables.show(earlier, .init(member: version.member, counter: version.counter), $0)
                    }
                }
                let version =
                    change.isInitial
                    // A clock that was once ahead would hide all that this device writes.
                    ? circle.ledger.write(
                        present.name, isTombstone: false,
                        clock: min(present.modified, ClockTime(milliseconds: milliseconds)))
                    : circle.ledger.write(present.name, isTombstone: false, now: milliseconds)
                versions.append((version, present.record))
                groups[version] = change.group
                let (row, name) = (present.row, present.name)
                writes.append {
                    try CircleTables.show(
                        name,
                        .init(
                            member: version.member, counter: version.counter, identifier: row.identifier.bytes,
                            version: row.version), $0)
                    // Only if it was not changed again.
                    try CircleTables.forgetChange(numbered: change.number, $0)
                }
            }
        }
        guard !writes.isEmpty else { return last }
        let records = versions.isEmpty ? [] : try seal(versions)
        guard !records.contains(nil) else {
            // The key of one does not open: it is damaged, and no other device shall have less for it. Then all go one by one.
            let isAlone = changes.count == 1
            if isAlone { try keep { try CircleTables.forgetChange(numbered: changes[0].number, $0.database) } }
            recordSingly(!isAlone)
            throw Status.decode
        }
        let replaced = versions.flatMap { circle.ledger.forgetReplaced($0.0.name) }
        let (ledger, me) = (circle.ledger, circle.me)
        try keep { writer in
            for ((version, _), record) in zip(versions, records) {
                try CircleTables.save(
                    version, bytes: record ?? Data(), group: groups[version], writer.database)
                try CircleTables.list(isHead: false, counter: version.counter, writer.database)
            }
            try CircleTables.drop(replaced, of: me, writer.database)
            for write in writes { try write(writer.database) }
            try CircleTables.save(ledger, writer.database)
        }
        for (version, _) in versions { circle.ledger.show(version) }
        return last
    }

    private func intent(of change: CircleTables.Change, _ keys: TagKeys, _ database: Database) throws -> Intent {
        let known = try CircleTables.name(ofRow: change.identifier, database)
        guard let row = try CircleTables.row(identifier: change.identifier, database) else {
            return known.map { .gone($0.name) } ?? .nothing
        }
        if let known, known.version == row.version { return .nothing }
        let item: OpenItem
        do throws(Refusal) {
            guard case .open(let opened) = try keychain.openMetadata(row) else { return .nothing }
            item = opened
        } catch {
            return .later
        }
        guard item.isTravelling else { return known.map { .gone($0.name) } ?? .nothing }
        let name = keys.name(
            itemClass: row.itemClass.rawValue, primaryKey: ItemCipher.primaryKey(item.attributes, in: row.itemClass))
        return .present(
            Present(
                row: row, attributes: item.attributes, control: item.control, name: name,
                earlier: known.flatMap { $0.name == name ? nil : $0.name }))
    }
}

extension OpenItem {
    /// Whether it goes to the circle's other devices (SY-1).
    fileprivate var isTravelling: Bool {
        guard attributes[.synchronizable] == .number(1), !control.isConstrained,
            !control.protection.isThisDeviceOnly
        else { return false }
        // What an enclave's key keeps is of use on its device alone.
        if case .string(let token)? = attributes[.tokenID], !token.isEmpty { return false }
        return true
    }
}

extension Synchronizer.Present {
    fileprivate var record: EnclaveInterface.RecordItem {
        var all = attributes
        all[.accessControl] = .accessControl(control)
        return .init(
            item: .init(
                wrappedKey: row.wrappedKey,
                binding: .init(accessGroup: attributes.accessGroup, item: row.binding.bytes)),
            attributes: ItemAttributes.encode(all), secret: row.secret ?? Data())
    }

    /// When an app wrote it last.
    fileprivate var modified: ClockTime {
        guard case .date(let date)? = attributes[.modificationDate] else { return ClockTime(milliseconds: 0) }
        return ClockTime(
            milliseconds: UInt64(
                max(0, min(Date(timeIntervalSinceReferenceDate: date).timeIntervalSince1970, 1e12) * 1000)))
    }
}
