import LocalAuthentication

/// Which biometry this device has, and whether this app can use it now.
///
/// What every app with a "Sign in with Face ID" button writes once: the button's name must be that of the sensor, and what stands beside
/// it depends on why the sensor cannot be used. Asks the device, never the person; the answer is good until the app next leaves the
/// foreground, so ask again when it comes back.
package enum SupportedBiometry: Hashable, Sendable {
    /// There is no sensor: offer the passcode, or a password.
    case none
    case touchID(Readiness)
    case faceID(Readiness)
    case opticID(Readiness)

    package enum Readiness: Hashable, Sendable {
        /// Evaluating it asks for a finger or a face.
        case usable
        /// The person has switched it off for this app: only the device's settings switch it on again.
        case disabledForThisApp
        /// No finger or face is enrolled.
        case notEnrolled
        /// Enrolled, and refused until the passcode has been entered, which `deviceOwnerAuthentication` asks for.
        case lockedOut
        /// Without a passcode nothing is protected by anything.
        case passcodeNotSet
    }

    /// As the device is now.
    package static var current: SupportedBiometry { SupportedBiometry(of: LAContext()) }

    package init(of context: LAContext) {
        var error: NSError?
        let isReady = context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error)
        let readiness = isReady ? .usable : Readiness(error)
        // Told whatever the answer was: a sensor that cannot be used is called by its name too.
        switch context.biometryType {
        case .touchID: self = .touchID(readiness)
        case .faceID: self = .faceID(readiness)
        case .opticID: self = .opticID(readiness)
        default: self = .none
        }
    }

    /// What the sensor is called; nil if there is none.
    package var name: String? {
        switch self {
        case .none: nil
        case .touchID: "Touch ID"
        case .faceID: "Face ID"
        case .opticID: "Optic ID"
        }
    }

    /// nil if there is no sensor.
    package var readiness: Readiness? {
        switch self {
        case .none: nil
        case .touchID(let readiness), .faceID(let readiness), .opticID(let readiness): readiness
        }
    }
}

extension SupportedBiometry.Readiness {
    /// `biometryNotAvailable` on a device that has a sensor means that this app may not use it.
    fileprivate init(_ error: NSError?) {
        self =
            switch (error as? LAError)?.code {
            case .biometryNotEnrolled: .notEnrolled
            case .biometryLockout: .lockedOut
            case .passcodeNotSet: .passcodeNotSet
            default: .disabledForThisApp
            }
    }
}
