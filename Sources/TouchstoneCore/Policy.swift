/// `LAPolicy`, with Apple's raw values.
package enum Policy: Int, MessageCodable {
    case deviceOwnerAuthenticationWithBiometrics = 1
    case deviceOwnerAuthentication = 2
    case deviceOwnerAuthenticationWithCompanion = 3
    case deviceOwnerAuthenticationWithBiometricsOrCompanion = 4
    case deviceOwnerAuthenticationWithWristDetection = 5

    /// Whether a success sets `evaluatedPolicyDomainState` (DS-01).
    package var isBiometric: Bool {
        self == .deviceOwnerAuthenticationWithBiometrics || self == .deviceOwnerAuthenticationWithBiometricsOrCompanion
    }
}

/// `LABiometryType`, with Apple's raw values.
package enum BiometryType: Int, Codable, MessageCodable {
    case none = 0
    case touchID = 1
    case faceID = 2
    case opticID = 4
}

/// `LAAccessControlOperation`, with Apple's raw values.
package enum AccessControlOperation: Int, MessageCodable {
    case createItem = 0
    case useItem = 1
    case createKey = 2
    case useKeySign = 3
    case useKeyDecrypt = 4
    case useKeyKeyExchange = 5
}
