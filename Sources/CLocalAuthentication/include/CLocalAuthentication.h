// The codes of LAError as an enumeration of C: the one form in Swift that has cases for a `switch` and keeps every other number.
#ifndef C_LOCAL_AUTHENTICATION_H
#define C_LOCAL_AUTHENTICATION_H

/// Why an evaluation ended without success (A.4).
///
/// A number without a name here is kept: `LAError.Code(rawValue:)` is never nil. The biometry codes have two names, and a
/// `switch` sees the `touchID…` cases, as on Apple's platforms.
enum __attribute__((enum_extensibility(open))) LAErrorCode : long {
    /// The owner did not prove what was asked.
    LAErrorCodeAuthenticationFailed = -1,
    /// The owner tapped Cancel.
    LAErrorCodeUserCancel = -2,
    /// The owner tapped the fallback button, and the policy has no fallback of its own (EV-17).
    LAErrorCodeUserFallback = -3,
    /// The system took the prompt down (EV-52, EV-53).
    LAErrorCodeSystemCancel = -4,
    /// The device has no passcode.
    LAErrorCodePasscodeNotSet = -5,
    /// Old name of `biometryNotAvailable`.
    LAErrorCodeTouchIDNotAvailable = -6,
    /// Old name of `biometryNotEnrolled`.
    LAErrorCodeTouchIDNotEnrolled = -7,
    /// Old name of `biometryLockout`.
    LAErrorCodeTouchIDLockout = -8,
    /// The context was invalidated while it was being evaluated (EV-50).
    LAErrorCodeAppCancel = -9,
    /// The context had been invalidated before (EV-50).
    LAErrorCodeInvalidContext = -10,
    /// No companion device is near.
    LAErrorCodeCompanionNotAvailable = -11,
    /// A removable sensor was never paired.
    LAErrorCodeBiometryNotPaired = -12,
    /// A removable sensor is not connected.
    LAErrorCodeBiometryDisconnected = -13,
    /// An embedded view has the wrong size.
    LAErrorCodeInvalidDimensions = -14,
    /// The owner would have to be asked and must not be (EV-54).
    LAErrorCodeNotInteractive = -1004,

    /// There is no sensor, or this app may not use it.
    LAErrorCodeBiometryNotAvailable = LAErrorCodeTouchIDNotAvailable,
    /// No finger or face is enrolled.
    LAErrorCodeBiometryNotEnrolled = LAErrorCodeTouchIDNotEnrolled,
    /// Too many failures: the passcode is needed first.
    LAErrorCodeBiometryLockout = LAErrorCodeTouchIDLockout,
    /// Old name of `companionNotAvailable`.
    LAErrorCodeWatchNotAvailable = LAErrorCodeCompanionNotAvailable,
};

typedef enum LAErrorCode LAErrorCode;

#endif
