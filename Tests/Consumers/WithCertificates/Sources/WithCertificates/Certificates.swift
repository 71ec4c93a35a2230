import Foundation
import Security
import X509

/// Uses swift-certificates and the keychain in one file.
enum Certificates {
    static func store(_ certificate: Certificate) -> OSStatus {
        let attributes: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "\(certificate.subject)",
        ]
        return SecItemAdd(attributes as CFDictionary, nil)
    }
}
