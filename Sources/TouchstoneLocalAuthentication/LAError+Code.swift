public import Foundation

/// The codes of `LAError`, with Apple's values (A.4).
extension LAError {
    /// Why an evaluation ended without success.
    ///
    /// The biometry codes have their names as static members: a `switch` sees the `touchID…` cases, as on Apple's platforms.
    public enum Code: Int, _ErrorCodeProtocol, Sendable {
        /// The error that has these codes.
        public typealias _ErrorType = LAError

        /// The owner did not prove what was asked.
        case authenticationFailed = -1
        /// The owner tapped Cancel.
        case userCancel = -2
        /// The owner tapped the fallback button, and the policy has no fallback of its own (EV-17).
        case userFallback = -3
        /// The system took the prompt down (EV-52, EV-53).
        case systemCancel = -4
        /// The device has no passcode.
        case passcodeNotSet = -5
        /// Old name of `biometryNotAvailable`.
        case touchIDNotAvailable = -6
        /// Old name of `biometryNotEnrolled`.
        case touchIDNotEnrolled = -7
        /// Old name of `biometryLockout`.
        case touchIDLockout = -8
        /// The context was invalidated while it was being evaluated (EV-50).
        case appCancel = -9
        /// The context had been invalidated before (EV-50).
        case invalidContext = -10
        /// No companion device is near.
        case companionNotAvailable = -11
        /// A removable sensor was never paired.
        case biometryNotPaired = -12
        /// A removable sensor is not connected.
        case biometryDisconnected = -13
        /// An embedded view has the wrong size.
        case invalidDimensions = -14
        /// The owner would have to be asked and must not be (EV-54).
        case notInteractive = -1004

        /// There is no sensor, or this app may not use it.
        public static var biometryNotAvailable: Code { .touchIDNotAvailable }
        /// No finger or face is enrolled.
        public static var biometryNotEnrolled: Code { .touchIDNotEnrolled }
        /// Too many failures: the passcode is needed first.
        public static var biometryLockout: Code { .touchIDLockout }
        /// Old name of `companionNotAvailable`.
        public static var watchNotAvailable: Code { .companionNotAvailable }
    }

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

extension LAError.Code {
    /// What `localizedDescription` says: as little as Apple's does (A.5).
    var localizedDescription: String {
        switch self {
        case .authenticationFailed: "Authentication failed."
        case .userCancel, .userFallback, .systemCancel, .appCancel: "Authentication canceled."
        case .passcodeNotSet: "Passcode not set."
        case .touchIDNotAvailable: "Biometry is not available."
        case .touchIDNotEnrolled: "No identities are enrolled."
        case .touchIDLockout: "Biometry is locked out."
        case .invalidContext: "Invalid context."
        case .companionNotAvailable: "No companion is available."
        case .biometryNotPaired: "Biometry is not paired."
        case .biometryDisconnected: "Biometry is disconnected."
        case .invalidDimensions: "Invalid dimensions."
        case .notInteractive: "User interaction required."
        }
    }
}
