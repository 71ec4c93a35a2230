import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneTransport

extension KeychainService {
    /// Whether a row may be kept, within what its access group may keep.
    ///
    /// The group is whose quota an item counts for, whichever of its apps added it. What makes a group's items neither more nor larger is
    /// always taken, also where the owner has lowered the limit since. `old` is the item whose place it takes.
    ///
    /// - Throws: `Refusal` with `.diskFull`; `Status.dataTooLarge` for what could not be given to the circle's other devices.
    func checkQuota(
        _ row: ItemRow, group: AccessGroup, replacing old: OpenItem? = nil, in writer: KeychainStore.KeychainWriter
    ) throws {
        let isTravelling = try checkRecord(row, group: group, replacing: old)
        // Whatever the limit is, what takes no more room than before is within it.
        if let old, old.attributes.accessGroup == group, row.storedBytes <= old.row.storedBytes { return }
        let tags = GroupTags(group, key: lookupKey)
        let (now, limit) = try writer.use(of: tags)
        var (items, bytes) = (now.items + 1, now.bytes + row.storedBytes)
        if let old, old.attributes.accessGroup == group {
            items -= 1
            bytes -= old.row.storedBytes
        }
        guard items <= max(limit.items, now.items), bytes <= max(limit.bytes, now.bytes) else {
            throw Refusal(.diskFull, .quotaReached)
        }
        if isTravelling { try checkRecords(of: tags, now, limit, in: writer) }
    }
}
