public import Foundation
internal import TouchstoneCore
import TouchstoneInterfaces

extension LAEnvironment {
    // Unchecked: not final, as it has subclasses; all are of this module, and what they hold never changes.

    /// A way in which the owner can be recognised.
    ///
    /// > Concurrency: Sendable as Apple's is: it and its subclasses have constants only, which a class open to subclasses cannot be
    ///   checked for.
    public class Mechanism: NSObject, @unchecked Sendable {
        /// Whether an evaluation that needs it could be begun now by this app.
        ///
        /// > Source: CE-19: what `canEvaluatePolicy` would answer.
        public let isUsable: Bool
        /// What the owner knows it by.
        public let localizedName: String
        /// The name of Apple's symbol for it, as on Apple's platforms.
        public let iconSystemName: String

        init(isUsable: Bool, localizedName: String, iconSystemName: String) {
            self.isUsable = isUsable
            self.localizedName = localizedName
            self.iconSystemName = iconSystemName
        }
    }

    /// A fingerprint reader or a camera.
    public final class MechanismBiometry: Mechanism, @unchecked Sendable {
        /// What the hardware is, ready or not.
        public let biometryType: LABiometryType
        /// Whether a finger or face is enrolled.
        public let isEnrolled: Bool
        /// Whether only the passcode helps now: after five non-matches in a row, or because the passcode is due (PC-20).
        ///
        /// False if nothing is enrolled.
        public let isLockedOut: Bool
        /// Names the set of enrolled fingers or faces, as `LADomainStateBiometry.stateHash`; there in lockout, too.
        ///
        /// Empty if nothing is enrolled.
        public let stateHash: Data
        /// Whether the sensor is out of reach, as under a closed lid.
        ///
        /// Always false, because no sensor of ours reports it.
        public var builtInSensorInaccessible: Bool { false }

        /// Nil if there is no sensor.
        init?(_ environment: AuthenticationInterface.Environment) {
            let (name, symbol): (String, String)
            switch environment.biometryType {
            case .none: return nil
            case .touchID: (name, symbol) = ("Touch ID", "touchid")
            case .faceID: (name, symbol) = ("Face ID", "faceid")
            case .opticID: (name, symbol) = ("Optic ID", "opticid")
            }
            biometryType = LABiometryType(environment.biometryType)
            isEnrolled = environment.isBiometryEnrolled
            isLockedOut = environment.isBiometryLockedOut
            stateHash = environment.domainState ?? Data()
            super.init(
                isUsable: environment.isBiometryUsable, localizedName: name, iconSystemName: symbol)
        }
    }

    /// A companion device.
    ///
    /// There are none on Linux, so nothing makes one.
    public final class MechanismCompanion: Mechanism, @unchecked Sendable {
        /// Its kind.
        public let type: LACompanionType
        /// Names the companions of this kind.
        public let stateHash: Data?

        init(_ type: LACompanionType, stateHash: Data?, isUsable: Bool, localizedName: String, iconSystemName: String) {
            self.type = type
            self.stateHash = stateHash
            super.init(isUsable: isUsable, localizedName: localizedName, iconSystemName: iconSystemName)
        }
    }

    /// The device's passcode.
    public final class MechanismUserPassword: Mechanism, @unchecked Sendable {
        /// Whether one is set.
        public let isSet: Bool

        init(_ environment: AuthenticationInterface.Environment) {
            isSet = environment.isPasscodeSet
            super.init(
                isUsable: environment.isPasscodeUsable, localizedName: "Passcode", iconSystemName: "lock")
        }
    }
}
