import Foundation
import Outcome
import Security

/// Asks the keychain whether the device's owner is here: finger, face or passcode.
///
/// The item's content does not matter. That it could be read is the proof, and it was given outside this process.
@main
struct OwnerCheck {
    static func main() {
        let added = add()
        print("SecItemAdd: \(description(of: added))")
        switch added {
        case errSecSuccess, errSecDuplicateItem, errSecInteractionNotAllowed: break  // it is there, maybe from before
        default: exit(EXIT_FAILURE)
        }

        let status = read(prompt: "prove that you are the owner")
        print("SecItemCopyMatching: \(description(of: status))")
        exit(status == errSecSuccess ? EXIT_SUCCESS : EXIT_FAILURE)
    }

    private static var item: [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: "owner-check",
            kSecAttrAccount as String: "owner",
        ]
    }

    private static func add() -> OSStatus {
        var error: Unmanaged<CFError>?
        guard
            let accessControl = SecAccessControlCreateWithFlags(
                kCFAllocatorDefault, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, .userPresence, &error)
        else {
            return error.map { OSStatus(CFErrorGetCode($0.takeRetainedValue())) } ?? errSecParam
        }

        var attributes = item
        attributes[kSecAttrAccessControl as String] = accessControl
        attributes[kSecValueData as String] = Data("owner".utf8)
        // Adding over an item that is already there must not show a prompt of its own.
        attributes[kSecUseAuthenticationUI as String] = kSecUseAuthenticationUIFail
        return SecItemAdd(attributes as CFDictionary, nil)
    }

    private static func read(prompt: String) -> OSStatus {
        var query = item
        query[kSecReturnData as String] = kCFBooleanTrue
        query[kSecUseOperationPrompt as String] = prompt
        var result: CFTypeRef?
        return SecItemCopyMatching(query as CFDictionary, &result)
    }
}
