import Foundation
import LocalAuthentication

extension LAError.Code {
    /// The code as it is spelled in source.
    package var name: String {
        switch self {
        case .authenticationFailed: "authenticationFailed"
        case .userCancel: "userCancel"
        case .userFallback: "userFallback"
        case .systemCancel: "systemCancel"
        case .passcodeNotSet: "passcodeNotSet"
        case .biometryNotAvailable: "biometryNotAvailable"
        case .biometryNotEnrolled: "biometryNotEnrolled"
        case .biometryLockout: "biometryLockout"
        case .appCancel: "appCancel"
        case .invalidContext: "invalidContext"
        case .notInteractive: "notInteractive"
        default: "LAError \(rawValue)"
        }
    }
}

/// The name of the `LAError` behind `error`, or the error itself.
package func name(of error: any Error) -> String {
    (error as? LAError)?.code.name ?? "\(error)"
}
