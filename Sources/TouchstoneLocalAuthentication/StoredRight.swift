internal import Foundation
internal import TouchstoneCore
internal import TouchstoneCoreFoundation
internal import TouchstoneSecurity
internal import TouchstoneTransport

/// A right as the keychain has it: a key of the enclave under what the right wants, and a record that names it.
///
/// The record's data is the secret, encrypted to the key: what opens it is the key, and so the owner. Both are of the access group that is
/// the app's alone. A key that is not the record's, by the hash of the public key, is of a right that was saved before under the same
/// identifier.
struct StoredRight: Sendable {
    /// Gone with the passcode, and never on another device.
    static let protection = Accessibility.whenPasscodeSetThisDeviceOnly

    let identifier: String
    let authorization: RightAuthorization
    /// Names the key; without the right's context it is of use to nobody.
    let privateKey: SecKey
    let publicKey: SecKey
    private let rows: Rows
    /// The hash of the public key.
    private let label: Data

    /// Where the rows of one app are, and of what name.
    private struct Rows: Sendable {
        /// The service of the records, and the label of the keys.
        static let name = "io.touchstone.right"
        let accessGroup: String

        init(on endpoint: any VarlinkEndpoint) throws {
            do {
                let reply = try endpoint.call(AuthenticationInterface.GetIdentity.self, Empty(), isRepeatable: true)
                accessGroup = reply.app
            } catch {
                throw StoredRight.failure(Status(failure: error).rawValue)
            }
        }

        func record(_ identifier: String? = nil) -> [CFString: Any] {
            var query: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: Self.name, kSecAttrAccessGroup: accessGroup,
            ]
            if let identifier { query[kSecAttrAccount] = identifier }
            return query
        }

        func key(_ identifier: String? = nil) -> [CFString: Any] {
            var query: [CFString: Any] = [
                kSecClass: kSecClassKey, kSecAttrLabel: Self.name, kSecAttrAccessGroup: accessGroup,
            ]
            if let identifier { query[kSecAttrApplicationTag] = Self.tag(identifier) }
            return query
        }

