import Foundation
import LocalAuthentication
import Security

/// One of many generic passwords of a service, without protection.
struct Item {
    private let query: [String: Any]

    init(_ number: Int) {
        query = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: "benchmark",
            kSecAttrAccount as String: "account-\(number)",
        ]
    }

    func add() -> OSStatus {
        SecItemAdd(query.merging([kSecValueData as String: secret]) { $1 } as CFDictionary, nil)
    }

    func read() -> OSStatus {
        var result: CFTypeRef?
        return SecItemCopyMatching(query.merging([kSecReturnData as String: true]) { $1 } as CFDictionary, &result)
    }

    func update() -> OSStatus {
        SecItemUpdate(query as CFDictionary, [kSecValueData as String: secret] as CFDictionary)
    }

    func delete() -> OSStatus {
        SecItemDelete(query as CFDictionary)
    }
}

/// An item that only the owner can have read, with a context that has proven the owner.
struct ProtectedItem {
    let context: LAContext

    private var query: [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: "benchmark, protected",
            kSecAttrAccount as String: "owner",
            kSecUseAuthenticationContext as String: context,
        ]
    }

    func add() -> OSStatus {
        guard
            let accessControl = SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, .userPresence, nil)
        else { return errSecParam }
        var attributes = query
        attributes[kSecAttrAccessControl as String] = accessControl
        attributes[kSecValueData as String] = secret
        return SecItemAdd(attributes as CFDictionary, nil)
    }

    func read() -> OSStatus {
        var result: CFTypeRef?
        return SecItemCopyMatching(query.merging([kSecReturnData as String: true]) { $1 } as CFDictionary, &result)
    }

    func delete() -> OSStatus {
        SecItemDelete(query as CFDictionary)
    }
}

private let secret = Data(repeating: 0x5A, count: 64)
