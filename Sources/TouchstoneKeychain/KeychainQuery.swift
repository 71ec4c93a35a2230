import Foundation
import TouchstoneCore
import TouchstoneInterfaces

/// A keychain dictionary, read and checked: what `SecItem…` was asked to do (section 4 of the primary-key table).
struct KeychainQuery: Sendable {
    enum Limits {
        static let entries = 128
        static let issuers = 128
        /// Largest attributes of a dictionary, together, in bytes.
        static let attributeBytes = 1 << 20
    }

    private(set) var itemClass: ItemClass
    /// Kept values, by attribute; without access control and accessibility.
    var attributes: [AttributeKey: AttributeValue] = [:]
    var accessibility: Accessibility?
    var accessControl: AccessControl?
    /// The sync attribute to look for; nil: any.
    var synchronizable: Bool? = false
    var saysSynchronizable = false
    var data: Data?
    /// nil: all.
    var limit: Int?
    var saysLimit = false
    var hasMatchKeys = false
    /// Whether it has a match key that its class, or this system, does not have.
    private var isUnimplemented = false
    var certificates = CertificateCriteria()
    /// Lower case.
    var hostOrParent: String?
    var returnsData = false
    var returnsAttributes = false
    var returnsPersistentReference = false
    var returnsReference = false
    var persistentReference: ItemIdentifier?
    var authenticationUI = AuthenticationUI.allow

    var returnsAnything: Bool { returnsData || returnsAttributes || returnsPersistentReference || returnsReference }

    /// Whether the secret is wanted: a reference is made of it, and a password has none.
    var opensSecret: Bool { returnsData || (returnsReference && itemClass.hasReference) }

    /// `issuers` are the names of `kSecMatchIssuers`.
    ///
    /// - Throws: `Status.param`, `.noSuchAttr`, `.noSuchClass` or `.unimplemented` where Apple's keychain does (KC-34); a `RefusedKey`
    ///   with it where one key is in the way.
    init(_ dictionary: KeychainInterface.Dictionary, issuers: [Data]? = nil) throws {
        guard dictionary.count <= Limits.entries else { throw Status.param }
        let attributeBytes = dictionary.reduce(0) { $0 + ($1.key == .valueData ? 0 : $1.value.byteCount) }
        guard attributeBytes <= Limits.attributeBytes else { throw Status.param }
        itemClass = try Self.itemClass(dictionary)
        for (key, value) in dictionary where key != .class {
            do {
                try read(key, value)
            } catch {
                throw RefusedKey(error, key)
            }
        }
        if dictionary[.matchIssuers] != nil, itemClass.hasCertificate {
            guard let issuers, issuers.count <= Limits.issuers else { throw RefusedKey(.param, .matchIssuers) }
            certificates.issuers = Set(issuers)
        }
        if let accessControl, let accessibility, accessControl.protection != accessibility {
            throw RefusedKey(.param, .accessible)
        }
        if persistentReference != nil, !attributes.isEmpty || accessibility != nil || saysSynchronizable {
            throw RefusedKey(.param, .valuePersistentRef)
        }
    }

    private mutating func read(_ key: AttributeKey, _ value: AttributeValue) throws(Status) {
        if key.rawValue.utf8.count == 4 { return try readAttribute(key, value) }
        switch key.rawValue.utf8.first {
        case UInt8(ascii: "m"): try readMatch(key, value)
        case UInt8(ascii: "r"): try readReturn(key, value)
        case UInt8(ascii: "u"): try readUse(key, value)
        case UInt8(ascii: "v"): try readValue(key, value)
        case UInt8(ascii: "f"): break
        default: throw .param
        }
    }

    /// What the class key says, and the persistent reference: they must agree.
    private static func itemClass(_ dictionary: KeychainInterface.Dictionary) throws(RefusedKey) -> ItemClass {
        var named: ItemClass?
        if let value = dictionary[.class] {
            guard case .string(let name) = value else { throw RefusedKey(.param, .class) }
            guard let itemClass = ItemClass(rawValue: name) else { throw RefusedKey(.noSuchClass, .class) }
            named = itemClass
        }
        guard case .data(let reference)? = dictionary[.valuePersistentRef] else {
            guard let named else { throw RefusedKey(.param, .class) }
            return named
        }
        guard let referenced = ItemIdentifier.itemClass(ofPersistentReference: reference) else {
            throw RefusedKey(.param, .valuePersistentRef)
        }
        guard named == nil || named == referenced else { throw RefusedKey(.noSuchClass, .class) }
        return referenced
    }