        static func tag(_ identifier: String) -> Data { Data("\(name) \(identifier)".utf8) }
    }

    // MARK: - Finding

    /// Finds a right without asking anybody.
    ///
    /// - Throws: An `NSError` with `errSecItemNotFound` where there is none, or none any more (AC-51).
    init(_ identifier: String, on endpoint: any VarlinkEndpoint) throws {
        let rows = try Rows(on: endpoint)
        var query = rows.record(identifier)
        query[kSecReturnAttributes] = true
        let record = try Self.copy(query) as? [String: Any]
        guard let label = record?[kSecAttrGeneric as String] as? Data else { throw Self.failure(errSecItemNotFound) }
        try self.init(identifier, rows, label, on: endpoint)
    }

    private init(_ identifier: String, _ rows: Rows, _ label: Data, on endpoint: any VarlinkEndpoint) throws {
        self.identifier = identifier
        self.rows = rows
        self.label = label
        var query = rows.key(identifier)
        query[kSecAttrApplicationLabel] = label
        query[kSecReturnRef] = true
        query[kSecReturnAttributes] = true
        let found = try Self.copy(query) as? [String: Any]
        guard let key = found?[kSecValueRef as String] as? SecKey, let publicKey = SecKeyCopyPublicKey(key),
            let control = found?[kSecAttrAccessControl as String] as? SecAccessControl
        else { throw Self.failure(errSecItemNotFound) }
        privateKey = key
        self.publicKey = publicKey
        authorization = RightAuthorization(control.value.flags.subtracting(.privateKeyUsage), on: endpoint)
    }

    // MARK: - Saving

    /// Saves a right; one that is there under the same identifier is replaced.
    static func save(
        _ flags: AccessControl.Flags, _ identifier: String, _ secret: Data?, on endpoint: any VarlinkEndpoint
    ) throws -> StoredRight {
        let rows = try Rows(on: endpoint)
        let (label, publicKey) = try makeKey(rows, identifier, flags)
        do {
            var record = rows.record(identifier)
            record[kSecAttrGeneric] = label
            record[kSecAttrAccessible] = kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly
            record[kSecValueData] = try secret.map { secret in
                try unsafe unwrapping { unsafe SecKeyCreateEncryptedData(publicKey, encryption, secret as NSData, &$0) }
                    as Data
            }
            try add(record, inPlaceOf: rows.record(identifier))
        } catch {
            var key = rows.key(identifier)
            key[kSecAttrApplicationLabel] = label
            SecItemDelete(key as CFDictionary)
            throw error
        }
        try deleteKeys(rows.key(identifier), except: label)
        return try StoredRight(identifier, rows, label, on: endpoint)
    }

    /// - Returns: The hash of the public key, and that key.
    private static func makeKey(
        _ rows: Rows, _ identifier: String, _ flags: AccessControl.Flags
    ) throws -> (label: Data, publicKey: SecKey) {
        let control = try AccessControl(protection: protection, flags: flags.union(.privateKeyUsage))
        let privateAttributes: [CFString: Any] = [
            kSecAttrIsPermanent: true, kSecAttrApplicationTag: Rows.tag(identifier), kSecAttrLabel: Rows.name,
            kSecAttrAccessGroup: rows.accessGroup, kSecAttrAccessControl: SecAccessControl(control),
        ]
        let attributes: [CFString: Any] = [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
            kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, kSecPrivateKeyAttrs: privateAttributes as NSDictionary,
        ]
        let key = try unsafe unwrapping { unsafe SecKeyCreateRandomKey(attributes as CFDictionary, &$0) }
        guard let label = (SecKeyCopyAttributes(key) as? [String: Any])?[kSecAttrApplicationLabel as String] as? Data,
            let publicKey = SecKeyCopyPublicKey(key)
        else { throw failure(errSecInternalError) }
        return (label, publicKey)
    }

    private static func add(_ record: [CFString: Any], inPlaceOf old: [CFString: Any]) throws {
        // Another process may save the same right at the same time: the later one stays.
        for _ in 0..<maximumTries {
            let status = SecItemAdd(record as CFDictionary, nil)
            guard status == errSecDuplicateItem else { return try check(status) }
            try check(SecItemDelete(old as CFDictionary), tolerates: errSecItemNotFound)
        }
        throw failure(errSecDuplicateItem)
    }

    private static func deleteKeys(_ keys: [CFString: Any], except label: Data) throws {
        var query = keys
        query[kSecReturnAttributes] = true
        query[kSecMatchLimit] = kSecMatchLimitAll
        let found = try copy(query) as? [[String: Any]] ?? []
        for case let other as Data in found.map({ $0[kSecAttrApplicationLabel as String] }) where other != label {
            var key = keys
            key[kSecAttrApplicationLabel] = other
            try check(SecItemDelete(key as CFDictionary), tolerates: errSecItemNotFound)
        }
    }

    // MARK: - Removing

    /// - Throws: An `NSError` with `errSecItemNotFound` where there is none.
    static func remove(_ identifier: String, on endpoint: any VarlinkEndpoint) throws {
        let rows = try Rows(on: endpoint)
        let record = SecItemDelete(rows.record(identifier) as CFDictionary)
        let keys = SecItemDelete(rows.key(identifier) as CFDictionary)
        // Of a right that was not wholly saved there is a key alone.
        if record == errSecItemNotFound { return try check(keys) }
        try check(record)
        try check(keys, tolerates: errSecItemNotFound)
    }

    static func removeAll(on endpoint: any VarlinkEndpoint) throws {
        let rows = try Rows(on: endpoint)
        try check(SecItemDelete(rows.record() as CFDictionary), tolerates: errSecItemNotFound)
        try check(SecItemDelete(rows.key() as CFDictionary), tolerates: errSecItemNotFound)
    }

    // MARK: - Using

    /// The secret, for what the owner has proven.
    ///
    /// - Throws: An `NSError`: `errSecInteractionNotAllowed` where that is not enough, `errSecItemNotFound` without a secret.
    func secret() throws -> Data {
        var query = rows.record(identifier)
        query[kSecAttrGeneric] = label
        query[kSecReturnData] = true
        guard let ciphertext = try Self.copy(query) as? Data, !ciphertext.isEmpty else {
            throw Self.failure(errSecItemNotFound)
        }
        return try unsafe withPrivateKey {
            unsafe SecKeyCreateDecryptedData($0, Self.encryption, ciphertext as NSData, &$1)
        }
    }

    /// What the private key makes, for what the owner has proven.
    ///
    /// - Throws: An `NSError`: `errSecInteractionNotAllowed` where that is not enough; the key's.
    func withPrivateKey(
        _ body: (SecKey, inout Unmanaged<CFError>?) -> CFData?
    ) throws -> Data {
        try using { context in
            var query = rows.key(identifier)
            query[kSecAttrApplicationLabel] = label
            query[kSecReturnRef] = true
            query[kSecUseAuthenticationContext] = context
            guard let key = try Self.copy(query) as? SecKey else { throw Self.failure(errSecItemNotFound) }
            return try unsafe Self.unwrapping { unsafe body(key, &$0) } as Data
        }
    }

    private func using<Result>(_ body: (SilentContext) throws -> Result) throws -> Result {
        do {
            return try body(authorization.context)
        } catch let error as NSError {
            if Self.isRefusal(error) { authorization.refused() }
            throw error
        }
    }

    /// Whether the device said that the context has not proven enough.
    private static func isRefusal(_ error: NSError) -> Bool {
        switch error.domain {
        case NSOSStatusErrorDomain:
            error.code == Int(errSecInteractionNotAllowed) || error.code == Int(errSecAuthFailed)
        case LAErrorDomain: true
        default: false
        }
    }

    // MARK: - Inside

    private static let encryption = SecKeyAlgorithm.eciesEncryptionCofactorVariableIVX963SHA256AESGCM

    /// What a function of `Security` returns, or the error that it stores.
    static func unwrapping<Result>(
        _ body: (inout Unmanaged<CFError>?) -> Result?
    ) throws -> Result {
        var error: Unmanaged<CFError>?
        if let result = unsafe body(&error) { return result }
        throw unsafe error?.takeRetainedValue() ?? failure(errSecInternalError)
    }

    private static func copy(_ query: [CFString: Any]) throws -> CFTypeRef? {
        var found: CFTypeRef?
        try check(unsafe SecItemCopyMatching(query as CFDictionary, &found))
        return found
    }

    private static func check(_ status: OSStatus, tolerates tolerated: OSStatus = errSecSuccess) throws {
        guard status == errSecSuccess || status == tolerated else { throw failure(status) }
    }

    static func failure(_ status: OSStatus) -> NSError {
        NSError(domain: NSOSStatusErrorDomain, code: Int(status))
    }

    private static let maximumTries = 4
}
