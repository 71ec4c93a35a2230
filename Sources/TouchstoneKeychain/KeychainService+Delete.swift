import Foundation
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneTransport

extension KeychainService {
    /// Asks nobody and opens nothing, so it works while locked (KC-36, AC-24).
    func delete(_ request: KeychainInterface.Delete.Parameters, for app: AppIdentity) throws {
        let query = try KeychainQuery(request.query).checkedForChange(isUpdate: false)
        let count = try store.write(isDeletion: true) { writer in
            if query.itemClass == .identity { return try deleteIdentities(query, for: app, in: writer) }
            let rows = try rows(query, for: app, in: writer)
            for rowID in rows { try writer.delete(rowID: rowID) }
            return rows.count
        }
        if count == 0 { throw Status.itemNotFound }
    }

    /// Certificates first; a key only when no other certificate is of it (section 8 of the primary-key table).
    private func deleteIdentities(
        _ query: KeychainQuery, for app: AppIdentity, in writer: KeychainStore.KeychainWriter
    ) throws -> Int {
        let certificates = query.part(.certificate)
        let groups = try searchedGroups(certificates, of: app)
        var found: [(certificate: Int64, keys: KeychainQuery, key: Int64)] = []
        for row in try writer.rows(writer.rowIDs(filter(certificates, for: app))[...], withSecrets: false) {
            // Its public-key hash is inside.
            guard let rowID = row.rowID, case .open(let item) = try openMetadata(row),
                matches(item, certificates, groups), let keys = query.part(.key).keys(of: item),
                let key = try rows(keys, for: app, in: writer).first
            else { continue }
            found.append((rowID, keys, key))
        }
        for identity in found { try writer.delete(rowID: identity.certificate) }
        for identity in found {
            guard let hash = identity.keys.attributes[.applicationLabel] else { continue }
            let others = try KeychainQuery([
                .class: .string(ItemClass.certificate.rawValue), .publicKeyHash: hash,
                .synchronizable: .synchronizableAny,
            ])
            if try rows(others, for: app, in: writer).isEmpty { try writer.delete(rowID: identity.key) }
        }
        return found.count
    }

    /// The rows that a query finds, by their tags, and by what is inside only where it asks for what has none.
    private func rows(
        _ query: KeychainQuery, for app: AppIdentity, in writer: KeychainStore.KeychainWriter
    ) throws -> [Int64] {
        let filter = try filter(query, for: app)
        guard query.needsMetadata else { return try writer.rowIDs(filter) }
        let groups = try searchedGroups(query, of: app)
        var rows: [Int64] = []
        try writer.scan(filter) { row in
            // One that does not open is not known to match.
            guard case .open(let item) = try openMetadata(row), matches(item, query, groups) else { return true }
            if let rowID = row.rowID { rows.append(rowID) }
            return true
        }
        return rows.sorted()
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