    private mutating func readAttribute(_ key: AttributeKey, _ value: AttributeValue) throws(Status) {
        switch (key, value) {
        case (.useDataProtectionKeychain, _): break
        case (.accessControl, .accessControl(let control)): accessControl = control
        case (.accessControl, _): throw .param
        case (.synchronizable, .synchronizableAny):
            synchronizable = nil
            saysSynchronizable = true
        default:
            guard let attribute = itemClass.attribute(key) else { throw .noSuchAttr }
            let kept = try attribute.kept(value)
            switch (key, kept) {
            case (.synchronizable, .number(let number)):
                synchronizable = number != 0
                saysSynchronizable = true
            case (.synchronizable, _): throw .param
            case (.accessible, .string(let code)): accessibility = Accessibility(rawValue: code)
            default: attributes[key] = kept
            }
        }
    }

    private mutating func readMatch(_ key: AttributeKey, _ value: AttributeValue) throws(Status) {
        if key != .matchLimit { hasMatchKeys = true }
        switch (key, value) {
        case (.matchLimit, .matchLimitOne):
            limit = 1
            saysLimit = true
        case (.matchLimit, .matchLimitAll):
            limit = nil
            saysLimit = true
        case (.matchLimit, .number(let number)) where number >= 0:
            limit = Int(number)
            saysLimit = true
        case (.matchLimit, .real(let number)):
            guard let count = Int(exactly: number), count >= 0 else { throw .param }
            limit = count
            saysLimit = true
        case (.matchLimit, _): throw .param
        case (.matchPolicy, _): isUnimplemented = true
        case (.matchIssuers, let value):
            guard itemClass.hasCertificate else { return isUnimplemented = true }
            // The names are beside the dictionary.
            guard case .boolean = value else { throw .param }
        case (.matchHostOrSubdomainOfHost, let value):
            guard itemClass == .internetPassword else { return isUnimplemented = true }
            guard case .string(let host) = value else { throw .param }
            hostOrParent = host.lowercased()
        case (.matchEmailAddressIfPresent, .string(let address)): certificates.emailAddress = address
        case (.matchValidOnDate, .date(let date)): certificates.validity = .on(date)
        case (.matchValidOnDate, .boolean(true)): certificates.validity = .now
        case (.matchTrustedOnly, .boolean(let isWanted)):
            // The app judges trust, and asks without this key (TR-10). Better no answer than one that says trusted.
            if isWanted, itemClass.hasCertificate { isUnimplemented = true }
        case (.matchEmailAddressIfPresent, _), (.matchValidOnDate, _), (.matchTrustedOnly, _): throw .param
        case (.matchCaseInsensitive, .boolean(let wanted)): certificates.set(.caseInsensitive, wanted)
        case (.matchDiacriticInsensitive, .boolean(let wanted)): certificates.set(.diacriticInsensitive, wanted)
        case (.matchWidthInsensitive, .boolean(let wanted)): certificates.set(.widthInsensitive, wanted)
        case (.matchSubjectContains, .string(let text)): certificates.subject[.contains] = text
        case (.matchSubjectStartsWith, .string(let text)): certificates.subject[.startsWith] = text
        case (.matchSubjectEndsWith, .string(let text)): certificates.subject[.endsWith] = text
        case (.matchSubjectWholeString, .string(let text)): certificates.subject[.wholeString] = text
        case (.matchSubjectContains, _), (.matchSubjectStartsWith, _), (.matchSubjectEndsWith, _),
            (.matchSubjectWholeString, _):
            throw .param
        // kSecMatchItemList and kSecMatchSearchList among them: accepted and without effect, as on iOS.
        default: break
        }
    }

    private mutating func readReturn(_ key: AttributeKey, _ value: AttributeValue) throws(Status) {
        guard case .boolean(let wanted) = value else { throw .param }
        switch key {
        case .returnData: returnsData = wanted
        case .returnAttributes: returnsAttributes = wanted
        case .returnPersistentRef: returnsPersistentReference = wanted
        case .returnRef: returnsReference = wanted
        default: throw .param
        }
    }

    private mutating func readUse(_ key: AttributeKey, _ value: AttributeValue) throws(Status) {
        switch (key, value) {
        case (.useAuthenticationUI, .string(let name)):
            guard let ui = AuthenticationUI(rawValue: name) else { throw .param }
            authenticationUI = ui
        case (.useNoAuthenticationUI, .boolean(let isForbidden)): if isForbidden { authenticationUI = .fail }
        case (.useOperationPrompt, .string), (.useUserIndependentKeychain, .boolean): break
        default: throw .param
        }
    }

