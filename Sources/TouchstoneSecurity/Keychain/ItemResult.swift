internal import Foundation
internal import TouchstoneCore
internal import TouchstoneCoreFoundation
import TouchstoneInterfaces

/// The objects that a keychain call returns, by what its `kSecReturn…` keys asked for (section 5 of the primary-key table).
struct ItemResult {
    private let returnsData: Bool
    private let returnsAttributes: Bool
    private let returnsReference: Bool
    private let returnsPersistentReference: Bool
    private let itemClass: ItemClass?
    private let authentication: Authentication

    init(_ query: ItemQuery) {
        returnsData = query.asks(for: .returnData)
        returnsAttributes = query.asks(for: .returnAttributes)
        returnsReference = query.asks(for: .returnRef)
        returnsPersistentReference = query.asks(for: .returnPersistentRef)
        itemClass = query.itemClass
        authentication = query.authentication
    }

    private var asked: Int {
        [returnsData, returnsAttributes, returnsReference, returnsPersistentReference].count { $0 }
    }

    var isAskedFor: Bool { asked > 0 }

    /// Whether a persistent reference is asked for, and nothing else.
    var isPersistentReferenceAlone: Bool { asked == 1 && returnsPersistentReference }

    /// One item; nil if it has nothing of what was asked for.
    ///
    /// A password has no reference, and bytes that are no key or no certificate have none.
    func object(_ item: KeychainInterface.Item) -> AnyObject? {
        if asked > 1 { return dictionary(item) }
        if returnsData { return data(item) as NSData? }
        if returnsAttributes { return dictionary(item) }
        if returnsPersistentReference { return item.persistentReference as NSData? }
        return returnsReference ? reference(item) : nil
    }

    /// An item just added: data alone is empty if there is none (section 6).
    func addedObject(_ item: KeychainInterface.Item) -> AnyObject? {
        if asked == 1, returnsData { return (data(item) ?? Data()) as NSData }
        return object(item)
    }

    /// The data of an item; a key of the enclave has none (SE-02).
    private func data(_ item: KeychainInterface.Item) -> Data? { item.publicKey == nil ? item.data : nil }

    private func reference(_ item: KeychainInterface.Item) -> AnyObject? {
        guard let data = item.data else { return nil }
        switch itemClass {
        case .certificate: return SecCertificate(itemData: data)
        case .key: return key(item, data)
        case .identity:
            guard let certificate = item.certificate.flatMap(SecCertificate.init(itemData:)),
                let key = key(item, data)
            else { return nil }
            return SecIdentity(certificate: certificate, privateKey: key)
        case .genericPassword, .internetPassword, nil: return nil
        }
    }

    private func key(_ item: KeychainInterface.Item, _ data: Data) -> SecKey? {
        let attributes = item.attributes ?? [:]
        guard let publicKey = item.publicKey else { return SecKey(itemAttributes: attributes, itemData: data) }
        return EnclaveKey(
            key: data, publicKey: publicKey, attributes: attributes, isPermanent: true, authentication: authentication
        ).map(SecKey.init)
    }

    private func dictionary(_ item: KeychainInterface.Item) -> NSDictionary {
        let result = NSMutableDictionary()
        if returnsAttributes || returnsReference {
            for (key, value) in item.attributes ?? [:] where key != .valueData {
                result[key.rawValue as NSString] = value.object
            }
        }
        if returnsReference, let itemClass {
            result[kSecClass] = itemClass.rawValue as NSString
        }
        if returnsReference, let reference = reference(item) {
            result[kSecValueRef] = reference
        }
        if returnsData, let data = data(item) {
            result[kSecValueData] = data as NSData
        }
        if returnsPersistentReference, let reference = item.persistentReference {
            result[kSecValuePersistentRef] = reference as NSData
        }
        return result
    }
}
