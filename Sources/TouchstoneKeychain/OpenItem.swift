import Foundation
import TouchstoneCore

/// A row whose attributes are read, and whose secret may be.
struct OpenItem {
    var row: ItemRow
    /// Without the access control.
    var attributes: [String: AttributeValue]
    var control: AccessControl
    var data: Data?

    /// What the return keys ask for (section 5 of the primary-key table).
    func result(for query: KeychainQuery) -> KeychainInterface.Item {
        var item = KeychainInterface.Item()
        if query.returnsAttributes || query.returnsReference {
            var all = attributes
            all["pdmn"] = .string(control.protection.rawValue)
            all["accc"] = .accessControl(control)
            item.attributes = all
        }
        if query.returnsData { item.data = data }
        if query.returnsPersistentReference {
            item.persistentReference = row.identifier.persistentReference(row.itemClass)
        }
        return item
    }
}
