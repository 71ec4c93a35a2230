package import Foundation
package import TouchstoneCore

// What the enclave is asked and what it answers, in values of its own: its host puts them into messages.

extension Enclave {
    /// How the device stands, as one app may know it.
    package struct Facts: Hashable, Sendable {
        package var isSimulated: Bool
        /// What binds the device to this machine, see ``RootOfTrust/kind``.
        package var rootOfTrust: String
        package var biometryType: BiometryType
        package var isEnrolled: Bool
        package var isPasscodeSet: Bool
        package var passcodeKind: PasscodeKind?
        package var erasesData: Bool
        /// Wrong passcodes erased the device, and no passcode was set since.
        package var wasErased: Bool
        package var isLocked: Bool
        package var wasUnlockedSinceBoot: Bool
        package var isBiometryLockedOut: Bool
        package var passcodeFailures: Int
        package var passcodeRetryAfterSeconds: Double?
        package var isPasscodeDisabled: Bool
        /// Of the enrolled set, as this app may see it (DS-04, DS-05).
        package var domainState: Data?
        /// nil: it has none.
        package var sensor: SensorStatus?
        package var areKeysInTPM: Bool?
    }

    /// The device does not do it; nothing changed.
    package struct Refused: Error, Hashable, Sendable {
        package var reason: RefusalReason
        init(_ reason: RefusalReason) { self.reason = reason }
    }

    /// Why not.
    package enum RefusalReason: String, CaseIterable, Sendable {
        case passcodeNotSet, passcodeAlreadySet, passcodeDisabled, passcodeTooShort, passcodeTooLong, passcodeNotOfKind
        case busy, noFaceID, noSensor, hasSensor, tooManyFingers, fingerAlreadyEnrolled, noSuchFinger, invalidName
        case staleNonce, unreadablePasscode, staleKey, locked, lockedTooOften
        case notKept, tpmUnavailable, tpmLockedOut
    }

    /// The context is unknown, or another app's.
    package struct InvalidContext: Error {}

    /// Who sends what was typed, as far as is known: the connection by its number, and the program's name, for the log.
    package struct Caller: Sendable {
        package var connection: Int
        package var app: AppIdentifier?

        package init(connection: Int, app: AppIdentifier? = nil) {
            self.connection = connection
            self.app = app
        }
    }

    // MARK: evaluations

    /// What an app would have the owner prove.
    package struct EvaluationRequest: Sendable {
        /// nil asks only whether it can be proven on this device.
        package var context: String?
        package var app: AppIdentifier
        package var requirement: Requirement
        /// Seconds since an unlock with biometry that still count (EV-40).
        package var reuseDuration: Double
        /// Whether the app says why it wants Face ID (CE-11).
        package var isFaceIDDescribed: Bool
        /// Seconds for which what such an unlock proves is good; nil: as long as the context (ND-4).
        package var validFor: Double?

        package init(
            context: String?, app: AppIdentifier, requirement: Requirement, reuseDuration: Double,
            isFaceIDDescribed: Bool, validFor: Double? = nil
        ) {
            self.context = context
            self.app = app
            self.requirement = requirement
            self.reuseDuration = reuseDuration
            self.isFaceIDDescribed = isFaceIDDescribed
            self.validFor = validFor
        }
    }

    /// What an evaluation would meet.
    package enum Verdict: Hashable, Sendable {
        /// The context has what is required (EV-30, EV-40).
        case satisfied
        /// The owner has to act.
        case interactive
        /// It cannot be met.
        case refused(RefusalCause)
    }

