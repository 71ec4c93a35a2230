internal import Foundation
internal import TouchstoneCertificates
internal import TouchstoneCore
internal import TouchstoneCoreFoundation
import TouchstoneInterfaces

/// A keychain dictionary on its way to the device, which is the one to judge it: here it only changes its shape.
struct ItemQuery {
    /// What `kSecValueRef` holds.
    private enum Reference {
        case item(any ItemReference)
        case identity(SecIdentity)
    }

    /// Everything but the authentication context, the reference and the issuers.
    private(set) var entries: KeychainInterface.Dictionary = [:]
    private(set) var context: (any AuthenticationContext)?
    /// The contents of the normalized names of `kSecMatchIssuers`.
    private(set) var issuers: [Data]?
    /// What `kSecMatchPolicy` holds.
    private var policy: SecPolicy?
    private var reference: Reference?
    /// Whether the call must fail rather than ask the owner (AC-41).
    private(set) var forbidsInteraction = false

    /// - Throws: `Status.param` for a key that is not text. A `RefusedKey` for a value of a type that no attribute has, a reference to
    ///   nothing that an item could be, or a context that is not an `LAContext`.
    init(_ dictionary: CFDictionary) throws {
        entries.reserveCapacity(dictionary.count)
        for (key, value) in dictionary {
            guard let name = key as? String else { throw Status.param }
            let key = AttributeKey(rawValue: name)
            do {
                try read(key, value as AnyObject)
            } catch {
                throw RefusedKey(error, key)
            }
        }
    }

    private mutating func read(_ key: AttributeKey, _ value: AnyObject) throws(Status) {
        switch (key, value) {
        case (.useAuthenticationContext, let context as any AuthenticationContext): self.context = context
        case (.valueRef, let identity as SecIdentity): reference = .identity(identity)
        case (.valueRef, let item as any ItemReference): reference = .item(item)
        case (.useAuthenticationContext, _), (.valueRef, _): throw .param
        case (.matchIssuers, let names as NSArray):
            issuers = try Self.issuers(names)
            entries[key] = .boolean(true)
        case (.matchPolicy, let policy as SecPolicy):
            self.policy = policy
            entries[key] = .boolean(true)
        // Without effect, as on iOS; that they are there is an error in all but a search.
        case (.matchItemList, _ as NSArray), (.matchSearchList, _ as NSArray): entries[key] = .boolean(true)
        case (.matchValidOnDate, _ as NSNull): entries[key] = .boolean(true)
        case (.matchValidOnDate, _ as NSNumber): throw .param
        default:
            guard let value = AttributeValue(value) else { throw .param }
            if Self.forbidsInteraction(key, value) {
                // Ours to obey: the device would answer at once, and not say what it needs, which may be had without asking (EV-40).
                forbidsInteraction = true
            } else {
                entries[key] = value
            }
        }
    }

    /// DER names, or contents of names as `kSecAttrIssuer` has them.
    private static func issuers(_ names: NSArray) throws(Status) -> [Data] {
        var issuers: [Data] = []
        for name in names {
            guard let name = name as? Data else { throw .param }
            issuers.append(DistinguishedName(der: name)?.normalizedContent ?? name)
        }
        return issuers
    }

    // MARK: references

    var hasReference: Bool { reference != nil }

    var isOfIdentity: Bool {
        if case .identity? = reference { true } else { false }
    }

    /// What to look for: a reference says the primary key of its item, and what the dictionary says itself wins.
    var searched: KeychainInterface.Dictionary {
        switch reference {
        case nil: return entries
        case .item(let item):
            return Self.primaryKey(item).merging(entries) { _, own in own }
        case .identity(let identity):
            var attributes = Self.primaryKey(identity.certificate)
            attributes[.applicationLabel] = identity.privateKey.itemAttributes[.applicationLabel]
            attributes.merge(entries) { _, own in own }
            attributes[.class] = .string(ItemClass.identity.rawValue)
            return attributes
        }
    }

    private static func primaryKey(_ item: any ItemReference) -> KeychainInterface.Dictionary {
        var attributes = item.itemAttributes.filter { key, _ in item.itemClass.attribute(key)?.isPrimaryKey == true }
        attributes.merge(item.tellingAttributes) { $1 }
        attributes[.class] = .string(item.itemClass.rawValue)
        return attributes
    }

