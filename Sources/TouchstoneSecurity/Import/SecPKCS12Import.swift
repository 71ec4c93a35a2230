internal import TouchstoneCertificates
internal import TouchstoneCore
public import TouchstoneCoreFoundation

/// Reads the identities of a PKCS#12 file.
///
/// As on iOS nothing is stored, unless the options hold `kSecUseDataProtectionKeychain`: then every identity is added to the keychain with
/// its chain, and what is there already stays. The certificate of a key is the first of its public key. A key without a certificate, and a certificate of no chain, are left out.
///
/// Reads what OpenSSL, Java and browsers write: PBES2 with AES or 3DES, the older 3DES and RC2, and codes with SHA-1, SHA-256, SHA-384 or
/// SHA-512. Derivations of more than 10,000,000 iterations in all are refused.
///
/// - Parameters:
///   - pkcs12_data: The file, in DER or BER.
///   - options: `kSecImportExportPassphrase`, empty if left out; other attributes go to the keychain with what is added.
///   - items: Takes an array of dictionaries, one for each identity: `kSecImportItemIdentity`; `kSecImportItemCertChain`, its certificate and
///     those of the file that lead from it to a root, by name and not verified; `kSecImportItemTrust`, a trust object of that chain with the
///     policy of `SecPolicyCreateBasicX509`, not yet evaluated; `kSecImportItemKeyID`, the SHA-1 of the public key;
///     `kSecImportItemLabel`.
/// - Returns: `errSecSuccess`; `errSecAuthFailed` for a wrong passphrase; `errSecDecode` for a damaged file or an algorithm we do not know;
///   `errSecParam` for a passphrase that is not a text; or why an identity could not be added.
@discardableResult
public func SecPKCS12Import(
    _ pkcs12_data: CFData, _ options: CFDictionary, _ items: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    do throws(Status) {
        let passphrase = options[kSecImportExportPassphrase]
        guard passphrase == nil || passphrase is NSString else { throw .param }
        let file = try PKCS12File(Array(pkcs12_data as Data), passphrase: passphrase as? String ?? "")
        let identities = file.keys.compactMap { ImportedIdentity($0, file.certificates) }
        if (options[kSecUseDataProtectionKeychain] as? NSNumber)?.boolValue == true {
            for identity in identities { try identity.add(options) }
        }
        unsafe items.initialize(to: identities.map(\.dictionary) as NSArray)
        return Status.success.rawValue
    } catch let status {
        return status.rawValue
    }
}

/// A key of a file with its certificates.
private struct ImportedIdentity {
    let identity: SecIdentity
    let chain: [SecCertificate]
    let label: String?

    /// Nil for a key whose certificate is not in the file.
    init?(_ key: PKCS12File.Entry<SoftwareKey>, _ certificates: [PKCS12File.Entry<Certificate>]) {
        let secKey = SecKey(key.value)
        let hash = secKey.publicKeyHash
        guard let leaf = certificates.first(where: { SecCertificate($0.value).publicKeyHash == hash }) else {
            return nil
        }
        var chain = [leaf.value]
        while let last = chain.last, last.issuer.normalizedContent != last.subject.normalizedContent,
            let issuer = certificates.first(where: {
                $0.value.subject.normalizedContent == last.issuer.normalizedContent && !chain.contains($0.value)
            })
        {
            chain.append(issuer.value)
        }
        self.chain = chain.map(SecCertificate.init)
        identity = SecIdentity(certificate: SecCertificate(leaf.value), privateKey: secKey)
        label = leaf.friendlyName ?? key.friendlyName ?? leaf.value.summary
    }

    var dictionary: NSDictionary {
        let result = NSMutableDictionary()
        result[kSecImportItemIdentity] = identity
        result[kSecImportItemCertChain] = chain as NSArray
        result[kSecImportItemTrust] = SecTrust(certificates: chain, policies: [SecPolicyCreateBasicX509()])
        result[kSecImportItemKeyID] = identity.certificate.publicKeyHash as NSData
        result[kSecImportItemLabel] = label as NSString?
        return result
    }

    func add(_ options: CFDictionary) throws(Status) {
        try add(identity, kSecClassIdentity, options)
        let ofCertificates = NSMutableDictionary()
        for (key, value) in options {
            guard let key = key as? NSString else { throw .param }
            let name = AttributeKey(rawValue: key as String)
            // What only keys have.
            if ItemClass.certificate.attribute(name) == nil, ItemClass.key.attribute(name) != nil { continue }
            ofCertificates[key] = value
        }
        // The first, too: where the key is there already, its certificate may be a new one.
        for certificate in chain { try add(certificate, kSecClassCertificate, ofCertificates) }
    }

    private func add(_ reference: AnyObject, _ itemClass: CFString, _ options: CFDictionary) throws(Status) {
        let attributes = NSMutableDictionary()
        for (key, value) in options {
            guard let key = key as? NSString else { throw .param }
            if key != kSecImportExportPassphrase, key != kSecImportToMemoryOnly { attributes[key] = value }
        }
        attributes[kSecClass] = itemClass
        attributes[kSecValueRef] = reference
        let status = SecItemAdd(attributes, nil)
        guard status == errSecSuccess || status == errSecDuplicateItem else { throw Status(rawValue: status) }
    }
}
