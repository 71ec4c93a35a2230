import Foundation
import TouchstoneCore
import TouchstoneTransport

extension KeychainService {
    /// Asks nobody and opens nothing, so it works while locked (KC-36, AC-24).
    func delete(_ request: KeychainInterface.Delete.Parameters, for app: AppIdentity) throws {
        let query = try KeychainQuery(request.query).checkedForChange(isUpdate: false)
        let filter = try filter(query, for: app)
        let looksInside = query.needsMetadata
        let groups = try searchedGroups(query, of: app)
        let count = try store.write { writer in
            var rows: [Int64] = []
            try writer.scan(filter) { row in
                guard let rowID = row.rowID else { return true }
                if looksInside, case .open(let item) = try openMetadata(row), !matches(item, query, groups) {
                    return true
                }
                rows.append(rowID)
                return true
            }
            for rowID in rows { try writer.delete(rowID: rowID) }
            return rows.count
        }
        if count == 0 { throw Status.itemNotFound }
    }
}

extension KeychainQuery {
    /// Whether it asks for what only decrypted attributes tell.
    var needsMetadata: Bool {
        attributes.keys.contains { key in
            guard let attribute = itemClass.attribute(key) else { return false }
            return !attribute.hasTag
        }
    }
}
