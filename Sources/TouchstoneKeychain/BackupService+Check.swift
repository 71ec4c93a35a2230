import Crypto
import Foundation
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneTransport

/// Looking for damage: what SQLite says of the file, and whether every row is as it was written, as far as its keys are there.
extension BackupService {
    private typealias Damaged = BackupInterface.DamagedRow
    private typealias Altered = BackupInterface.AlteredRow

    private enum Finding {
        case whole
        case locked, expired
        case damaged(Damaged)
        /// With an access control, and not as the device left it, or of a group that is not.
        case altered(Altered)
        /// Only the tags are wrong; the row as it is to be.
        case wrongTags(Damaged, ItemRow)
    }

    func check(
        _ request: BackupInterface.Check.Parameters, _ owner: IsOwner
    ) throws -> BackupInterface.Check.Reply {
        var reply = BackupInterface.Check.Reply()
        if request.after == nil {
            reply.database = try store.integrity()
            if !reply.database.isEmpty, request.repairs {
                // What is only an index is made anew; a damaged page of the table is not for a running daemon to replace.
                try? store.reindex()
                reply.database = try store.integrity()
            }
        }
        if request.after == nil, let altered = try store.compareItems() {
            reply.look = store.look
            if !altered.isEmpty { reply.alteredGroups = altered.count }
        }
        let metadataKeys = try metadataKeys()
        let page: [KeychainStore.PageRow]
        do {
            page = try store.page(after: request.after ?? 0)
            if request.after == nil { reply.total = try store.count() }
        } catch {
            // The rest cannot be reached: the file itself is what is to be repaired.
            if reply.database.isEmpty { reply.database = ["the rows after \(request.after ?? 0) cannot be read"] }
            return reply
        }
        reply.next = page.last?.rowID
        reply.checked = page.count
        var aside: [(rowID: Int64, version: Data?)] = []
        var mended: [ItemRow] = []
        for (row, finding) in zip(page, try findings(page, metadataKeys)) {
            switch finding {
            case .whole: break
            case .locked: reply.locked += 1
            case .expired: reply.expired += 1
            case .altered(let altered): reply.altered = (reply.altered ?? []) + [altered]
            case .damaged(let damaged):
                reply.damaged.append(damaged)
                aside.append((row.rowID, row.item?.version))
            case .wrongTags(let damaged, let item):
                reply.damaged.append(damaged)
                mended.append(item)
            }
        }
        if request.repairs, !aside.isEmpty || !mended.isEmpty {
            try store.write { writer in
                for row in aside {
                    // One that was no item may have become one.
                    if row.version == nil, try writer.row(rowID: row.rowID) != nil { continue }
                    try writer.putAside(rowID: row.rowID, version: row.version, at: now())
                }
                for item in mended { try mend(item, in: writer) }
            }
        }
        reply.quarantined = try store.quarantined()
        // What a repair has marked again is there from now on.
        if request.repairs, reply.next == nil { _ = try store.compareItems() }
        return reply
    }

    /// Writes a row with its right tags, unless it has changed since or another has its primary key: then it is put aside.
    private func mend(_ item: ItemRow, in writer: KeychainStore.KeychainWriter) throws {
        guard let current = try writer.row(identifier: item.identifier), current.version == item.version,
            current.rowID == item.rowID
        else { return }
        // One with a wrong mark: what is written in its place is the same row, which the enclave counts or never did.
        try writer.mark(current, isGuarded: item.isGuarded)
        if let other = try writer.row(identityTag: item.identityTag), other.rowID != item.rowID {
            try writer.putAside(current, at: now())
        } else {
            try writer.save(item)
        }
    }

    private func findings(_ page: [KeychainStore.PageRow], _ metadataKeys: MetadataKeys) throws -> [Finding] {
        var findings: [Finding] = []
        var secrets: [(index: Int, item: ItemRow, control: AccessControl, group: AccessGroup, report: Damaged)] = []
        for row in page {
            var report = Damaged(
                row: row.rowID, itemClass: row.itemClass, protection: row.protection, problem: .malformed)
            guard let item = row.item else {
                findings.append(.damaged(report))
                continue
            }
            switch attributes(of: item, metadataKeys) {
            case .locked: findings.append(.locked)
            case .expired: findings.append(.expired)
            case .damaged:
                report.problem = .attributes
                findings.append(.damaged(report))
            case .open(var attributes, let control):
                attributes[.accessControl] = nil
                if case .date(let created)? = attributes[.creationDate] { report.created = created }
                report.problem = .secret
                secrets.append((findings.count, item, control, attributes.accessGroup, report))
                findings.append(tagFinding(item, attributes, control, report))
            }
        }
        let opened = try enclave.call(
            EnclaveInterface.UnwrapKeys.self,
            .init(
                items: secrets.map { row in
                    .init(
                        wrappedKey: row.item.wrappedKey,
                        binding: .init(accessGroup: row.group, item: row.item.binding.bytes))
                }, app: "", context: nil)
        ).items
        guard opened.count == secrets.count else { throw Status.internalError }
        for (row, opened) in zip(secrets, opened) {
            if opened.state == .altered {
                // One that was changed since it was read is whole; one that is wrongly marked fits again once it is mended.
                guard case .whole = findings[row.index], try isCurrent(row.item) else { continue }
                findings[row.index] = .altered(
                    Altered(
                        row: row.report.row, itemClass: row.item.itemClass.rawValue, app: row.group,
                        created: row.report.created))
            } else if let finding = secretFinding(row.item, row.control, opened) {
                findings[row.index] = finding(row.report)
            }
        }
        return findings
    }

    private func isCurrent(_ row: ItemRow) throws -> Bool {
        guard let rowID = row.rowID else { return false }
        return try store.rows([rowID][...], withSecrets: false).first?.version == row.version
    }

    private func tagFinding(
        _ item: ItemRow, _ attributes: [AttributeKey: AttributeValue], _ control: AccessControl, _ report: Damaged
    ) -> Finding {
        var right = item
        right.tags = tags(of: attributes, in: item.itemClass)
        right.identityTag = ItemCipher.identityTag(attributes, in: item.itemClass, key: lookupKey)
        right.isGuarded = control.isConstrained
        if right.tags == item.tags, right.identityTag == item.identityTag, right.isGuarded == item.isGuarded {
            return .whole
        }
        var report = report
        report.problem = .tags
        return .wrongTags(report, right)
    }

    /// nil where the secret is whole, or only its owner could tell.
    private func secretFinding(
        _ item: ItemRow, _ control: AccessControl, _ opened: EnclaveInterface.OpenedItem
    ) -> ((Damaged) -> Finding)? {
        switch (opened.state, opened.key) {
        case (.open, let key?):
            guard let secret = item.secret else { return nil }
            let plain = ItemCipher.openSecret(secret, key: SymmetricKey(data: key), binding: item.binding)
            return plain == nil ? { .damaged($0) } : nil
        case (.locked, _): return { _ in .locked }
        // Bound to fingers that are no more (AC-50): what its owner did, not damage.
        case (.gone, _) where control.requirement.proofs.contains(.biometryCurrentSet): return { _ in .expired }
        case (.gone, _): return { .damaged($0) }
        default: return nil
        }
    }
}
