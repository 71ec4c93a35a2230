import Foundation

/// On Apple's platforms Foundation brings `Security`.
func find(_ account: String) -> OSStatus {
    SecItemCopyMatching([kSecClass: kSecClassGenericPassword, kSecAttrAccount: account] as CFDictionary, nil)
}
