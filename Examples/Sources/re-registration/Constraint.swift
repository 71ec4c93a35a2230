import Foundation
import LocalAuthentication
import Security

/// Whose finger or face opens an item.
enum Constraint: String, CaseIterable, CustomStringConvertible {
    /// Those enrolled when the item was stored, as long as none is added or removed.
    case currentSet = "biometryCurrentSet"
    /// Any that is enrolled.
    case any = "biometryAny"

    var description: String { rawValue }

    /// The item under this constraint.
    var item: [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: "re-registration",
            kSecAttrAccount as String: rawValue,
        ]
    }

    func add() -> OSStatus {
        guard
            let accessControl = SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, flags, nil)
        else { return errSecParam }

        var attributes = item
        attributes[kSecAttrAccessControl as String] = accessControl
        attributes[kSecValueData as String] = Data("registered".utf8)
        return SecItemAdd(attributes as CFDictionary, nil)
    }

    func read(_ context: LAContext) -> OSStatus {
        var query = item
        query[kSecReturnData as String] = true
        query[kSecUseAuthenticationContext as String] = context
        var result: CFTypeRef?
        return SecItemCopyMatching(query as CFDictionary, &result)
    }

    private var flags: SecAccessControlCreateFlags {
        switch self {
        case .currentSet: .biometryCurrentSet
        case .any: .biometryAny
        }
    }
}
