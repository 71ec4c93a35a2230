/// A keychain result, an `OSStatus` by another name.
///
/// The raw value survives whatever it is.
package struct Status: RawRepresentable, Error, Hashable, Codable, Sendable, CustomStringConvertible {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }
    private init(_ rawValue: Int32) { self.rawValue = rawValue }

    package static let success = Status(0)
    package static let unimplemented = Status(-4)
    package static let diskFull = Status(-34)
    package static let io = Status(-36)
    package static let param = Status(-50)
    package static let allocate = Status(-108)
    package static let userCanceled = Status(-128)
    package static let notAvailable = Status(-25291)
    package static let readOnly = Status(-25292)
    package static let authFailed = Status(-25293)
    package static let duplicateItem = Status(-25299)
    package static let itemNotFound = Status(-25300)
    package static let dataTooLarge = Status(-25302)
    package static let noSuchAttr = Status(-25303)
    package static let noSuchClass = Status(-25306)
    package static let interactionNotAllowed = Status(-25308)
    package static let keySizeNotAllowed = Status(-25311)
    /// Between the daemons only: touchstoned then has the owner asked (AC-40).
    package static let authNeeded = Status(-25330)
    package static let decode = Status(-26275)
    package static let internalError = Status(-26276)
    package static let verifyFailed = Status(-67808)
    package static let missingEntitlement = Status(-34018)

    package var description: String { "OSStatus \(rawValue)" }
}

/// `LAError.Code`, with Apple's raw values.
///
/// Thrown where an evaluation ends without success.
package enum AuthenticationFailure: Int, Error, MessageCodable {
    case authenticationFailed = -1
    case userCancel = -2
    case userFallback = -3
    case systemCancel = -4
    case passcodeNotSet = -5
    case biometryNotAvailable = -6
    case biometryNotEnrolled = -7
    case biometryLockout = -8
    case appCancel = -9
    case invalidContext = -10
    case companionNotAvailable = -11
    case notInteractive = -1004
    /// The access control does not grant the operation (EV-62). Apple has no public name for it.
    case operationNotGranted = -1009
}

extension Status {
    /// AC-44: a cancel stays a cancel, a forbidden prompt stays one, and everything else is a failed authentication.
    package init(_ failure: AuthenticationFailure) {
        switch failure {
        case .userCancel: self = .userCanceled
        case .notInteractive: self = .interactionNotAllowed
        case .authenticationFailed, .userFallback, .systemCancel, .passcodeNotSet, .biometryNotAvailable,
            .biometryNotEnrolled, .biometryLockout, .appCancel, .invalidContext, .companionNotAvailable,
            .operationNotGranted:
            self = .authFailed
        }
    }
}
