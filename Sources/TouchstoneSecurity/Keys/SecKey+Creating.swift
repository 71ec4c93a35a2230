internal import TouchstoneCore
public import TouchstoneCoreFoundation
internal import TouchstoneKeyAlgorithms

/// Reads a key; nothing is stored.
///
/// - Parameters:
///   - keyData: What `SecKeyCopyExternalRepresentation` returns; of a public RSA key also a SubjectPublicKeyInfo.
///   - attributes: `kSecAttrKeyType` and `kSecAttrKeyClass`, each a constant or its number; others are disregarded.
///   - error: Takes `errSecParam` if an attribute is missing or the data is not such a key, or `errSecUnimplemented` for a symmetric key and
///     where `kSecAttrTokenID` is there: no key is imported into the enclave (SE-02).
/// - Returns: The key, or nil.
@discardableResult
public func SecKeyCreateWithData(
    _ keyData: CFData, _ attributes: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
    let keyClass = number(attributes[kSecAttrKeyClass]).flatMap(KeyClass.init)
    let typeNumber = number(attributes[kSecAttrKeyType])
    let type = typeNumber.flatMap(KeyType.init)
    return unsafe storing(error, in: "\(KeyType.kind(type, keyClass)) creation from data") {
        guard let keyClass, typeNumber != nil else { throw Status.param }
        // SE-02: nothing is imported into a token.
        if attributes[kSecAttrTokenID] != nil { throw Status.unimplemented }
        if keyClass == .symmetric { throw Status.unimplemented }
        guard let type, let key = SoftwareKey(type, keyClass, data: keyData as Data) else { throw Status.param }
        return SecKey(key)
    }
}

/// Makes a key.
///
/// `kSecPrivateKeyAttrs` and `kSecPublicKeyAttrs` hold what is to be true of one half only, and win over the rest. A half with
/// `kSecAttrIsPermanent` is added to the keychain; where that fails the call fails.
///
/// - Parameters:
///   - parameters: `kSecAttrKeyType`, a constant, and `kSecAttrKeySizeInBits`, a number or its text: 256, 384 or 521 for a curve; for RSA
///     1024 to 8192, a multiple of 8. With `kSecAttrTokenID`, `kSecAttrTokenIDSecureEnclave`, the enclave makes the key, of P-256 alone; its
///     private half is permanent unless it is said not to be, and takes an access control, and a context that is used with the key.
///   - error: Takes `errSecParam` for another type, `errSecKeySizeNotAllowed` for another size, `errSecItemNotFound` for another
///     token, `errSecAuthFailed` where the access control wants what is not set up, or why the key could not be added.
/// - Returns: The private key, or nil.
@discardableResult
public func SecKeyCreateRandomKey(
    _ parameters: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
    unsafe storing(error, in: creation(parameters)) {
        let privateAttributes = try merged(parameters, kSecPrivateKeyAttrs)
        let publicAttributes = try merged(parameters, kSecPublicKeyAttrs)
        let key: SecKey
        if let token = privateAttributes[kSecAttrTokenID] {
            key = SecKey(try enclaveKey(parameters, token, privateAttributes))
            // The public half is of no token, and the access control is the private one's.
            for other in [kSecAttrTokenID, kSecAttrAccessControl] { publicAttributes[other] = nil }
        } else {
            key = SecKey(try randomKey(parameters))
        }
        let stored = try store(key, privateAttributes)
        do throws(Status) {
            try store(SecKey(key.implementation.publicKey), publicAttributes)
        } catch {
            // Nothing is left of a call that fails.
            if let stored { SecItemDelete([kSecClass: kSecClassKey, kSecValuePersistentRef: stored] as NSDictionary) }
            throw error
        }
        return key
    }
}

/// What `SecKeyCreateRandomKey` is to do with these parameters, in words.
private func creation(_ parameters: CFDictionary) -> String {
    let ofPrivate = parameters[kSecPrivateKeyAttrs] as? NSDictionary
    let token = (ofPrivate?[kSecAttrTokenID] ?? parameters[kSecAttrTokenID]) as? NSString
    let kind = KeyType.kind(number(parameters[kSecAttrKeyType]).flatMap(KeyType.init), nil)
    return kind + (token == kSecAttrTokenIDSecureEnclave ? " creation in the Secure Enclave" : " creation")
}

