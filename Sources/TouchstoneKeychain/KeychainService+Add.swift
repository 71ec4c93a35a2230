import Foundation
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneTransport

extension KeychainService {
    func add(
        _ request: KeychainInterface.Add.Parameters, for app: AppIdentity, context: String?
    ) throws -> KeychainInterface.Item {
        let query = try withEnclaveKey(KeychainQuery(request.attributes).checkedForAdd(), for: app)
        let certificate = try request.certificate.map { try KeychainQuery($0).checkedForAdd() }
        if let certificate, query.itemClass != .key || certificate.itemClass != .certificate { throw Status.param }
        let addedCertificate = try certificate.map { try newItem($0, for: app, context: context) }
        let added = try newItem(query, for: app, context: context)
        let match = try store.write { writer in
            // Section 6 of the primary-key table: the certificate first, and one that is there already is as good.
            let certificate = try addedCertificate.map {
                try insert($0, for: app, context: context, in: writer, tolerates: true)
            }
            return Match(
                item: try insert(added, for: app, context: context, in: writer), certificate: certificate)
        }
        return match.result(for: query)
    }

    /// An item that is to be added.
    private struct NewItem {
        var query: KeychainQuery
        var attributes: [AttributeKey: AttributeValue]
        var control: AccessControl
        var identityTag: Data
        /// Its row, or the error that kept it from being made, and how often the device had been erased; nil while there is an item of the same primary key.
        var sealed: (row: Result<SealedRow, any Error>, erasures: Int)?
    }

    /// Reads what is to be added, and seals it: others write meanwhile.
    private func newItem(_ query: KeychainQuery, for app: AppIdentity, context: String?) throws -> NewItem {
        let itemClass = query.itemClass
        var attributes = query.attributes
        attributes[.accessGroup] = .string(try accessGroup(query.attributes, of: app).rawValue)
        attributes[.synchronizable] = .number(query.synchronizable == true ? 1 : 0)
        for attribute in itemClass.attributes where attributes[attribute.key] == nil {
            if let absent = attribute.absent { attributes[attribute.key] = absent }
        }
        let control =
            try query.accessControl
            ?? AccessControl(protection: query.accessibility ?? itemClass.defaultAccessibility, flags: [])
        let date = now().timeIntervalSinceReferenceDate
        attributes[.creationDate] = .date(date)
        attributes[.modificationDate] = .date(date)
        var item = NewItem(
            query: query, attributes: attributes, control: control,
            identityTag: ItemCipher.identityTag(attributes, in: itemClass, key: lookupKey))
        // To seal costs the enclave a call, or, where a key is there for it, less than to look.
        let kind = SpareKeys.Kind(attributes.accessGroup, itemClass, control)
        let isCheap = kind.map { spareKeys.has($0) } ?? false
        guard try isCheap || !store.contains(identityTag: item.identityTag) else { return item }
        let erasures = store.erasures
        item.sealed = (Result { try seal(item, for: app, context: context) }, erasures)
        return item
    }

    private func seal(_ item: NewItem, for app: AppIdentity, context: String?) throws -> SealedRow {
        try seal(
            item.attributes, control: item.control, data: item.query.data, itemClass: item.query.itemClass,
            identifier: nil, rowID: nil, identityTag: item.identityTag, for: app, context: context)
    }

    /// Makes the row; where one of the same primary key is there and it `tolerates` that, that one is the answer.
    private func insert(
        _ new: NewItem, for app: AppIdentity, context: String?, in writer: KeychainStore.KeychainWriter,
        tolerates: Bool = false
    ) throws -> OpenItem {
        let (query, control) = (new.query, new.control)
        if let existing = try writer.row(identityTag: new.identityTag) {
            // KC-31: a row that can never be opened again is replaced. KC-32: whether it can is decided without asking anybody.
            guard let loss = try loss(of: existing) else {
                guard tolerates, case .open(var item) = try openMetadata(existing) else { throw Status.duplicateItem }
                item.data = query.data
                // Only the owner can release what an access control guards, so the app gets back what it gave.
                if item.control.isConstrained {
                    item = OpenItem(
                        row: item.row, attributes: query.attributes, control: control, data: query.data, isGiven: true)
                }
                return item
            }
            try writer.clear(existing, loss, at: now())
        }
        let sealed = try row(new, for: app, context: context)
        try checkQuota(sealed.row, group: new.attributes.accessGroup, in: writer)
        let row = try save(sealed, new.attributes, control, in: writer)
        return OpenItem(row: row, attributes: new.attributes, control: control, data: query.data)
    }

    /// The row as it was sealed; sealed now if it was not, or the device was erased since.
    private func row(_ item: NewItem, for app: AppIdentity, context: String?) throws -> SealedRow {
        guard let sealed = item.sealed, sealed.erasures == store.erasures else {
            return try seal(item, for: app, context: context)
        }
        return try sealed.row.get()
    }
}
