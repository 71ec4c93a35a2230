internal import TouchstoneCore

/// What the owner has to prove (A.4).
public enum LAPolicy: Int, Sendable {
    /// A finger or a face.
    case deviceOwnerAuthenticationWithBiometrics = 1
    /// A finger or a face, else the passcode.
    case deviceOwnerAuthentication = 2
    /// A companion device nearby.
    case deviceOwnerAuthenticationWithCompanion = 3
    /// A finger or a face, or a companion device nearby.
    case deviceOwnerAuthenticationWithBiometricsOrCompanion = 4

    /// Old name of `deviceOwnerAuthenticationWithCompanion`.
    public static var deviceOwnerAuthenticationWithWatch: LAPolicy { .deviceOwnerAuthenticationWithCompanion }
    /// Old name of `deviceOwnerAuthenticationWithBiometricsOrCompanion`.
    public static var deviceOwnerAuthenticationWithBiometricsOrWatch: LAPolicy {
        .deviceOwnerAuthenticationWithBiometricsOrCompanion
    }

    var value: Policy {
        switch self {
        case .deviceOwnerAuthenticationWithBiometrics: .deviceOwnerAuthenticationWithBiometrics
        case .deviceOwnerAuthentication: .deviceOwnerAuthentication
        case .deviceOwnerAuthenticationWithCompanion: .deviceOwnerAuthenticationWithCompanion
        case .deviceOwnerAuthenticationWithBiometricsOrCompanion: .deviceOwnerAuthenticationWithBiometricsOrCompanion
        }
    }
}