/// Has the enclave make a key (SE-01, SE-14), and leaves in its attributes what its item takes.
private func enclaveKey(
    _ parameters: CFDictionary, _ token: Any, _ attributes: NSMutableDictionary
) throws -> EnclaveKey {
    // AC-45: a token that is not there.
    guard let token = token as? NSString else { throw Status.param }
    guard token == kSecAttrTokenIDSecureEnclave else { throw Status.itemNotFound }
    guard let type = parameters[kSecAttrKeyType] as? NSString, type == kSecAttrKeyTypeECSECPrimeRandom,
        number(parameters[kSecAttrKeySizeInBits]) == 256
    else { throw Status.param }
    // SE-06
    if attributes[kSecAttrIsPermanent] == nil { attributes[kSecAttrIsPermanent] = true as NSNumber }
    let isPermanent = (attributes[kSecAttrIsPermanent] as? NSNumber)?.boolValue == true
    let key = try EnclaveKey(ItemQuery(attributes), isPermanent: isPermanent)
    // They are inside the key.
    for inside in [kSecAttrTokenID, kSecAttrAccessControl, kSecAttrAccessible] { attributes[inside] = nil }
    return key
}

private func randomKey(_ parameters: CFDictionary) throws(Status) -> SoftwareKey {
    // Apple compares the constant: the number 42 is refused.
    guard let type = (parameters[kSecAttrKeyType] as? NSString).flatMap({ Int64($0 as String) }).flatMap(KeyType.init),
        let size = number(parameters[kSecAttrKeySizeInBits])
    else { throw .param }
    switch type {
    case .ellipticCurve:
        guard let curve = EllipticCurve.allCases.first(where: { $0.sizeInBits == size }) else {
            throw .keySizeNotAllowed
        }
        return .ellipticCurvePrivate(try EllipticCurvePrivateKey(curve))
    case .rsa:
        guard let size = Int(exactly: size) else { throw .keySizeNotAllowed }
        return .rsaPrivate(try RSAPrivateKey(sizeInBits: size))
    }
}

/// The parameters of one half.
private func merged(_ parameters: CFDictionary, _ half: CFString) throws(Status) -> NSMutableDictionary {
    let result = NSMutableDictionary()
    for (key, value) in parameters {
        guard let key = key as? NSString else { throw .param }
        if key != kSecPrivateKeyAttrs, key != kSecPublicKeyAttrs { result[key] = value }
    }
    guard let own = parameters[half] else { return result }
    guard let own = own as? NSDictionary else { throw .param }
    for (key, value) in own {
        guard let key = key as? NSString else { throw .param }
        // These two are the same for both halves.
        if key != kSecAttrKeyType, key != kSecAttrKeySizeInBits { result[key] = value }
    }
    return result
}

/// - Returns: The persistent reference of what was added; nil if nothing was to be.
@discardableResult
private func store(_ key: SecKey, _ attributes: NSMutableDictionary) throws(Status) -> NSData? {
    guard (attributes[kSecAttrIsPermanent] as? NSNumber)?.boolValue == true else { return nil }
    attributes[kSecClass] = kSecClassKey
    attributes[kSecValueRef] = key
    for other in [kSecReturnData, kSecReturnAttributes, kSecReturnRef] { attributes[other] = nil }
    attributes[kSecReturnPersistentRef] = true as NSNumber
    var added: CFTypeRef?
    let status = unsafe SecItemAdd(attributes, &added)
    guard status == errSecSuccess else { throw Status(rawValue: status) }
    return added as? NSData
}

/// A number, or the text of one.
private func number(_ value: Any?) -> Int64? {
    switch value {
    case let string as NSString: Int64(string as String)
    case let number as NSNumber: Int64(exactly: number.doubleValue)
    default: nil
    }
}
