package import Foundation

extension AuthenticationInterface {
    /// What the owner can be asked for on this device, as one app may know it (CE-19).
    ///
    /// Never how many fingers there are, or which (AT-15).
    package struct Environment: Codable, Hashable, Sendable {
        /// What the hardware is.
        package var biometryType: BiometryType
        /// Whether policy 1 could be evaluated by this app.
        package var isBiometryUsable: Bool
        package var isBiometryEnrolled: Bool
        package var isBiometryLockedOut: Bool
        /// Whether policy 2 could be evaluated by this app.
        package var isPasscodeUsable: Bool
        package var isPasscodeSet: Bool
        /// Of the enrolled set as this app may see it (DS-05); nil where nothing is enrolled.
        package var domainState: Data?

        package init(
            biometryType: BiometryType, isBiometryUsable: Bool, isBiometryEnrolled: Bool, isBiometryLockedOut: Bool,
            isPasscodeUsable: Bool, isPasscodeSet: Bool, domainState: Data?
        ) {
            self.biometryType = biometryType
            self.isBiometryUsable = isBiometryUsable
            self.isBiometryEnrolled = isBiometryEnrolled
            self.isBiometryLockedOut = isBiometryLockedOut
            self.isPasscodeUsable = isPasscodeUsable
            self.isPasscodeSet = isPasscodeSet
            self.domainState = domainState
        }
    }

    /// The environment as it is; with `more`, once more after every change.
    package enum GetEnvironment: VarlinkMethod {
        package static let name = "io.touchstone.Authentication.GetEnvironment"
        package typealias Parameters = Empty
        package struct Reply: Codable, Sendable {
            package var environment: Environment
            package init(environment: Environment) { self.environment = environment }
        }
    }

    /// Who the app that asks is: its identifier, the groups of its manifest, and how the device knows all that.
    package enum GetIdentity: VarlinkMethod {
        package static let name = "io.touchstone.Authentication.GetIdentity"
        package typealias Parameters = Empty
        package struct Reply: Codable, Sendable {
            /// Also the name of the access group that is the app's alone (KC-40).
            package var app: String
            // nil from an older device, which does not report these.
            package var evidence: AppIdentity.Evidence?
            /// nil where the manifest names no digest.
            package var hasPinnedDigest: Bool?
            package var keychainAccessGroups: [String]?
            package var applicationGroups: [String]?

            package init(_ app: AppIdentity) {
                self.app = app.identifier
                evidence = app.evidence
                hasPinnedDigest = app.hasPinnedDigest
                keychainAccessGroups = app.keychainAccessGroups
                applicationGroups = app.applicationGroups
            }
        }
    }
}
