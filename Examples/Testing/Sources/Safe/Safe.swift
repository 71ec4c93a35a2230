import Foundation
import LocalAuthentication
import Security

/// A secret that the fingers enrolled now release, and no other.
struct Safe {
    struct Failure: Error, Equatable {
        let status: OSStatus
    }

    private let item: [String: Any] = [
        kSecClass as String: kSecClassGenericPassword,
        kSecAttrService as String: "org.example.safe",
    ]

    func put(_ secret: String) throws {
        var item = item
        item[kSecValueData as String] = Data(secret.utf8)
        item[kSecAttrAccessControl as String] = SecAccessControlCreateWithFlags(
            nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, .biometryCurrentSet, nil)
        let status = SecItemAdd(item as CFDictionary, nil)
        guard status == errSecSuccess else { throw Failure(status: status) }
    }

    func open(_ context: LAContext = LAContext()) throws -> String {
        var query = item
        context.localizedReason = "open the safe"
        query[kSecUseAuthenticationContext as String] = context
        query[kSecReturnData as String] = true
        var found: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &found)
        guard status == errSecSuccess, let data = found as? Data else { throw Failure(status: status) }
        return String(decoding: data, as: UTF8.self)
    }
}
