import Foundation
import TouchstoneCore
import TouchstoneTransport

extension KeychainService {
    func add(_ request: KeychainInterface.Add.Parameters, for app: AppIdentity) throws -> KeychainInterface.Item {
        let query = try KeychainQuery(request.attributes).checkedForAdd()
        let itemClass = query.itemClass
        var attributes = query.attributes
        attributes["agrp"] = .string(try accessGroup(query.attributes, of: app))
        attributes["sync"] = .number(query.synchronizable == true ? 1 : 0)
        for attribute in itemClass.attributes where attributes[attribute.key] == nil {
            if let absent = attribute.absent { attributes[attribute.key] = absent }
        }
        let control =
            try query.accessControl
            ?? AccessControl(protection: query.accessibility ?? itemClass.defaultAccessibility, flags: [])
        let date = now().timeIntervalSinceReferenceDate
        attributes["cdat"] = .date(date)
        attributes["mdat"] = .date(date)
        let identityTag = ItemCipher.identityTag(attributes, in: itemClass, key: lookupKey)
        let row = try store.write { writer in
            if let existing = try writer.row(identityTag: identityTag), let rowID = existing.rowID {
                // KC-31: a row that can never be opened again is replaced. KC-32: whether it can is decided without asking anybody.
                guard try isGone(existing, accessGroup: attributes.accessGroup) else { throw Status.duplicateItem }
                try writer.delete(rowID: rowID)
            }
            let row = try seal(
                attributes, control: control, data: query.data, itemClass: itemClass, identifier: .random(), rowID: nil)
            try writer.save(row)
            return row
        }
        let item = OpenItem(row: row, attributes: attributes, control: control, data: query.data)
        return item.result(for: query)
    }
}