    private mutating func readValue(_ key: AttributeKey, _ value: AttributeValue) throws(Status) {
        switch (key, value) {
        case (.valueData, .data(let data)):
            guard data.count <= itemClass.maximumDataBytes else { throw .dataTooLarge }
            self.data = data
        case (.valuePersistentRef, .data(let reference)):
            guard let identifier = ItemIdentifier(persistentReference: reference) else { throw .itemNotFound }
            persistentReference = identifier
        default: throw .param
        }
    }

    // MARK: identities

    /// What a search for identities asks of the certificate, or of the key.
    ///
    /// An attribute that both have is the certificate's (section 4 of the table), but the protection class is the key's.
    func part(_ itemClass: ItemClass) -> KeychainQuery {
        var part = self
        part.itemClass = itemClass
        let isOfCertificate = itemClass == .certificate
        part.attributes = attributes.filter { (ItemClass.certificate.attribute($0.key) != nil) == isOfCertificate }
        if isOfCertificate {
            part.accessibility = nil
        } else if persistentReference != nil {
            part.persistentReference = nil
            part.synchronizable = nil
        }
        return part
    }

    // MARK: what each call allows

    /// - Throws: `.param` for what an add cannot have (section 6 of the table). Match keys are refused, where Apple's server
    ///   reports success and adds nothing.
    func checkedForAdd() throws(Status) -> KeychainQuery {
        // An identity is added as a key with its certificate.
        guard itemClass != .identity, persistentReference == nil, !hasMatchKeys, !saysLimit, authenticationUI != .skip,
            synchronizable != nil
        else { throw .param }
        // KC-27
        if synchronizable == true, accessControl?.isConstrained == true { throw .param }
        return self
    }

    /// One match by default (KC-33).
    ///
    /// - Throws: `.unimplemented` where Apple's keychain does (section 5 of the table).
    func checkedForSearch() throws(Status) -> KeychainQuery {
        if isUnimplemented { throw .unimplemented }
        var query = self
        if !saysLimit { query.limit = 1 }
        return query
    }

    /// A deletion may say that it is of all, which it is anyway.
    ///
    /// - Throws: `.param` for match keys (section 7 and 8 of the table) and Skip (KC-36).
    func checkedForChange(isUpdate: Bool) throws(Status) -> KeychainQuery {
        if hasMatchKeys || authenticationUI == .skip { throw .param }
        if saysLimit, isUpdate || limit != nil { throw .param }
        if isUpdate, returnsAnything { throw .param }
        return self
    }
}

extension ItemClass {
    fileprivate var hasCertificate: Bool { self == .certificate || self == .identity }
    fileprivate var hasReference: Bool { hasCertificate || self == .key }

    /// Largest secret of an item.
    ///
    /// Of certificates many are read at a time, and two values make an identity: theirs stay small.
    fileprivate var maximumDataBytes: Int {
        switch self {
        case .genericPassword, .internetPassword: 16 << 20
        case .certificate, .key, .identity: 700 << 10
        }
    }
}

extension AttributeValue {
    fileprivate var byteCount: Int {
        switch self {
        case .string(let string): string.utf8.count
        case .data(let data): data.count
        case .number, .real, .boolean, .date, .accessControl: 8
        }
    }
}

/// Sixteen random bytes that name a row for as long as it lives, whatever is updated in it.
struct ItemIdentifier: Hashable, Sendable {
    static let length = 16
    let bytes: Data

    init(bytes: Data) { self.bytes = bytes }

    static func random() -> ItemIdentifier {
        // In two pieces of eight bytes: each piece is a system call.
        var generator = SystemRandomNumberGenerator()
        var bytes = Data(capacity: length)
        for piece in [generator.next(), generator.next()] {
            for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: piece >> shift)) }
        }
        return ItemIdentifier(bytes: bytes)
    }

    /// 20 bytes: class (4 ASCII characters), then the identifier.
    func persistentReference(_ itemClass: ItemClass) -> Data {
        Data(itemClass.rawValue.utf8) + bytes
    }

    /// nil for one that names no item of ours: Apple's older ones have a number of eight bytes.
    init?(persistentReference: Data) {
        guard persistentReference.count == 4 + Self.length else { return nil }
        bytes = Data(persistentReference.dropFirst(4))
    }

    /// The class of a persistent reference; nil if the bytes are not one.
    static func itemClass(ofPersistentReference reference: Data) -> ItemClass? {
        guard [4 + length, 4 + MemoryLayout<Int64>.size].contains(reference.count) else { return nil }
        return ItemClass(rawValue: String(decoding: reference.prefix(4), as: UTF8.self))
    }
}