    /// The evaluation that an app would begin.
    package struct EvaluationStart: Sendable {
        /// nil: one is made for it, of `accessGroups`.
        package var context: String?
        package var accessGroups: [AccessGroup]
        package var app: AppIdentifier
        package var requirement: Requirement
        /// The app hid the fallback button (EV-14, EV-22).
        package var isFallbackHidden: Bool
        package var isFaceIDDescribed: Bool
        /// An evaluation whose app hears of a failure, because this one takes its place.
        package var replaces: String?
        /// Seconds since an unlock with biometry that still count (EV-40).
        package var reuseDuration: Double
        /// Seconds for which what is proven is good; nil: as long as the context (ND-4).
        package var validFor: Double?

        package init(
            context: String?, accessGroups: [AccessGroup] = [], app: AppIdentifier, requirement: Requirement,
            isFallbackHidden: Bool, isFaceIDDescribed: Bool, replaces: String? = nil, reuseDuration: Double = 0,
            validFor: Double? = nil
        ) {
            self.context = context
            self.accessGroups = accessGroups
            self.app = app
            self.requirement = requirement
            self.isFallbackHidden = isFallbackHidden
            self.isFaceIDDescribed = isFaceIDDescribed
            self.replaces = replaces
            self.reuseDuration = reuseDuration
            self.validFor = validFor
        }
    }

    /// What became of it.
    ///
    /// The context is the one that was named, or was made for it.
    package enum Beginning: Hashable, Sendable {
        /// The owner is asked.
        case begun(evaluation: String, context: String, Progress)
        /// Nobody has to be asked.
        case satisfied(context: String)
        /// It cannot be met, and no context was made.
        case refused(RefusalCause)
    }

    /// How an evaluation is over.
    package enum EvaluationEnd: Hashable, Sendable {
        case succeeded
        case failed(AuthenticationFailure, RefusalCause?)

        /// For this cause, with its code.
        static func refused(_ cause: RefusalCause) -> EvaluationEnd { .failed(cause.failure, cause) }
    }

    /// What the owner is asked for.
    package enum Phase: String, CaseIterable, Sendable {
        /// Whether the app may use Face ID (CE-10).
        case permission
        /// The sensor waits.
        case biometry
        /// Face ID looks again when it is told to (EV-16).
        case retry
        /// Only the fallback and cancel are left (EV-16).
        case fallback
        case passcode
    }

    /// Where an evaluation is.
    package struct Progress: Hashable, Sendable {
        package var phase: Phase
        /// Whether choosing the fallback leads to the passcode (EV-18); otherwise it ends the evaluation (EV-17).
        package var fallbackIsPasscode: Bool
        package var isFallbackOffered: Bool
        /// Non-matches in this evaluation.
        package var failures: Int
        package var hint: SensorHint?
        /// What the next passcode has to be sealed with.
        package var nonce: Data
        package var retryAfterSeconds: Double?
        package var wrongPasscode: Bool
        package var passcodeKind: PasscodeKind?
    }

    /// What a touch did.
    package enum Touch: String, CaseIterable, Sendable {
        case matched, notMatched, unlocked
        /// No finger helps now.
        case passcodeRequired
        /// Nobody waits for one.
        case notWaiting
    }

    // MARK: items

    /// What a wrapped key is inseparable from: change it and the key no longer opens.
    package struct ItemBinding: Hashable, Sendable {
        package var accessGroup: AccessGroup
        /// Class, identifier and version of the row.
        package var item: Data

        package init(accessGroup: AccessGroup, item: Data) {
            self.accessGroup = accessGroup
            self.item = item
        }
    }

    /// A wrapped key with what it was bound to.
    package struct WrappedItem: Hashable, Sendable {
        package var wrappedKey: Data
        package var binding: ItemBinding

        package init(wrappedKey: Data, binding: ItemBinding) {
            self.wrappedKey = wrappedKey
            self.binding = binding
        }
    }

    /// An item's key that is to be wrapped.
    package struct ItemKey: Sendable {
        package var accessControl: AccessControl
        package var binding: ItemBinding
        /// 32 bytes.
        package var key: Data
        package var app: AppIdentifier
        package var context: String?

        package init(
            accessControl: AccessControl, binding: ItemBinding, key: Data, app: AppIdentifier, context: String?
        ) {
            self.accessControl = accessControl
            self.binding = binding
            self.key = key
            self.app = app
            self.context = context
        }
    }

    /// A key could not be wrapped.
    package struct NotWrapped: Error, Hashable, Sendable {
        package var status: Status
        package var cause: RefusalCause?

        package init(_ status: Status, _ cause: RefusalCause? = nil) {
            self.status = status
            self.cause = cause
        }
    }

