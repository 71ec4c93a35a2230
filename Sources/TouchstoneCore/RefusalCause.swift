/// Why a call was refused: one word for each cause, where a status or an `LAError` stands for several.
///
/// The words are part of the interfaces and of the log's format: none ever changes its meaning. Messages carry them as strings, so that a
/// word of a newer device reaches an older client.
package enum RefusalCause: String, CaseIterable, Sendable {
    // What is not set up.
    case passcodeNotSet, noSensor, sensorUnavailable, sensorTooWeak, notEnrolled, noFaceEnrolled, noCompanion
    // What biometry waits for, or may not do.
    case biometryLockedOut, biometrySuspended, passcodeRequired, passcodeDisabled
    case faceIDNotDescribed, faceIDDenied, faceIDNotAnswerable
    // What an access control does not grant, and what is gone for good.
    case operationNotGranted, enrolmentChanged, passcodeRemoved, keyLost
    // What somebody has done to the keychain's file.
    case keychainAltered
    // Application passwords.
    case noApplicationPassword, wrongApplicationPassword, tooManyApplicationPasswords, applicationPasswordDelayed
    // Nobody may be asked, or can be.
    case interactionForbidden, noAgent, appInBackground, deviceLocked, beforeFirstUnlock, waitedTooLong, tooManyWait,
        cancelledTooOften
    // How a prompt ended.
    case missedTooOften, fallbackChosen, ownerCancelled, cancelledByAnother, appLeftForeground, agentLost,
        lockedMeanwhile
    case passcodeChanged, deviceErased, deviceStopped, cancelledByApp
    // The context.
    case contextInvalidated, tooManyContexts, tooManyRounds
    // Whose the app is.
    case foreignAccessGroup, unknownApp, quotaReached
    // What a program does with the device too often.
    case lockedTooOften
    // The device, and the way to it.
    case noDevice, connectionLost, deviceNotWorking, requestTooLarge, notUnderstood

    /// Of what is of a class whose key is not there now (KC-20).
    package init(locked protection: Accessibility) {
        self = protection.availability == .unlocked ? .deviceLocked : .beforeFirstUnlock
    }

    /// The code with which an evaluation ends for this cause.
    package var failure: AuthenticationFailure {
        switch self {
        case .passcodeNotSet: .passcodeNotSet
        case .noSensor, .sensorUnavailable, .sensorTooWeak, .faceIDNotDescribed, .faceIDDenied, .faceIDNotAnswerable,
            .noDevice:
            .biometryNotAvailable
        case .notEnrolled, .noFaceEnrolled: .biometryNotEnrolled
        case .biometryLockedOut, .biometrySuspended, .passcodeRequired: .biometryLockout
        case .noCompanion: .companionNotAvailable
        case .interactionForbidden, .noAgent, .appInBackground, .deviceLocked, .beforeFirstUnlock, .waitedTooLong,
            .tooManyWait, .cancelledTooOften, .lockedTooOften:
            .notInteractive
        case .operationNotGranted: .operationNotGranted
        case .ownerCancelled: .userCancel
        case .fallbackChosen: .userFallback
        case .cancelledByAnother, .appLeftForeground, .agentLost, .lockedMeanwhile, .passcodeChanged, .deviceErased,
            .deviceStopped, .connectionLost:
            .systemCancel
        case .cancelledByApp: .appCancel
        case .contextInvalidated, .tooManyContexts: .invalidContext
        case .passcodeDisabled, .enrolmentChanged, .passcodeRemoved, .keyLost, .keychainAltered,
            .noApplicationPassword, .wrongApplicationPassword, .tooManyApplicationPasswords,
            .applicationPasswordDelayed, .missedTooOften, .tooManyRounds, .foreignAccessGroup, .unknownApp,
            .quotaReached, .deviceNotWorking, .requestTooLarge, .notUnderstood:
            .authenticationFailed
        }
    }
}

/// A status with its cause: what is thrown where one status stands for several.
package struct Refusal: Error, Hashable, Sendable {
    package var status: Status
    package var cause: RefusalCause
    /// What stands in the way, where an access control does.
    package var accessControl: AccessControl?

    package init(_ status: Status, _ cause: RefusalCause, _ accessControl: AccessControl? = nil) {
        self.status = status
        self.cause = cause
        self.accessControl = accessControl
    }
}