    /// What is asked of the trust in certificates (TR-10), which the device does not judge; nil for nothing.
    ///
    /// - Throws: `.param` for a policy that is not a `SecPolicy`.
    func trustFilter() throws(Status) -> TrustFilter? {
        guard let itemClass, [.certificate, .identity].contains(itemClass) else { return nil }
        if entries[.matchPolicy] != nil, policy == nil { throw .param }
        let isTrustedOnly = asks(for: .matchTrustedOnly)
        return policy != nil || isTrustedOnly ? TrustFilter(policy: policy, isTrustedOnly: isTrustedOnly) : nil
    }

    /// The same search for all items with their certificates, without what `trustFilter` takes care of.
    var withoutTrustFilter: ItemQuery {
        var query = self
        query.policy = nil
        query.entries[.matchPolicy] = nil
        query.entries[.matchTrustedOnly] = nil
        query.entries[.matchLimit] = .matchLimitAll
        query.entries[.returnRef] = .boolean(true)
        return query
    }

    /// How many items are returned at most; nil for all.
    var limit: Int? {
        switch entries[.matchLimit] {
        case nil, .matchLimitOne: 1
        case .number(let number): Int(exactly: number)
        case .real(let number): Int(exactly: number)
        default: nil
        }
    }

    /// What to add, and for an identity the certificate to add with it.
    ///
    /// - Throws: `.param` for a reference whose bytes cannot be had, and for an identity with a value beside it.
    func added() throws(Status) -> (
        attributes: KeychainInterface.Dictionary, certificate: KeychainInterface.Dictionary?
    ) {
        switch reference {
        case .item(let item): return (try Self.added(item, entries), nil)
        case .identity(let identity):
            guard entries[.valueData] == nil else { throw .param }
            var ofKey = entries.filter { key, _ in
                ItemClass.certificate.attribute(key) == nil || ItemClass.key.attribute(key) != nil
            }
            ofKey[.class] = nil
            let ofCertificate = entries.filter { key, _ in
                key == .accessControl || ItemClass.certificate.attribute(key) != nil
            }
            return (
                try Self.added(identity.privateKey, ofKey), try Self.added(identity.certificate, ofCertificate)
            )
        case nil:
            // The attributes of a certificate follow from its bytes.
            guard entries[.class] == .string(ItemClass.certificate.rawValue),
                case .data(let data)? = entries[.valueData], let certificate = SecCertificate(itemData: data)
            else { return (entries, nil) }
            return (try Self.added(certificate, entries), nil)
        }
    }

    private static func added(
        _ item: any ItemReference, _ entries: KeychainInterface.Dictionary
    ) throws(Status) -> KeychainInterface.Dictionary {
        guard let data = item.itemData else { throw .param }
        var attributes = item.itemAttributes
        attributes[.label] = item.inferredLabel.map(AttributeValue.string)
        attributes[.class] = .string(item.itemClass.rawValue)
        attributes[.valueData] = .data(data)
        return attributes.merging(entries) { _, own in own }
    }

    // MARK: what the client reads

    private static func forbidsInteraction(_ key: AttributeKey, _ value: AttributeValue) -> Bool {
        (key, value) == (.useAuthenticationUI, .string(AuthenticationUI.fail.rawValue))
            || (key, value) == (.useNoAuthenticationUI, .boolean(true))
    }

    /// Whether one item is returned by itself; else an array is, even of one (section 5 of the primary-key table).
    var isLimitedToOne: Bool {
        switch entries[.matchLimit] {
        case nil, .matchLimitOne, .number(1), .real(1): true
        default: false
        }
    }

    /// How the owner is asked for this call, and for the use of a key that it finds (SE-05).
    var authentication: Authentication {
        var authentication = Authentication(context: context, forbidsInteraction: forbidsInteraction)
        if case .string(let reason)? = entries[.useOperationPrompt] { authentication.operationPrompt = reason }
        return authentication
    }

    /// What is looked for or added, as the device sees it; nil if the device refuses it.
    var itemClass: ItemClass? {
        switch (reference, entries[.class], entries[.valuePersistentRef]) {
        case (.identity, _, _): .identity
        case (_, .string(let name)?, _): ItemClass(rawValue: name)
        case (.item(let item), _, _): item.itemClass
        case (nil, nil, .data(let reference)?):
            ItemClass(rawValue: String(decoding: reference.prefix(4), as: UTF8.self))
        default: nil
        }
    }

    func asks(for key: AttributeKey) -> Bool { entries[key] == .boolean(true) }
}
