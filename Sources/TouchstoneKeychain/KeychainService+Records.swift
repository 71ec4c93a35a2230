import TouchstoneCircle
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneTransport

/// Limits of what synchronizes: told to the app, which can do something else, and not found out by the synchronizer.
extension KeychainService {
    /// Records that a group's apps may have beside those of its items, for each item that it may keep: of what is gone.
    private static let recordsPerItem = 10

    /// Whether a row synchronizes, which may be done in a circle later.
    ///
    /// - Throws: `Status.dataTooLarge` if it does and no record has room for it (DEC-587).
    func checkRecord(_ row: ItemRow, group: AccessGroup, replacing old: OpenItem?) throws -> Bool {
        guard !row.accessibility.isThisDeviceOnly, let tag = tag(.synchronizable, .number(1), in: row.itemClass)
        else { return false }
        // A row that takes the place of one with the same tags has none itself.
        let isSame = row.tags.isEmpty && old?.attributes[.synchronizable] == .number(1)
        guard isSame || row.tags[.synchronizable] == tag else { return false }
        guard
            SealedRecord.hasRoom(
                attributes: row.metadata.count, accessGroup: group.rawValue.utf8.count, secret: row.secret?.count ?? 0)
        else { throw Status.dataTooLarge }
        return true
    }

    /// Whether a group may have more records: what other devices still need of its items takes room, too (DEC-588).
    ///
    /// - Throws: `Refusal` with `.diskFull`.
    func checkRecords(
        of tags: GroupTags, _ now: BackupInterface.Storage, _ limit: BackupInterface.Storage,
        in writer: KeychainStore.KeychainWriter
    ) throws {
        let records = try CircleTables.use(of: tags, writer.database)
        guard records.items <= now.items + Self.recordsPerItem * limit.items, records.bytes <= now.bytes + limit.bytes
        else { throw Refusal(.diskFull, .quotaReached) }
    }
}
