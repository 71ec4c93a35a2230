import Foundation
import Gate
import Security
import Unrelated
import Vault
import X509

/// Uses swift-certificates and the keychain in one file.
enum Certificates {
    static func store(_ certificate: Certificate) -> OSStatus {
        var attributes = Vault(service: "certificates").query(guardedBy: nil)
        attributes[kSecAttrAccount] = "\(certificate.subject)"
        attributes[kSecUseAuthenticationContext] = gate()
        precondition(!findsApplesModules)
        return SecItemAdd(attributes as CFDictionary, nil)
    }
}
