import Foundation
import TouchstoneCore
import TouchstoneInterfaces

/// A row whose attributes are read, and whose secret may be.
struct OpenItem {
    var row: ItemRow
    /// Without the access control.
    var attributes: [AttributeKey: AttributeValue]
    var control: AccessControl
    var data: Data?
    /// What an app gave of an item that is there already and guarded: no name of it is known to the app.
    var isGiven = false
}

/// What a search found: an item, or the key of an identity beside its certificate.
struct Match {
    var item: OpenItem
    var certificate: OpenItem?

    var items: [OpenItem] { [item] + (certificate.map { [$0] } ?? []) }

    /// What the return keys ask for (section 5 of the primary-key table).
    func result(for query: KeychainQuery) -> KeychainInterface.Item {
        var result = KeychainInterface.Item()
        if query.returnsAttributes || query.returnsReference {
            // Of an identity the key says who protects it, and the certificate all else that both have.
            var all = item.attributes
            if let certificate { all.merge(certificate.attributes) { _, certificate in certificate } }
            all[.accessible] = .string(item.control.protection.rawValue)
            let key = EnclaveKeyAttributes.take(from: &all)
            all[.accessControl] = .accessControl(key?.control ?? item.control)
            result.attributes = all
            if query.returnsReference { result.publicKey = key?.publicKey }
        }
        // SE-02: what an enclave's key keeps is for a reference alone.
        if query.opensSecret, query.returnsReference || !EnclaveKeyAttributes.isKey(item.attributes) {
            result.data = item.data
        }
        if query.returnsReference { result.certificate = certificate?.data }
        let named = certificate ?? item
        if query.returnsPersistentReference, !named.isGiven {
            let itemClass = certificate == nil ? item.row.itemClass : .identity
            result.persistentReference = named.row.identifier.persistentReference(itemClass)
        }
        return result
    }
}
