// The constants of Apple's C headers, where a Swift name exists beside each.

public import Foundation

/// The domain of `LAError`.
public let LAErrorDomain: String = "com.apple.LocalAuthentication"
/// The domain of `LAError`.
public var kLAErrorDomain: String { LAErrorDomain }
/// The longest time for which a biometric unlock of the device can be reused (EV-42).
public let LATouchIDAuthenticationMaximumAllowableReuseDuration: TimeInterval = 300

/// `LAPolicy.deviceOwnerAuthenticationWithBiometrics`.
public var kLAPolicyDeviceOwnerAuthenticationWithBiometrics: Int32 { 1 }
/// `LAPolicy.deviceOwnerAuthentication`.
public var kLAPolicyDeviceOwnerAuthentication: Int32 { 2 }
/// `LAPolicy.deviceOwnerAuthenticationWithWatch`.
public var kLAPolicyDeviceOwnerAuthenticationWithWatch: Int32 { 3 }
/// `LAPolicy.deviceOwnerAuthenticationWithCompanion`.
public var kLAPolicyDeviceOwnerAuthenticationWithCompanion: Int32 { 3 }
/// `LAPolicy.deviceOwnerAuthenticationWithBiometricsOrWatch`.
public var kLAPolicyDeviceOwnerAuthenticationWithBiometricsOrWatch: Int32 { 4 }
/// `LAPolicy.deviceOwnerAuthenticationWithBiometricsOrCompanion`.
public var kLAPolicyDeviceOwnerAuthenticationWithBiometricsOrCompanion: Int32 { 4 }
/// A policy that only watches have.
public var kLAPolicyDeviceOwnerAuthenticationWithWristDetection: Int32 { 5 }
/// `LABiometryType.none`.
public var kLABiometryTypeNone: Int32 { 0 }
/// `LABiometryType.touchID`.
public var kLABiometryTypeTouchID: Int32 { 1 }
/// `LABiometryType.faceID`.
public var kLABiometryTypeFaceID: Int32 { 2 }
/// `LABiometryType.opticID`.
public var kLABiometryTypeOpticID: Int32 { 4 }
/// No companion.
public var kLACompanionTypeNone: Int32 { 0 }
/// `LACompanionType.watch`.
public var kLACompanionTypeWatch: Int32 { 1 }
/// `LACompanionType.mac`.
public var kLACompanionTypeMac: Int32 { 2 }
/// `LACompanionType.vision`.
public var kLACompanionTypeVision: Int32 { 4 }
/// `LACredentialType.applicationPassword`.
public var kLACredentialTypeApplicationPassword: Int32 { 0 }
/// `LACredentialType.smartCardPIN`.
public var kLACredentialSmartCardPIN: Int32 { -3 }
/// `LAAccessControlOperation.createItem`.
public var kLAAccessControlOperationCreateItem: Int32 { 0 }
/// `LAAccessControlOperation.useItem`.
public var kLAAccessControlOperationUseItem: Int32 { 1 }
/// `LAAccessControlOperation.createKey`.
public var kLAAccessControlOperationCreateKey: Int32 { 2 }
/// `LAAccessControlOperation.useKeySign`.
public var kLAAccessControlOperationUseKeySign: Int32 { 3 }
/// `LAAccessControlOperation.useKeyDecrypt`.
public var kLAAccessControlOperationUseKeyDecrypt: Int32 { 4 }
/// `LAAccessControlOperation.useKeyKeyExchange`.
public var kLAAccessControlOperationUseKeyKeyExchange: Int32 { 5 }
/// `LAError.Code.authenticationFailed`.
public var kLAErrorAuthenticationFailed: Int32 { -1 }
/// `LAError.Code.userCancel`.
public var kLAErrorUserCancel: Int32 { -2 }
/// `LAError.Code.userFallback`.
public var kLAErrorUserFallback: Int32 { -3 }
/// `LAError.Code.systemCancel`.
public var kLAErrorSystemCancel: Int32 { -4 }
/// `LAError.Code.passcodeNotSet`.
public var kLAErrorPasscodeNotSet: Int32 { -5 }
/// `LAError.Code.touchIDNotAvailable`.
public var kLAErrorTouchIDNotAvailable: Int32 { -6 }
/// `LAError.Code.touchIDNotEnrolled`.
public var kLAErrorTouchIDNotEnrolled: Int32 { -7 }
/// `LAError.Code.touchIDLockout`.
public var kLAErrorTouchIDLockout: Int32 { -8 }
/// `LAError.Code.appCancel`.
public var kLAErrorAppCancel: Int32 { -9 }
/// `LAError.Code.invalidContext`.
public var kLAErrorInvalidContext: Int32 { -10 }
/// `LAError.Code.companionNotAvailable`.
public var kLAErrorCompanionNotAvailable: Int32 { -11 }
/// `LAError.Code.biometryNotPaired`.
public var kLAErrorBiometryNotPaired: Int32 { -12 }
/// `LAError.Code.biometryDisconnected`.
public var kLAErrorBiometryDisconnected: Int32 { -13 }
/// `LAError.Code.invalidDimensions`.
public var kLAErrorInvalidDimensions: Int32 { -14 }
/// `LAError.Code.notInteractive`.
public var kLAErrorNotInteractive: Int32 { -1004 }
/// `LAError.Code.biometryNotAvailable`.
public var kLAErrorBiometryNotAvailable: Int32 { -6 }
/// `LAError.Code.biometryNotEnrolled`.
public var kLAErrorBiometryNotEnrolled: Int32 { -7 }
/// `LAError.Code.biometryLockout`.
public var kLAErrorBiometryLockout: Int32 { -8 }
/// `LAError.Code.watchNotAvailable`.
public var kLAErrorWatchNotAvailable: Int32 { -11 }
