@_exported public import CLocalAuthentication
public import Foundation

extension LAErrorCode: @retroactive _ErrorCodeProtocol {
    /// The error that has these codes.
    public typealias _ErrorType = LAError
}

/// The codes of `LAError`, with Apple's values (A.4).
extension LAError {
    /// Why an evaluation ended without success; also a number that has no name.
    public typealias Code = LAErrorCode

    /// The owner did not prove what was asked.
    public static var authenticationFailed: Code { .authenticationFailed }
    /// The owner tapped Cancel.
    public static var userCancel: Code { .userCancel }
    /// The owner tapped the fallback button, and the policy has no fallback of its own (EV-17).
    public static var userFallback: Code { .userFallback }
    /// The system took the prompt down (EV-52, EV-53).
    public static var systemCancel: Code { .systemCancel }
    /// The device has no passcode.
    public static var passcodeNotSet: Code { .passcodeNotSet }
    /// Old name of `biometryNotAvailable`.
    public static var touchIDNotAvailable: Code { .touchIDNotAvailable }
    /// Old name of `biometryNotEnrolled`.
    public static var touchIDNotEnrolled: Code { .touchIDNotEnrolled }
    /// Old name of `biometryLockout`.
    public static var touchIDLockout: Code { .touchIDLockout }
    /// The context was invalidated while it was being evaluated (EV-50).
    public static var appCancel: Code { .appCancel }
    /// The context had been invalidated before (EV-50).
    public static var invalidContext: Code { .invalidContext }
    /// No companion device is near.
    public static var companionNotAvailable: Code { .companionNotAvailable }
    /// A removable sensor was never paired.
    public static var biometryNotPaired: Code { .biometryNotPaired }
    /// A removable sensor is not connected.
    public static var biometryDisconnected: Code { .biometryDisconnected }
    /// An embedded view has the wrong size.
    public static var invalidDimensions: Code { .invalidDimensions }
    /// The owner would have to be asked and must not be (EV-54).
    public static var notInteractive: Code { .notInteractive }
    /// There is no sensor, or this app may not use it.
    public static var biometryNotAvailable: Code { .biometryNotAvailable }
    /// No finger or face is enrolled.
    public static var biometryNotEnrolled: Code { .biometryNotEnrolled }
    /// Too many failures: the passcode is needed first.
    public static var biometryLockout: Code { .biometryLockout }
    /// Old name of `companionNotAvailable`.
    public static var watchNotAvailable: Code { .watchNotAvailable }
}
