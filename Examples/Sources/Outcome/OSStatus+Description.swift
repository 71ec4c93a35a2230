import Foundation
import LocalAuthentication
import Security

/// A keychain status by name and number, with the system's message for it.
package func description(of status: OSStatus) -> String {
    let message = SecCopyErrorMessageString(status, nil) as String? ?? "no message"
    return "\(name(of: status)) \(status) (\(message))"
}

/// A failure in the form in which a developer looks it up.
///
/// An `LAError` gives its name. An `OSStatus`, or a code of the
/// token's, comes with its message. Any other error is described as it is.
package func description(of error: any Error) -> String {
    let known = error as NSError
    return switch known.domain {
    case NSOSStatusErrorDomain: description(of: OSStatus(known.code))
    case "CryptoTokenKit": "CryptoTokenKit \(known.code) (\(known.localizedDescription))"
    default: name(of: error)
    }
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