    /// Whether an item's key is there.
    package enum KeyState: String, CaseIterable, Sendable {
        case open
        /// The class key is not there now.
        case locked
        /// It can never be opened again (KC-16, AC-51).
        case gone
        /// The owner has to prove something first (AC-40).
        case authenticationNeeded
        /// It is not one of those that were recorded, see ``RecordedItems``.
        case altered
    }

    /// The metadata keys that can be had now.
    package struct MetadataKeys: Sendable {
        package var keys: [Accessibility: Data] = [:]
        /// Classes that are destroyed, not merely locked (KC-23).
        package var destroyed: [Accessibility] = []
        package var isErasurePending: Bool
        package var generation: Int
        /// Of the earlier generations, the newest first.
        package var earlier: [Accessibility: [Data]] = [:]
    }

    /// The rows with an access control that a look found.
    package struct ItemsLook: Hashable, Sendable {
        package var isRecorded: Bool
        /// The groups that do not fit what was recorded.
        package var altered: [UInt8] = []
        /// The name of the look; nil until it is whole.
        package var look: String?
    }

    /// A change of the rows with an access control, or a part of it.
    package struct ItemsChange: Sendable {
        package var removed: Data
        package var added: Data
        package var isFirst: Bool
        package var isLast: Bool
        /// A full disk takes it too.
        package var isDeletion: Bool

        package init(removed: Data, added: Data, isFirst: Bool, isLast: Bool, isDeletion: Bool) {
            self.removed = removed
            self.added = added
            self.isFirst = isFirst
            self.isLast = isLast
            self.isDeletion = isDeletion
        }
    }

    // MARK: backups

    /// There is no such session of this direction, or not any more.
    package struct NoSuchBackup: Error {}

    /// One item's key on its way into a backup, or back.
    package struct BackupKey: Sendable {
        package var wrappedKey: Data
        package var binding: ItemBinding
        package var accessControl: AccessControl

        package init(wrappedKey: Data, binding: ItemBinding, accessControl: AccessControl) {
            self.wrappedKey = wrappedKey
            self.binding = binding
            self.accessControl = accessControl
        }
    }

    /// What became of it.
    package enum RewrappedKey: Hashable, Sendable {
        case wrapped(Data)
        /// The class key is not there now.
        case locked
        /// It belongs to no backup (KC-26).
        case excluded
        /// It does not open.
        case gone
    }

    // MARK: what a simulated device's owner may look at

    /// Where a class key is.
    package enum ClassKeyState: String, CaseIterable, Sendable {
        case open
        /// Aside, for a finger (PC-33).
        case heldForBiometry
        /// Only the passcode brings it back.
        case sealed
        /// There is none while there is no passcode (KC-23).
        case absent
    }

    /// Whether an item could be opened now.
    package enum Availability: String, CaseIterable, Sendable {
        case available, authenticationNeeded, locked, notUnlockedSinceBoot, enrolmentChanged, passcodeRemoved, damaged
    }

    /// The same, and why what the access control wants cannot be given now; nil: it can.
    package struct Prospect: Hashable, Sendable {
        package var availability: Availability
        package var obstacle: AuthenticationFailure?

        init(_ availability: Availability, obstacle: AuthenticationFailure? = nil) {
            self.availability = availability
            self.obstacle = obstacle
        }
    }

    // MARK: what others saw

    /// What touchstoned saw itself.
    package enum Observation: Hashable, Sendable {
        case agentConnected, agentLost
        /// So many lines could not be written; nil: nobody counted them.
        case logInterrupted(lines: Int?)
        /// It refused an app's call, or several equal ones, without asking the enclave; nil: several that are not told apart.
        case callRefused(RefusedCall?, count: Int)
    }

    /// Which call of which app was refused, and what it wanted of the owner.
    package struct RefusedCall: Hashable, Sendable {
        package var app: AppIdentifier
        /// For whom a bridge made the call; nil: for itself.
        package var client: AppIdentifier?
        package var cause: RefusalCause
        package var requirement: Requirement?

        package init(
            app: AppIdentifier, client: AppIdentifier? = nil, cause: RefusalCause, requirement: Requirement?
        ) {
            self.app = app
            self.client = client
            self.cause = cause
            self.requirement = requirement
        }
    }
}
