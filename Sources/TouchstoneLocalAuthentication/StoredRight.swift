internal import Foundation
internal import TouchstoneCore
internal import TouchstoneCoreFoundation
import TouchstoneInterfaces
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
                accessGroup = reply.app.rawValue
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
    /// - Throws: An `NSError` with `errSecItemNotFound` if there is none, or none any more (AC-51).
    static func find(_ identifier: String, on endpoint: any VarlinkEndpoint) throws -> StoredRight {
        let rows = try Rows(on: endpoint)
        var last: Data?
        while true {
            guard let label = try label(of: rows.record(identifier)) else {
                deleteUselessKeys(rows.key(identifier), on: endpoint)
                throw failure(errSecItemNotFound)
            }
            do {
                return try StoredRight(identifier, rows, label, on: endpoint)
            } catch let error as NSError where error.code == Int(errSecItemNotFound) && label != last {
                // Replaced between the two: the record names another key now.
                last = label
            }
        }
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

    /// Saves a right; one that is there under the same identifier is replaced in one step, so that a crash leaves the one or the other.
    static func save(
        _ flags: AccessControl.Flags, _ identifier: String, _ secret: Data?, on endpoint: any VarlinkEndpoint
    ) throws -> StoredRight {
        let rows = try Rows(on: endpoint)
        let record = rows.record(identifier)
        let (label, key) = try makeKey(rows, identifier, flags)
        func deleteKey(_ label: Data) -> OSStatus {
            var key = rows.key(identifier)
            key[kSecAttrApplicationLabel] = label
            return SecItemDelete(key as CFDictionary)
        }
        let right: StoredRight
        let replaced: Data?
        do {
            guard let publicKey = SecKeyCopyPublicKey(key) else { throw failure(errSecInternalError) }
            right = StoredRight(
                identifier: identifier, authorization: RightAuthorization(flags, on: endpoint), privateKey: key,
                publicKey: publicKey, rows: rows, label: label)
            let ciphertext = try secret.map { secret in
                try unsafe unwrapping { unsafe SecKeyCreateEncryptedData(publicKey, encryption, secret as NSData, &$0) }
                    as Data
            }
            replaced = try write(label, ciphertext ?? Data(), to: record)
        } catch {
            // Where the device went away in between, the record may name the key already.
            if let isNamed = try? self.label(of: record) == label, !isNamed { _ = deleteKey(label) }
            throw error
        }
        // No other: it may be of a right that is being saved at the same time.
        if let replaced { try check(deleteKey(replaced), tolerates: errSecItemNotFound) }
        return right
    }

    private init(
        identifier: String, authorization: RightAuthorization, privateKey: SecKey, publicKey: SecKey, rows: Rows,
        label: Data
    ) {
        self.identifier = identifier
        self.authorization = authorization
        self.privateKey = privateKey
        self.publicKey = publicKey
        self.rows = rows
        self.label = label
    }

    /// - Returns: The hash of the public key, and the key.
    private static func makeKey(
        _ rows: Rows, _ identifier: String, _ flags: AccessControl.Flags
    ) throws -> (label: Data, key: SecKey) {
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
        guard let label = (SecKeyCopyAttributes(key) as? [String: Any])?[kSecAttrApplicationLabel as String] as? Data
        else { throw failure(errSecInternalError) }
        return (label, key)
    }

    /// Writes a record, in the place of the one that is there.
    ///
    /// - Returns: The label of the key that the replaced record named; nil if there was none.
    private static func write(_ label: Data, _ ciphertext: Data, to record: [CFString: Any]) throws -> Data? {
        let contents: [CFString: Any] = [
            kSecAttrGeneric: label, kSecAttrAccessible: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly,
            kSecValueData: ciphertext,
        ]
        // Another thread or process may save the same right at the same time: the later one stays, and each deletes what it replaced.
        for _ in 0..<maximumTries {
            if let old = try self.label(of: record) {
                var query = record
                query[kSecAttrGeneric] = old
                let status = SecItemUpdate(query as CFDictionary, contents as CFDictionary)
                if status == errSecItemNotFound { continue }
                try check(status)
                return old
            }
            let status = SecItemAdd(record.merging(contents) { $1 } as CFDictionary, nil)
            if status == errSecDuplicateItem { continue }
            try check(status)
            return nil
        }
        throw failure(errSecDuplicateItem)
    }

    // MARK: - Removing

    /// - Throws: An `NSError` with `errSecItemNotFound` if there is none.
    static func remove(_ identifier: String, on endpoint: any VarlinkEndpoint) throws {
        let rows = try Rows(on: endpoint)
        // Of what went with the passcode there may be rows, and no right.
        let isGone = (try? label(of: rows.record(identifier)) == nil) ?? false
        let record = SecItemDelete(rows.record(identifier) as CFDictionary)
        try check(SecItemDelete(rows.key(identifier) as CFDictionary), tolerates: errSecItemNotFound)
        try check(isGone ? errSecItemNotFound : record)
    }

    static func removeAll(on endpoint: any VarlinkEndpoint) throws {
        let rows = try Rows(on: endpoint)
        try check(SecItemDelete(rows.record() as CFDictionary), tolerates: errSecItemNotFound)
        try check(SecItemDelete(rows.key() as CFDictionary), tolerates: errSecItemNotFound)
    }

    // MARK: - Using

    /// The secret, for what the owner has proven.
    ///
    /// - Throws: An `NSError`: `LAError.notInteractive` if that is not enough, `errSecItemNotFound` without a secret; the key's.
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
    /// - Throws: An `NSError`: `LAError.notInteractive` if that is not enough; the key's.
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
        case LAErrorDomain, "CryptoTokenKit": true
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

    /// The label of the key that a record names; nil if there is no such record.
    private static func label(of record: [CFString: Any]) throws -> Data? {
        var query = record
        query[kSecReturnAttributes] = true
        do {
            return (try copy(query) as? [String: Any])?[kSecAttrGeneric as String] as? Data
        } catch let error as NSError where error.code == Int(errSecItemNotFound) {
            return nil
        }
    }

    /// Deletes those keys that nobody can ever use again: their record went with the passcode.
    ///
    /// One that can be used may be of a right that is being saved, and whose record is on its way.
    private static func deleteUselessKeys(_ keys: [CFString: Any], on endpoint: any VarlinkEndpoint) {
        var query = keys
        query[kSecReturnRef] = true
        query[kSecReturnAttributes] = true
        query[kSecMatchLimit] = kSecMatchLimitAll
        query[kSecUseAuthenticationContext] = SilentContext(endpoint)
        let found = (try? copy(query)) as? [[String: Any]] ?? []
        for attributes in found {
            guard let key = attributes[kSecValueRef as String] as? SecKey,
                let label = attributes[kSecAttrApplicationLabel as String] as? Data, isUseless(key)
            else { continue }
            var query = keys
            query[kSecAttrApplicationLabel] = label
            SecItemDelete(query as CFDictionary)
        }
    }

    /// AC-52: the device says so where a key is used, and of one that can be used that the owner would have to be asked.
    private static func isUseless(_ key: SecKey) -> Bool {
        do {
            _ = try unsafe unwrapping {
                unsafe SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, NSData(), &$0)
            }
            return false
        } catch {
            let error = error as NSError
            return error.domain == "CryptoTokenKit" && error.code == -3
        }
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
        NSError.status(Status(rawValue: status), in: "Using a right")
    }

    private static let maximumTries = 64
}
