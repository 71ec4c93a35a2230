// A program of somebody's, built with swiftc against libtouchstone-dev: keeps an item, reads it, and knows of the device.
import CryptoKit
import Foundation
import LocalAuthentication
import Security

let place: [String: Any] = [
    kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "keep", kSecAttrAccount as String: "me",
]

func end(_ status: OSStatus) -> Never {
    print(SecCopyErrorMessageString(status, nil) as String? ?? "\(status)")
    exit(1)
}

switch CommandLine.arguments.dropFirst().first {
case "write":
    let status = SecItemAdd(place.merging([kSecValueData as String: Data("a secret".utf8)]) { $1 } as CFDictionary, nil)
    if status != errSecSuccess { end(status) }
    print("kept")
case "read":
    var found: CFTypeRef?
    let status = SecItemCopyMatching(place.merging([kSecReturnData as String: true]) { $1 } as CFDictionary, &found)
    guard status == errSecSuccess, let data = found as? Data else { end(status) }
    print(String(decoding: data, as: UTF8.self))
case "share":
    let item = place.merging([kSecAttrSynchronizable as String: true, kSecValueData as String: Data("for both".utf8)]) {
        $1
    }
    let status = SecItemAdd(item as CFDictionary, nil)
    if status != errSecSuccess { end(status) }
    print("kept")
case "shared":
    var found: CFTypeRef?
    let query = place.merging([kSecAttrSynchronizable as String: true, kSecReturnData as String: true]) { $1 }
    let status = SecItemCopyMatching(query as CFDictionary, &found)
    guard status == errSecSuccess, let data = found as? Data else { end(status) }
    print(String(decoding: data, as: UTF8.self))
case "device":
    let context = LAContext()
    var error: NSError?
    let canAsk = context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error)
    print(
        canAsk, context.biometryType == .touchID, SecureEnclave.isAvailable,
        SHA256.hash(data: Data()).description.suffix(4))
default:
    exit(64)
}
