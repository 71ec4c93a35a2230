import Foundation
import LocalAuthentication
import Security

/// A keychain status by name and number, with the system's message for it.
package func description(of status: OSStatus) -> String {
    let message = SecCopyErrorMessageString(status, nil) as String? ?? "no message"
    return "\(name(of: status)) \(status) (\(message))"
}

/// A failure as a developer looks it up: the name of an `LAError`, an `OSStatus` with its message, else the error itself.
package func description(of error: any Error) -> String {
    let error = error as NSError
    return error.domain == NSOSStatusErrorDomain ? description(of: OSStatus(error.code)) : name(of: error as any Error)
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
