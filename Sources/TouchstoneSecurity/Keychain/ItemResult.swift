internal import Foundation
internal import TouchstoneCore
internal import TouchstoneCoreFoundation

/// The objects that a keychain call returns, by what its `kSecReturn…` keys asked for (section 5 of the primary-key table).
struct ItemResult {
    private let returnsData: Bool
    private let returnsAttributes: Bool
    private let returnsReference: Bool
    private let returnsPersistentReference: Bool
    private let itemClass: ItemClass?

    init(_ query: ItemQuery) {
        returnsData = query.asks(for: ItemQuery.Key.returnData)
        returnsAttributes = query.asks(for: ItemQuery.Key.returnAttributes)
        returnsReference = query.asks(for: ItemQuery.Key.returnReference)
        returnsPersistentReference = query.asks(for: ItemQuery.Key.returnPersistentReference)
        itemClass = query.itemClass
    }

    private var asked: Int {
        [returnsData, returnsAttributes, returnsReference, returnsPersistentReference].count { $0 }
    }

    var isAskedFor: Bool { asked > 0 }

    /// One item; nil where it has nothing of what was asked for.
    ///
    /// A password has no reference, and bytes that are no key or no certificate have none.
    func object(_ item: KeychainInterface.Item) -> AnyObject? {
        if asked > 1 { return dictionary(item) }
        if returnsData { return item.data as NSData? }
        if returnsAttributes { return dictionary(item) }
        if returnsPersistentReference { return item.persistentReference as NSData? }
        return returnsReference ? reference(item) : nil
    }

    /// An item just added: data alone is empty where there is none (section 6).
    func addedObject(_ item: KeychainInterface.Item) -> AnyObject? {
        if asked == 1, returnsData { return (item.data ?? Data()) as NSData }
        return object(item)
    }

    private func reference(_ item: KeychainInterface.Item) -> AnyObject? {
        guard let data = item.data else { return nil }
        switch itemClass {
        case .certificate: return SecCertificate(itemData: data)
        case .key: return SecKey(itemAttributes: item.attributes ?? [:], itemData: data)
        case .identity:
            guard let certificate = item.certificate.flatMap(SecCertificate.init(itemData:)),
                let key = SecKey(itemAttributes: item.attributes ?? [:], itemData: data)
            else { return nil }
            return SecIdentity(certificate: certificate, privateKey: key)
        case .genericPassword, .internetPassword, nil: return nil
        }
    }

    private func dictionary(_ item: KeychainInterface.Item) -> NSDictionary {
        let result = NSMutableDictionary()
        if returnsAttributes || returnsReference {
            for (key, value) in item.attributes ?? [:] where key != ItemQuery.Key.data {
                result[key as NSString] = value.object
            }
        }
        if returnsReference, let itemClass {
            result[ItemQuery.Key.itemClass as NSString] = itemClass.rawValue as NSString
        }
        if returnsReference, let reference = reference(item) {
            result[ItemQuery.Key.reference as NSString] = reference
        }
        if returnsData, let data = item.data {
            result[ItemQuery.Key.data as NSString] = data as NSData
        }
        if returnsPersistentReference, let reference = item.persistentReference {
            result[ItemQuery.Key.persistentReference as NSString] = reference as NSData
        }
        return result
    }
}
