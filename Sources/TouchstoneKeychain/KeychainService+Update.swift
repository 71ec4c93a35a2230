import Foundation
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneTransport

extension KeychainService {
    func update(_ request: KeychainInterface.Update.Parameters, for app: AppIdentity, context: String?) throws {
        var query = try KeychainQuery(request.query).checkedForChange(isUpdate: true)
        let changes = try Changes(request.attributes, of: query, groups: accessGroups(of: app))
        // A password that gets a new value is not opened. Of an enclave's key the value has to be the same.
        query.returnsData = changes.data == nil || query.itemClass == .key || query.itemClass == .identity
        let date = now().timeIntervalSinceReferenceDate
        // Found and written in one transaction: what another call does to the same rows comes before or after.
        try store.write { [query] writer in
            let search = try Search(query, of: self, for: app, context: context, in: writer)
            if search.canLookOnce, case .match(let match) = try search.only() {
                guard let match else { throw Status.itemNotFound }
                return try replace(match.item, changes, date, for: app, context: context, in: writer)
            }
            try search.decide()
            var isEmpty = true
            // A key of two certificates is found with each of them, and changed once.
            var changed: Set<ItemIdentifier> = []
            while !search.isDelivered {
                for item in try search.next().flatMap(\.items) where changed.insert(item.row.identifier).inserted {
                    try replace(item, changes, date, for: app, context: context, in: writer)
                    isEmpty = false
                }
            }
            if isEmpty { throw Status.itemNotFound }
        }
    }

    private func replace(
        _ item: OpenItem, _ changes: Changes, _ date: Double, for app: AppIdentity, context: String?,
        in writer: KeychainStore.KeychainWriter
    ) throws {
        let (attributes, control, data) = try changes.applied(to: item, now: date)
        if EnclaveKeyAttributes.isKey(item.attributes) {
            // SE-02, SE-14: a key is as it was made.
            let isSame = attributes.allSatisfy {
                !EnclaveKeyAttributes.isFixed($0.key) || item.attributes[$0.key] == $0.value
            }
            guard isSame, control == item.control, data == item.data else { throw Status.param }
        } else if item.row.itemClass == .key, attributes[.tokenID] == .secureEnclave,
            item.attributes[.tokenID] != attributes[.tokenID]
        {
            throw Status.param
        }
        let keepsTags = keepsTags(attributes, control, item)
        let sealed = try seal(
            attributes, control: control, data: data, itemClass: item.row.itemClass, identifier: item.row.identifier,
            rowID: item.row.rowID, identityTag: keepsTags ? item.row.identityTag : nil, hasTags: !keepsTags, for: app,
            context: context)
        let row = sealed.row
        if row.identityTag != item.row.identityTag, let other = try writer.row(identityTag: row.identityTag) {
            guard let loss = try loss(of: other) else { throw Status.duplicateItem }
            try writer.clear(other, loss, at: now())
        }
        try checkQuota(row, group: attributes.accessGroup, replacing: item, in: writer)
        _ = try save(sealed, attributes, control, in: writer, keepsTags: keepsTags)
    }

    /// Whether the row that is written over the item has the same tags, of which its identity is one: they are of what is compared.
    ///
    /// An item with an access control is recorded as it comes and goes, so that its row is written as a whole.
    private func keepsTags(
        _ attributes: [AttributeKey: AttributeValue], _ control: AccessControl, _ item: OpenItem
    ) -> Bool {
        !control.isConstrained && !item.control.isConstrained && control.protection == item.row.accessibility
            && item.row.itemClass.attributes.allSatisfy { attribute in
                let (new, old) = (attributes[attribute.key], item.attributes[attribute.key])
                return !attribute.hasTag || new == old || new.map(attribute.comparable) == old.map(attribute.comparable)
            }
    }
}
