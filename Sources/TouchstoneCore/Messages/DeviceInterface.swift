package import Foundation

/// `io.touchstone.Device`: the owner's settings, the lock screen and, on a device created as simulated, the hands that drive it.
package enum DeviceInterface {
    package static let name = "io.touchstone.Device"

    package enum SensorKind: String, Codable, Sendable {
        /// Its owner's hands: `PresentFinger`.
        case simulated
        /// A fingerprint reader of fprintd's.
        case fprintd
        /// Whatever a PAM service says that it has seen.
        case pam
    }

    /// Why a sensor does not work now.
    package enum SensorProblem: String, Codable, Sendable {
        /// Nothing was heard of it yet.
        case starting
        /// The bus that its service is on does not answer.
        case noBus
        /// The service is not on the bus, and nothing there starts it.
        case noService
        /// It is not plugged in.
        case noReader
        /// Another is plugged in, and not the one that the enrolled fingers are of.
        case otherReader
        /// The owner's name is not in /etc/passwd, so that nobody can be recognised by it.
        case unknownOwner
        /// The service does not let this user have the reader.
        case notAllowed
        /// The service answers too late, or nothing that can be understood.
        case notAnswering
        /// The templates, which could be read before, cannot be read now: nobody can say whether they are the same.
        case templatesUnreadable
    }

    /// A sensor: a simulated one, or one that the enclave itself speaks to.
    package struct Sensor: Codable, Hashable, Sendable {
        package var kind: SensorKind
        /// What it calls itself: a claim of its own.
        package var name: String?
        /// nil: it works.
        package var problem: SensorProblem?
        /// Nobody knows how well it recognises whom: it is never taken for the current set, and for biometry only with the owner's leave.
        package var isWeak: Bool
        /// Whether the enrolled set is known by the templates themselves; else by the fingers' names, and one that is enrolled anew
        /// under the same name while the device is off is not noticed.
        package var areTemplatesRead: Bool

        package init(kind: SensorKind, name: String?, problem: SensorProblem?, isWeak: Bool, areTemplatesRead: Bool) {
            self.kind = kind
            self.name = name
            self.problem = problem
            self.isWeak = isWeak
            self.areTemplatesRead = areTemplatesRead
        }
    }

    package struct Status: Codable, Hashable, Sendable {
        package var name: String
        package var isSimulated: Bool
        /// What binds the device to this machine: `software` or `tpm2`.
        package var rootOfTrust: String
        package var biometryType: BiometryType
        package var isEnrolled: Bool
        package var isPasscodeSet: Bool
        /// nil without a passcode.
        package var passcodeKind: PasscodeKind?
        /// Whether the last wrong passcode in a row erases the device (PC-02).
        package var erasesData: Bool
        /// Wrong passcodes erased the device, and no passcode was set since.
        package var wasErased: Bool
        package var isLocked: Bool
        package var wasUnlockedSinceBoot: Bool
        /// Whether only the passcode helps now (EV-26, PC-20).
        package var isBiometryLockedOut: Bool
        package var passcodeFailures: Int
        /// Seconds until the next passcode is looked at.
        package var passcodeRetryAfterSeconds: Double?
        package var isPasscodeDisabled: Bool
        package var hasAgent: Bool
        package var hasPrompt: Bool
        /// nil: it has none.
        package var sensor: Sensor?
        /// Whether P-256 keys of the enclave are made and used in the TPM; nil: in the enclave.
        package var areKeysInTPM: Bool?

        package init(
            name: String, isSimulated: Bool, rootOfTrust: String, biometryType: BiometryType,
            isEnrolled: Bool, isPasscodeSet: Bool, passcodeKind: PasscodeKind?,
            erasesData: Bool, wasErased: Bool, isLocked: Bool,
            wasUnlockedSinceBoot: Bool, isBiometryLockedOut: Bool,
            passcodeFailures: Int, passcodeRetryAfterSeconds: Double?, isPasscodeDisabled: Bool, hasAgent: Bool,
            hasPrompt: Bool, sensor: Sensor? = nil, areKeysInTPM: Bool? = nil
        ) {
            self.name = name
            self.isSimulated = isSimulated
            self.rootOfTrust = rootOfTrust
            self.biometryType = biometryType
            self.isEnrolled = isEnrolled
            self.isPasscodeSet = isPasscodeSet
            self.passcodeKind = passcodeKind
            self.erasesData = erasesData
            self.wasErased = wasErased
            self.isLocked = isLocked
            self.wasUnlockedSinceBoot = wasUnlockedSinceBoot
            self.isBiometryLockedOut = isBiometryLockedOut
            self.passcodeFailures = passcodeFailures
            self.passcodeRetryAfterSeconds = passcodeRetryAfterSeconds
            self.isPasscodeDisabled = isPasscodeDisabled
            self.hasAgent = hasAgent
            self.hasPrompt = hasPrompt
            self.sensor = sensor
            self.areKeysInTPM = areKeysInTPM
        }
    }

    package enum GetStatus: VarlinkMethod {
        package static let name = "io.touchstone.Device.GetStatus"
        package typealias Parameters = Empty
        package struct Reply: Codable, Sendable {
            package var status: Status
            package init(status: Status) { self.status = status }
        }
    }

    /// A nonce for one `ChangePasscode` or `Unlock`, from the enclave.
    package enum GetNonce: VarlinkMethod {
        package static let name = "io.touchstone.Device.GetNonce"
        package typealias Parameters = Empty
        package struct Reply: Codable, Sendable {
            package var nonce: Data
            package init(nonce: Data) { self.nonce = nonce }
        }
    }

    /// Sets, changes or removes the passcode: both passcodes are in one sealed message, an empty one stands for none.
    package enum ChangePasscode: VarlinkMethod {
        package static let name = "io.touchstone.Device.ChangePasscode"
        package struct Parameters: Codable, Sendable {
            package var passcodes: SealedPasscode
            /// What the new one is made of; nil: alphanumeric.
            package var kind: PasscodeKind?
            package init(passcodes: SealedPasscode, kind: PasscodeKind? = nil) {
                self.passcodes = passcodes
                self.kind = kind
            }
        }
        package typealias Reply = Empty
    }

    /// Unlocks the lock screen with the passcode.
    package enum Unlock: VarlinkMethod {
        package static let name = "io.touchstone.Device.Unlock"
        package struct Parameters: Codable, Sendable {
            package var passcode: SealedPasscode
            package init(passcode: SealedPasscode) { self.passcode = passcode }
        }
        package typealias Reply = Empty
    }

    /// Turns erasing after ten wrong passcodes on or off, with the passcode (PC-02, PC-22).
    package enum SetEraseData: VarlinkMethod {
        package static let name = "io.touchstone.Device.SetEraseData"
        package struct Parameters: Codable, Sendable {
            package var isOn: Bool
            /// Sealed for this setting and this value.
            package var passcode: SealedPasscode
            package init(isOn: Bool, passcode: SealedPasscode) {
                self.isOn = isOn
                self.passcode = passcode
            }
        }
        package typealias Reply = Empty
    }

    /// Forgets the reader and who is enrolled with it, with the passcode: the way to another reader (PC-22, DEC-062).
    package enum ForgetReader: VarlinkMethod {
        package static let name = "io.touchstone.Device.ForgetReader"
        package struct Parameters: Codable, Sendable {
            /// Sealed for this.
            package var passcode: SealedPasscode
            package init(passcode: SealedPasscode) { self.passcode = passcode }
        }
        package typealias Reply = Empty
    }

    /// Accepts the keychain's items with an access control as they are now, with the passcode (PC-22).
    package enum AcceptItems: VarlinkMethod {
        package static let name = "io.touchstone.Device.AcceptItems"
        package struct Parameters: Codable, Sendable {
            /// Sealed for this.
            package var passcode: SealedPasscode
            package init(passcode: SealedPasscode) { self.passcode = passcode }
        }
        package typealias Reply = Empty
    }

    package enum Lock: VarlinkMethod {
        package static let name = "io.touchstone.Device.Lock"
        package struct Parameters: Codable, Sendable {
            /// No finger unlocks it again, only the passcode (PC-20); nil: a finger may.
            package var requiresPasscode: Bool?
            package init(requiresPasscode: Bool? = nil) { self.requiresPasscode = requiresPasscode }
        }
        package typealias Reply = Empty
    }

    /// The owner agrees to a backup, with the passcode; `BackupInterface` does the rest.
    package enum AuthorizeBackup: VarlinkMethod {
        package static let name = "io.touchstone.Device.AuthorizeBackup"
        package struct Parameters: Codable, Sendable {
            package var direction: BackupDirection
            /// The passcode, then the backup's key (32 bytes), sealed for `export` or `import`.
            package var passcode: SealedPasscode
            package init(direction: BackupDirection, passcode: SealedPasscode) {
                self.direction = direction
                self.passcode = passcode
            }
        }
        package typealias Reply = Empty
    }

    /// Whether an app may use Face ID, as the owner answered (CE-09).
    package struct FaceIDPermission: Codable, Hashable, Sendable {
        /// Application identifier.
        package var app: String
        package var isAllowed: Bool
        package init(app: String, isAllowed: Bool) {
            self.app = app
            self.isAllowed = isAllowed
        }
    }

    /// The apps for which the owner has answered, in the order of the answers.
    package enum ListFaceIDPermissions: VarlinkMethod {
        package static let name = "io.touchstone.Device.ListFaceIDPermissions"
        package typealias Parameters = Empty
        package struct Reply: Codable, Sendable {
            package var permissions: [FaceIDPermission]
            package init(permissions: [FaceIDPermission]) { self.permissions = permissions }
        }
    }

    package enum SetFaceIDPermission: VarlinkMethod {
        package static let name = "io.touchstone.Device.SetFaceIDPermission"
        package struct Parameters: Codable, Sendable {
            package var app: String
            /// nil forgets the answer: the app's next evaluation asks.
            package var isAllowed: Bool?
            package init(app: String, isAllowed: Bool?) {
                self.app = app
                self.isAllowed = isAllowed
            }
        }
        package typealias Reply = Empty
    }

    // Driving methods: each answers `NotSimulated` on a real device.

    /// Ends both daemons after the reply; the supervisor starts them again.
    package enum Reboot: VarlinkMethod {
        package static let name = "io.touchstone.Device.Reboot"
        package typealias Parameters = Empty
        package typealias Reply = Empty
    }

    package enum Enroll: VarlinkMethod {
        package static let name = "io.touchstone.Device.Enroll"
        package struct Parameters: Codable, Sendable {
            /// The finger or face: 1...64 bytes of UTF-8.
            package var finger: String
            package init(finger: String) { self.finger = finger }
        }
        package typealias Reply = Empty
    }

    package enum RemoveFinger: VarlinkMethod {
        package static let name = "io.touchstone.Device.RemoveFinger"
        package typealias Parameters = Enroll.Parameters
        package typealias Reply = Empty
    }

    package enum ListFingers: VarlinkMethod {
        package static let name = "io.touchstone.Device.ListFingers"
        package typealias Parameters = Empty
        package struct Reply: Codable, Sendable {
            package var fingers: [String]
            package init(fingers: [String]) { self.fingers = fingers }
        }
    }

    package enum Touch: String, Codable, Sendable {
        case matched, notMatched
        /// The lock screen was open and the finger unlocked it.
        case unlocked
        /// The lock screen was open and wants the passcode.
        case passcodeRequired
        /// Nothing asked for a finger: it did nothing.
        case notWaiting
    }

    /// Lays a finger on the sensor (or shows a face): `finger` absent means one that is not enrolled.
    package enum PresentFinger: VarlinkMethod {
        package static let name = "io.touchstone.Device.PresentFinger"
        package struct Parameters: Codable, Sendable {
            package var finger: String?
            package init(finger: String?) { self.finger = finger }
        }
        package struct Reply: Codable, Sendable {
            package var touch: Touch
            package init(touch: Touch) { self.touch = touch }
        }
    }

    package enum ApplicationState: String, Codable, Sendable {
        case foreground, background
    }

    /// Every app is in the foreground until this says otherwise.
    package enum SetApplicationState: VarlinkMethod {
        package static let name = "io.touchstone.Device.SetApplicationState"
        package struct Parameters: Codable, Sendable {
            package var app: String
            package var state: ApplicationState
            package init(app: String, state: ApplicationState) {
                self.app = app
                self.state = state
            }
        }
        package typealias Reply = Empty
    }

    /// Unplugs the sensor, or plugs it in again; a boot finds it plugged in.
    package enum SetSensorConnected: VarlinkMethod {
        package static let name = "io.touchstone.Device.SetSensorConnected"
        package struct Parameters: Codable, Sendable {
            package var isConnected: Bool
            package init(isConnected: Bool) { self.isConnected = isConnected }
        }
        package typealias Reply = Empty
    }

    /// Moves the device's clock forward; a boot sets it to the machine's again.
    package enum AdvanceClock: VarlinkMethod {
        package static let name = "io.touchstone.Device.AdvanceClock"
        /// Of one call, in seconds: 366 days.
        package static let maximum: Double = 366 * 86400
        /// Of all calls since the boot.
        package static let maximumInTotal: Double = 10 * maximum

        package struct Parameters: Codable, Sendable {
            /// More than 0, at most ``maximum``.
            package var seconds: Double
            package init(seconds: Double) { self.seconds = seconds }
        }
        package typealias Reply = Empty
    }

    package struct NotSimulated: VarlinkError {
        package static let name = "io.touchstone.Device.NotSimulated"
        package init() {}
    }

    /// The passcode was not accepted; nothing changed but what `isErased` says.
    package struct PasscodeRejected: VarlinkError {
        package static let name = "io.touchstone.Device.PasscodeRejected"
        /// Seconds until the next one is looked at; absent: now.
        package var retryAfterSeconds: Double?
        /// It was the last one: the device was erased (PC-02).
        package var isErased: Bool
        package init(retryAfterSeconds: Double?, isErased: Bool = false) {
            self.retryAfterSeconds = retryAfterSeconds
            self.isErased = isErased
        }
    }

    /// The state of the device does not allow it; nothing changed.
    package struct Refused: VarlinkError {
        package static let name = "io.touchstone.Device.Refused"
        package var reason: RefusalReason
        /// With `notListed`: the program that asked, and the directory of the files that name those that may.
        package var program: String?
        package var directory: String?
        package init(_ reason: RefusalReason, program: String? = nil, directory: String? = nil) {
            self.reason = reason
            self.program = program
            self.directory = directory
        }
    }

    package enum RefusalReason: String, Codable, Sendable {
        case passcodeNotSet, passcodeAlreadySet, passcodeDisabled, passcodeTooShort, passcodeTooLong, busy
        /// The new passcode is not of the kind that was said.
        case passcodeNotOfKind
        /// It has another sensor than a camera, or none.
        case noFaceID
        case noSensor, tooManyFingers, fingerAlreadyEnrolled, noSuchFinger, invalidName
        case staleNonce, unreadablePasscode, notOwner
        /// Sealed to a key of the enclave's that is no more: it makes another at each boot.
        case staleKey
        /// The program is not on root's list for the owner's interface.
        case notListed
        /// Programs have locked it again and again: for some minutes it locks with the session alone.
        case lockedTooOften
        /// The device's disk did not take it: nothing changed.
        case notKept
        case locked
        /// The device's TPM does not say whether a passcode is right.
        case tpmUnavailable
        /// It takes none now, after wrong ones of this device's or of another program's.
        case tpmLockedOut
    }
}
