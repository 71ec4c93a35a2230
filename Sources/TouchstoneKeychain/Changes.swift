import Foundation
import TouchstoneCore
import TouchstoneInterfaces

/// The second dictionary of an update, read and checked (section 7 of the primary-key table).
struct Changes {
    private let attributes: [AttributeKey: AttributeValue]
    private let accessibility: Accessibility?
    private let accessControl: AccessControl?
    private let synchronizable: Bool?
    /// nil: it stays.
    let data: Data?

    /// - Throws: `Status.param` or `.noSuchAttr`, or a `RefusedKey` with it; `.missingEntitlement` for a group that is not the app's (KC-42).
    init(_ dictionary: KeychainInterface.Dictionary, of query: KeychainQuery, groups: [AccessGroup]) throws {
        for key in dictionary.keys where key.rawValue.utf8.count != 4 && key != .valueData {
            throw RefusedKey(.noSuchAttr, key)
        }
        var dictionary = dictionary
        dictionary[.class] = .string(query.itemClass.rawValue)
        let changes = try KeychainQuery(dictionary)
        guard !changes.saysSynchronizable || changes.synchronizable != nil else {
            throw RefusedKey(.param, .synchronizable)
        }
        if case .string(let group)? = changes.attributes[.accessGroup], !groups.contains(AccessGroup(group)) {
            throw Status.missingEntitlement
        }
        // An identity has two values.
        if query.itemClass == .identity, changes.data != nil { throw RefusedKey(.param, .valueData) }
        attributes = changes.attributes
        accessibility = changes.accessibility
        accessControl = changes.accessControl
        synchronizable = changes.saysSynchronizable ? changes.synchronizable : nil
        data = changes.data
    }

    func applied(to item: OpenItem, now: Double) throws(Status) -> (
        [AttributeKey: AttributeValue], AccessControl, Data?
    ) {
        var changed = item.attributes
        // Of an identity each half takes what it has.
        for (key, value) in attributes where item.row.itemClass.attribute(key) != nil { changed[key] = value }
        if let synchronizable { changed[.synchronizable] = .number(synchronizable ? 1 : 0) }
        if case .date(let old)? = item.attributes[.modificationDate] {
            changed[.modificationDate] = .date(max(now, old + 0.001))
        }
        changed[.creationDate] = item.attributes[.creationDate]
        var control = accessControl ?? item.control
        if let accessibility { control.protection = accessibility }
        // KC-27
        if changed[.synchronizable] == .number(1), control.isConstrained { throw .param }
        return (changed, control, data ?? item.data)
    }
}
