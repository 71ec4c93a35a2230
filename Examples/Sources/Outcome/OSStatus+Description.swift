import Foundation
import Security

/// A keychain status by name and number, with the system's message for it.
package func description(of status: OSStatus) -> String {
    let message = SecCopyErrorMessageString(status, nil) as String? ?? "no message"
    return "\(name(of: status)) \(status) (\(message))"
}

private func name(of status: OSStatus) -> String {
    switch status {
    case errSecSuccess: "errSecSuccess"
    case errSecParam: "errSecParam"
    case errSecUserCanceled: "errSecUserCanceled"
    case errSecNotAvailable: "errSecNotAvailable"
    case errSecAuthFailed: "errSecAuthFailed"
    case errSecDuplicateItem: "errSecDuplicateItem"
    case errSecItemNotFound: "errSecItemNotFound"
    case errSecInteractionNotAllowed: "errSecInteractionNotAllowed"
    case errSecDecode: "errSecDecode"
    case errSecMissingEntitlement: "errSecMissingEntitlement"
    default: "OSStatus"
    }
}
