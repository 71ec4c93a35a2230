// swift-format-ignore-file: written as iOS apps are, force unwraps included.

import Foundation
import Security

/// Certificates that an app trusts, and those it shows itself with, by label.
final class CertificateStore {
    @discardableResult
    func add(_ der: Data, label: String) throws -> SecCertificate {
        guard let certificate = SecCertificateCreateWithData(nil, der as CFData) else {
            throw PasswordError.notReadable
        }
        let item: [CFString: Any] = [kSecClass: kSecClassCertificate, kSecValueRef: certificate, kSecAttrLabel: label]
        let status = SecItemAdd(item as CFDictionary, nil)
        guard status == errSecSuccess else { throw PasswordError(status) }
        return certificate
    }

    func certificate(_ label: String) throws -> SecCertificate? {
        let query = [kSecClass: kSecClassCertificate, kSecAttrLabel: label, kSecReturnRef: true] as [CFString: Any]
        var item: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &item)
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess, let found = item, CFGetTypeID(found) == SecCertificateGetTypeID() else {
            throw PasswordError(status)
        }
        return (found as! SecCertificate)
    }

    func all() throws -> [SecCertificate] {
        let query: [String: Any] = [
            kSecClass as String: kSecClassCertificate, kSecMatchLimit as String: kSecMatchLimitAll,
            kSecReturnRef as String: kCFBooleanTrue!,
        ]
        var items: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &items)
        if status == errSecItemNotFound { return [] }
        guard status == errSecSuccess else { throw PasswordError(status) }
        return items as! [SecCertificate]
    }

    /// Whether a server shows a certificate that is pinned.
    func isPinned(_ certificate: SecCertificate) throws -> Bool {
        let shown = SecCertificateCopyData(certificate) as Data
        return try all().contains { SecCertificateCopyData($0) as Data == shown }
    }

    /// The public key of a certificate in its bytes.
    static func publicKey(_ certificate: SecCertificate) throws -> Data {
        guard let key = SecCertificateCopyKey(certificate) else { throw PasswordError.notReadable }
        var error: Unmanaged<CFError>?
        guard let data = SecKeyCopyExternalRepresentation(key, &error) as Data? else {
            throw error!.takeRetainedValue() as Error
        }
        return data
    }

    func remove(_ label: String) throws {
        let query = [kSecClass as String: kSecClassCertificate, kSecAttrLabel as String: label] as CFDictionary
        let status = SecItemDelete(query)
        guard status == errSecSuccess else { throw PasswordError(status) }
    }

    /// Adds the private key of a certificate that is there, so that the two are an identity.
    func add(privateKey data: Data, tag: String) throws {
        let attributes: [String: Any] = [
            kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom,
            kSecAttrKeyClass as String: kSecAttrKeyClassPrivate,
            kSecAttrKeySizeInBits as String: 256,
        ]
        var error: Unmanaged<CFError>?
        guard let key = SecKeyCreateWithData(data as CFData, attributes as CFDictionary, &error) else {
            throw error!.takeRetainedValue() as Error
        }
        let item: [String: Any] = [
            kSecClass as String: kSecClassKey, kSecValueRef as String: key,
            kSecAttrApplicationTag as String: tag.data(using: .utf8)!,
        ]
        let status = SecItemAdd(item as CFDictionary, nil)
        guard status == errSecSuccess else { throw PasswordError(status) }
    }

    func privateKey(_ tag: String) -> SecKey? {
        let query: [String: Any] = [
            kSecClass as String: kSecClassKey, kSecAttrApplicationTag as String: tag.data(using: .utf8)!,
            kSecAttrKeyType as String: kSecAttrKeyTypeEC, kSecReturnRef as String: true,
        ]
        var item: CFTypeRef?
        guard SecItemCopyMatching(query as CFDictionary, &item) == errSecSuccess else { return nil }
        return (item as! SecKey)
    }

    /// The identity, if both of its halves are there.
    func identity() throws -> (certificate: SecCertificate, key: SecKey)? {
        var item: CFTypeRef?
        let query =
            [kSecClass: kSecClassIdentity, kSecReturnRef: true, kSecMatchLimit: kSecMatchLimitOne] as CFDictionary
        switch SecItemCopyMatching(query, &item) {
        case errSecSuccess: break
        case errSecItemNotFound: return nil
        case let status: throw PasswordError(status)
        }
        let identity = item as! SecIdentity
        var certificate: SecCertificate?
        var status = SecIdentityCopyCertificate(identity, &certificate)
        guard status == errSecSuccess else { throw PasswordError(status) }
        var key: SecKey?
        status = SecIdentityCopyPrivateKey(identity, &key)
        guard status == errSecSuccess else { throw PasswordError(status) }
        return (certificate!, key!)
    }
}
