package import Foundation

/// `io.touchstone.Enclave`: what touchstoned may ask of the enclave, on their private socket pair.
///
/// Every method answers at once; what waits for the owner, or for the passcode's key derivation, is told by
/// `WatchEvents`.
package enum EnclaveInterface {
    package static let name = "io.touchstone.Enclave"

    package struct Facts: Codable, Hashable, Sendable {
        package var isSimulated: Bool
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
        package var isBiometryLockedOut: Bool
        package var passcodeFailures: Int
        package var passcodeRetryAfterSeconds: Double?
        package var isPasscodeDisabled: Bool
        /// Of the enrolled set as this app may see it (DS-04, DS-05); nil when nothing is enrolled.
        package var domainState: Data?
        /// nil: it has none.
        package var sensor: DeviceInterface.Sensor?
        /// Whether P-256 keys are made and used in the TPM.
        package var areKeysInTPM: Bool?

        package init(
            isSimulated: Bool, rootOfTrust: String, biometryType: BiometryType,
            isEnrolled: Bool, isPasscodeSet: Bool, passcodeKind: PasscodeKind?, erasesData: Bool, wasErased: Bool,
            isLocked: Bool, wasUnlockedSinceBoot: Bool,
            isBiometryLockedOut: Bool, passcodeFailures: Int,
            passcodeRetryAfterSeconds: Double?, isPasscodeDisabled: Bool, domainState: Data?,
            sensor: DeviceInterface.Sensor? = nil, areKeysInTPM: Bool? = nil
        ) {
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
            self.domainState = domainState
            self.sensor = sensor
            self.areKeysInTPM = areKeysInTPM
        }
    }

    package enum GetFacts: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.GetFacts"
        package struct Parameters: Codable, Sendable {
            package var app: String
            package init(app: String) { self.app = app }
        }
        package struct Reply: Codable, Sendable {
            package var facts: Facts
            package init(facts: Facts) { self.facts = facts }
        }
    }

    // MARK: contexts and evaluations

    package enum CreateContext: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.CreateContext"
        package struct Parameters: Codable, Sendable {
            package var app: String
            /// What is proven to the context opens items of these groups, and of no other.
            package var accessGroups: [String]
            package init(app: String, accessGroups: [String]) {
                self.app = app
                self.accessGroups = accessGroups
            }
        }
        package struct Reply: Codable, Sendable {
            package var context: String
            package init(context: String) { self.context = context }
        }
    }

    package enum InvalidateContext: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.InvalidateContext"
        package struct Parameters: Codable, Sendable {
            package var context: String
            package init(context: String) { self.context = context }
        }
        package typealias Reply = Empty
    }

    /// Gives a context the application password, or takes it away (EV-60).
    ///
    /// With a ticket the answer is an event: a password takes as long to be stretched as a passcode.
    package enum SetCredential: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.SetCredential"
        package struct Parameters: Codable, Sendable {
            package var context: String
            package var app: String
            /// nil takes it away.
            package var credential: SealedPasscode?
            package init(context: String, app: String, credential: SealedPasscode?) {
                self.context = context
                self.app = app
                self.credential = credential
            }
        }
        package struct Reply: Codable, Sendable {
            /// nil: done.
            package var ticket: String?
            package init(ticket: String?) { self.ticket = ticket }
        }
    }

    package enum IsCredentialSet: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.IsCredentialSet"
        package struct Parameters: Codable, Sendable {
            package var context: String
            package var app: String
            package init(context: String, app: String) {
                self.context = context
                self.app = app
            }
        }
        package struct Reply: Codable, Sendable {
            package var isSet: Bool
            /// Seconds until the app's next application password is taken, after wrong ones; nil: now.
            package var retryAfterSeconds: Double?
            package init(isSet: Bool, retryAfterSeconds: Double? = nil) {
                self.isSet = isSet
                self.retryAfterSeconds = retryAfterSeconds
            }
        }
    }

    /// What an evaluation would meet, without beginning one.
    package enum Preflight: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.Preflight"
        package struct Parameters: Codable, Sendable {
            /// nil asks only whether the requirement can be met on this device.
            package var context: String?
            package var app: String
            package var requirement: Requirement
            package var reuseDuration: Double
            /// Whether the app says why it wants Face ID; without that it may not use it (CE-11).
            package var isFaceIDDescribed: Bool
            package init(
                context: String?, app: String, requirement: Requirement, reuseDuration: Double,
                isFaceIDDescribed: Bool = true
            ) {
                self.context = context
                self.app = app
                self.requirement = requirement
                self.reuseDuration = reuseDuration
                self.isFaceIDDescribed = isFaceIDDescribed
            }
        }
        package struct Reply: Codable, Sendable {
            package var verdict: Verdict
            package var code: AuthenticationFailure?
            /// A word of `RefusalCause`, beside the code.
            package var reason: String?
            package init(verdict: Verdict, code: AuthenticationFailure? = nil, cause: RefusalCause? = nil) {
                self.verdict = verdict
                self.code = code
                reason = cause?.rawValue
            }
        }
        package enum Verdict: String, Codable, Sendable {
            /// The context has what is required (EV-30, EV-40).
            case satisfied
            /// It cannot be met: see `code`.
            case refused
            /// The owner has to act.
            case interactive
        }
    }

    package struct Progress: Codable, Hashable, Sendable {
        package var phase: AgentInterface.Phase
        /// Whether choosing the fallback leads to the passcode (EV-18); otherwise it ends the evaluation with -3 (EV-17).
        package var fallbackIsPasscode: Bool
        package var isFallbackOffered: Bool
        package var failures: Int
        package var hint: AgentInterface.SensorHint?
        package var nonce: Data
        package var retryAfterSeconds: Double?
        package var wrongPasscode: Bool
        /// What the passcode is made of; nil without one.
        package var passcodeKind: PasscodeKind?

        package init(
            phase: AgentInterface.Phase, fallbackIsPasscode: Bool, isFallbackOffered: Bool, failures: Int, nonce: Data,
            retryAfterSeconds: Double?, wrongPasscode: Bool, passcodeKind: PasscodeKind?,
            hint: AgentInterface.SensorHint? = nil
        ) {
            self.phase = phase
            self.fallbackIsPasscode = fallbackIsPasscode
            self.isFallbackOffered = isFallbackOffered
            self.failures = failures
            self.nonce = nonce
            self.retryAfterSeconds = retryAfterSeconds
            self.wrongPasscode = wrongPasscode
            self.passcodeKind = passcodeKind
            self.hint = hint
        }
    }

    /// Begins an evaluation; the one before it, if any, ends with -4.
    package enum BeginEvaluation: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.BeginEvaluation"
        package struct Parameters: Codable, Sendable {
            package var context: String
            package var app: String
            package var requirement: Requirement
            /// The app hid the fallback button (EV-14, EV-22).
            package var isFallbackHidden: Bool
            /// Whether the app says why it wants Face ID; without that it may not use it (CE-11).
            package var isFaceIDDescribed: Bool
            /// An evaluation whose app hears of a failure, because this one takes its place; it may have succeeded just now.
            package var replaces: String?
            package init(
                context: String, app: String, requirement: Requirement, isFallbackHidden: Bool,
                isFaceIDDescribed: Bool = true, replaces: String? = nil
            ) {
                self.replaces = replaces
                self.context = context
                self.app = app
                self.requirement = requirement
                self.isFallbackHidden = isFallbackHidden
                self.isFaceIDDescribed = isFaceIDDescribed
            }
        }
        package struct Reply: Codable, Sendable {
            package var evaluation: String
            package var progress: Progress
            package init(evaluation: String, progress: Progress) {
                self.evaluation = evaluation
                self.progress = progress
            }
        }
    }

    package enum EndEvaluation: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.EndEvaluation"
        package struct Parameters: Codable, Sendable {
            package var evaluation: String
            /// Why, for the log; absent: -4.
            package var code: AuthenticationFailure?
            package init(evaluation: String, code: AuthenticationFailure? = nil) {
                self.evaluation = evaluation
                self.code = code
            }
        }
        package typealias Reply = Empty
    }

    /// The prompt of an evaluation is before the owner, or no longer.
    package enum SetShown: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.SetShown"
        package struct Parameters: Codable, Sendable {
            package var evaluation: String
            package var isShown: Bool
            package init(evaluation: String, isShown: Bool) {
                self.evaluation = evaluation
                self.isShown = isShown
            }
        }
        package struct Reply: Codable, Sendable {
            /// How long the sensor does not count for it yet.
            package var touchesAfterSeconds: Double
            package init(touchesAfterSeconds: Double) { self.touchesAfterSeconds = touchesAfterSeconds }
        }
    }

    package enum ChooseFallback: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ChooseFallback"
        package struct Parameters: Codable, Sendable {
            package var evaluation: String
            package init(evaluation: String) { self.evaluation = evaluation }
        }
        package typealias Reply = Empty
    }

    package enum AnswerPermission: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.AnswerPermission"
        package struct Parameters: Codable, Sendable {
            package var evaluation: String
            package var isAllowed: Bool
            package init(evaluation: String, isAllowed: Bool) {
                self.evaluation = evaluation
                self.isAllowed = isAllowed
            }
        }
        package typealias Reply = Empty
    }

    package enum TryAgain: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.TryAgain"
        package typealias Parameters = ChooseFallback.Parameters
        package typealias Reply = Empty
    }

    /// Looks at a passcode for an evaluation.
    ///
    /// The answer is an event.
    package enum SubmitPasscode: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.SubmitPasscode"
        package struct Parameters: Codable, Sendable {
            package var evaluation: String
            package var passcode: SealedPasscode
            /// The agent.
            package var caller: Caller?
            package init(evaluation: String, passcode: SealedPasscode, caller: Caller? = nil) {
                self.evaluation = evaluation
                self.passcode = passcode
                self.caller = caller
            }
        }
        package typealias Reply = Empty
    }

    package enum Outcome: String, Codable, Sendable {
        case progress, succeeded, failed
        /// Of no evaluation and no ticket: wrong passcodes erased the device, and every class key is another (PC-02).
        case erased
        /// Of no evaluation and no ticket: a finger on the device's own sensor opened the lock screen.
        case unlocked
        /// Of none: the login session was locked, or the machine goes to sleep.
        case locked
    }

    /// Called with `more`: what became of evaluations and of passcode tickets.
    ///
    /// First an event with neither; later one such whenever what apps may know of the device has changed (CE-19).
    package enum WatchEvents: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.WatchEvents"
        package typealias Parameters = Empty
        package struct Reply: Codable, Sendable {
            package var evaluation: String?
            /// A ticket of `ChangePasscode`, `Unlock`, `SetCredential` or `Deferred`.
            package var ticket: String?
            package var outcome: Outcome
            package var code: AuthenticationFailure?
            package var progress: Progress?
            package var refusal: DeviceInterface.RefusalReason?
            package var retryAfterSeconds: Double?
            /// New lines of the log.
            package var log: [String]?
            /// What came of a call that was answered with `Deferred`.
            package var key: KeyResult?
            /// A word of `RefusalCause`, beside the code.
            package var reason: String?

            package init(
                evaluation: String? = nil, ticket: String? = nil, outcome: Outcome, code: AuthenticationFailure? = nil,
                progress: Progress? = nil, refusal: DeviceInterface.RefusalReason? = nil,
                retryAfterSeconds: Double? = nil, log: [String]? = nil, key: KeyResult? = nil,
                cause: RefusalCause? = nil
            ) {
                self.evaluation = evaluation
                self.ticket = ticket
                self.outcome = outcome
                self.code = code
                self.progress = progress
                self.refusal = refusal
                self.retryAfterSeconds = retryAfterSeconds
                self.log = log
                self.key = key
                reason = cause?.rawValue
            }
        }
    }

    // MARK: owner's settings and lock screen

    /// Who sends what was typed, as touchstoned says.
    package struct Caller: Codable, Hashable, Sendable {
        /// The connection to touchstoned by its number: nonces are good on their own alone.
        package var connection: Int
        /// Application identifier; nil where touchstoned knows none.
        package var app: String?
        package init(connection: Int, app: String?) {
            self.connection = connection
            self.app = app
        }
    }

    package enum GetNonce: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.GetNonce"
        package struct Parameters: Codable, Sendable {
            /// As of ``Caller``; nil: 0, which touchstoned never uses.
            package var connection: Int?
            package init(connection: Int? = nil) { self.connection = connection }
        }
        package typealias Reply = DeviceInterface.GetNonce.Reply
    }

    /// A connection to touchstoned has ended, and with it the nonces that were given out on it.
    package enum EndConnection: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.EndConnection"
        package struct Parameters: Codable, Sendable {
            package var connection: Int
            package init(connection: Int) { self.connection = connection }
        }
        package typealias Reply = Empty
    }

    package enum ListFaceIDPermissions: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ListFaceIDPermissions"
        package typealias Parameters = Empty
        package typealias Reply = DeviceInterface.ListFaceIDPermissions.Reply
    }

    package enum SetFaceIDPermission: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.SetFaceIDPermission"
        package typealias Parameters = DeviceInterface.SetFaceIDPermission.Parameters
        package typealias Reply = Empty
    }

    package struct Ticket: Codable, Sendable {
        package var ticket: String
        package init(ticket: String) { self.ticket = ticket }
    }

    package enum ChangePasscode: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ChangePasscode"
        package struct Parameters: Codable, Sendable {
            package var passcodes: SealedPasscode
            package var kind: PasscodeKind?
            package var caller: Caller?
            package init(passcodes: SealedPasscode, kind: PasscodeKind? = nil, caller: Caller? = nil) {
                self.passcodes = passcodes
                self.kind = kind
                self.caller = caller
            }
        }
        package typealias Reply = Ticket
    }

    package enum Unlock: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.Unlock"
        package struct Parameters: Codable, Sendable {
            package var passcode: SealedPasscode
            package var caller: Caller?
            package init(passcode: SealedPasscode, caller: Caller? = nil) {
                self.passcode = passcode
                self.caller = caller
            }
        }
        package typealias Reply = Ticket
    }

    package enum SetEraseData: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.SetEraseData"
        package struct Parameters: Codable, Sendable {
            package var isOn: Bool
            package var passcode: SealedPasscode
            package var caller: Caller?
            package init(isOn: Bool, passcode: SealedPasscode, caller: Caller? = nil) {
                self.isOn = isOn
                self.passcode = passcode
                self.caller = caller
            }
        }
        package typealias Reply = Ticket
    }

    package enum ForgetReader: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ForgetReader"
        package struct Parameters: Codable, Sendable {
            package var passcode: SealedPasscode
            package var caller: Caller?
            package init(passcode: SealedPasscode, caller: Caller? = nil) {
                self.passcode = passcode
                self.caller = caller
            }
        }
        package typealias Reply = Ticket
    }

    package enum Lock: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.Lock"
        package struct Parameters: Codable, Sendable {
            package var requiresPasscode: Bool?
            /// Who asks for it, for the log.
            package var caller: Caller?
            package init(requiresPasscode: Bool? = nil, caller: Caller? = nil) {
                self.requiresPasscode = requiresPasscode
                self.caller = caller
            }
        }
        package typealias Reply = Empty
    }

    package enum Enroll: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.Enroll"
        package typealias Parameters = DeviceInterface.Enroll.Parameters
        package typealias Reply = Empty
    }

    package enum RemoveFinger: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.RemoveFinger"
        package typealias Parameters = DeviceInterface.Enroll.Parameters
        package typealias Reply = Empty
    }

    package enum ListFingers: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ListFingers"
        package typealias Parameters = Empty
        package typealias Reply = DeviceInterface.ListFingers.Reply
    }

    package enum PresentFinger: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.PresentFinger"
        package typealias Parameters = DeviceInterface.PresentFinger.Parameters
        package typealias Reply = DeviceInterface.PresentFinger.Reply
    }

    // MARK: keys

    /// The key of the keychain's lookup tags: there from boot on.
    package enum GetLookupKey: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.GetLookupKey"
        package typealias Parameters = Empty
        package struct Reply: Codable, Sendable {
            /// 32 bytes.
            package var key: Data
            package init(key: Data) { self.key = key }
        }
    }

    /// The metadata keys of the classes that can be opened now.
    package enum GetMetadataKeys: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.GetMetadataKeys"
        package typealias Parameters = Empty
        package struct Reply: Codable, Sendable {
            /// 32 bytes each, by the code of the class.
            package var keys: [String: Data]
            /// Classes that are destroyed, not merely locked: their items are gone for good.
            package var destroyed: [String]
            /// The device was erased, and nobody has said yet that its items are (PC-02): until then there are no keys.
            package var isErasurePending: Bool
            /// How often the class keys were made anew; nil: never.
            package var generation: Int?
            /// The earlier keys, the newest first.
            package var earlier: [String: [Data]]?
            package init(
                keys: [String: Data], destroyed: [String], isErasurePending: Bool = false, generation: Int? = nil
            ) {
                self.keys = keys
                self.destroyed = destroyed
                self.isErasurePending = isErasurePending
                self.generation = generation
            }
        }
    }

    /// The items of the device that was erased are gone.
    package enum ConfirmErasure: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ConfirmErasure"
        package typealias Parameters = Empty
        package typealias Reply = Empty
    }

    package struct ItemBinding: Codable, Hashable, Sendable {
        package var accessGroup: String
        /// Class, id and version of the row: whatever the keychain wants the secret to be inseparable from.
        package var item: Data
        package init(accessGroup: String, item: Data) {
            self.accessGroup = accessGroup
            self.item = item
        }
    }

    /// Wraps an item's secret key; binds biometric constraints to what is enrolled now (AC-10, AC-50).
    package enum WrapKey: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.WrapKey"
        package struct Parameters: Codable, Sendable {
            package var accessControl: AccessControl
            package var binding: ItemBinding
            /// 32 bytes.
            package var key: Data
            package var app: String
            /// Has the application password, where the control wants one.
            package var context: String?
            package init(
                accessControl: AccessControl, binding: ItemBinding, key: Data, app: String, context: String?
            ) {
                self.accessControl = accessControl
                self.binding = binding
                self.key = key
                self.app = app
                self.context = context
            }
        }
        package struct Reply: Codable, Sendable {
            package var wrappedKey: Data
            /// Of the class key that wraps it: of that of the metadata key has to be.
            package var generation: Int?
            package init(wrappedKey: Data, generation: Int? = nil) {
                self.wrappedKey = wrappedKey
                self.generation = generation
            }
        }
    }

    package enum KeyState: String, Codable, Sendable {
        case open
        /// The class key is not there now (-25308).
        case locked
        /// It can never be opened again: destroyed class, other enrolment, or not what was sealed (KC-16, AC-51).
        case gone
        /// The owner has to prove something first (AC-40).
        case authenticationNeeded
    }

    package struct WrappedItem: Codable, Sendable {
        package var wrappedKey: Data
        package var binding: ItemBinding
        package init(wrappedKey: Data, binding: ItemBinding) {
            self.wrappedKey = wrappedKey
            self.binding = binding
        }
    }

    package struct OpenedItem: Codable, Sendable {
        package var state: KeyState
        package var key: Data?
        /// What is to be evaluated where authentication is needed; nil: the access control of the item.
        package var accessControl: AccessControl?
        /// What to keep in the place of the wrapped key, whose class key was made anew since; nil: that.
        package var rewrappedKey: Data?
        package init(
            state: KeyState, key: Data? = nil, accessControl: AccessControl? = nil, rewrappedKey: Data? = nil
        ) {
            self.state = state
            self.key = key
            self.accessControl = accessControl
            self.rewrappedKey = rewrappedKey
        }
    }

    /// Opens items' secret keys for an app, each for itself, in the order given.
    package enum UnwrapKeys: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.UnwrapKeys"
        package struct Parameters: Codable, Sendable {
            package var items: [WrappedItem]
            package var app: String
            package var context: String?
            package init(items: [WrappedItem], app: String, context: String?) {
                self.items = items
                self.app = app
                self.context = context
            }
        }
        package struct Reply: Codable, Sendable {
            package var items: [OpenedItem]
            package init(items: [OpenedItem]) { self.items = items }
        }
    }

    // MARK: backup

    package enum AuthorizeBackup: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.AuthorizeBackup"
        package struct Parameters: Codable, Sendable {
            package var direction: BackupDirection
            package var passcode: SealedPasscode
            package var caller: Caller?
            package init(direction: BackupDirection, passcode: SealedPasscode, caller: Caller? = nil) {
                self.direction = direction
                self.passcode = passcode
                self.caller = caller
            }
        }
        package typealias Reply = Ticket
    }

    /// One item's key on its way from the device into a backup, or back.
    package struct BackupKey: Codable, Sendable {
        /// As `WrapKey` gave it, or as `ExportKeys` did.
        package var wrappedKey: Data
        package var binding: ItemBinding
        package var accessControl: AccessControl
        package init(wrappedKey: Data, binding: ItemBinding, accessControl: AccessControl) {
            self.wrappedKey = wrappedKey
            self.binding = binding
            self.accessControl = accessControl
        }
    }

    package enum BackupVerdict: String, Codable, Sendable {
        case wrapped
        /// The class key is not there now.
        case locked
        /// It belongs to no backup: its access control wants the owner, or its class wants a passcode to be set (KC-26).
        case excluded
        /// It does not open: damaged, or of another root of trust (KC-25).
        case gone
    }

    package struct RewrappedKey: Codable, Sendable {
        package var verdict: BackupVerdict
        package var wrappedKey: Data?
        package init(_ verdict: BackupVerdict, wrappedKey: Data? = nil) {
            self.verdict = verdict
            self.wrappedKey = wrappedKey
        }
    }

    /// Wraps items' keys for the backup that the owner agreed to.
    ///
    /// Under the backup's key, which the enclave has from the owner alone, or, of a class of this device only, under one of
    /// the root of trust. An empty list asks only whether there is such a session.
    package enum ExportKeys: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ExportKeys"
        package struct Parameters: Codable, Sendable {
            package var session: String
            package var keys: [BackupKey]
            package init(session: String, keys: [BackupKey]) {
                self.session = session
                self.keys = keys
            }
        }
        package struct Reply: Codable, Sendable {
            package var keys: [RewrappedKey]
            package init(keys: [RewrappedKey]) { self.keys = keys }
        }
    }

    /// Wraps keys out of a backup as `WrapKey` would have.
    package enum ImportKeys: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ImportKeys"
        package typealias Parameters = ExportKeys.Parameters
        package typealias Reply = ExportKeys.Reply
    }

    package enum EndBackup: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.EndBackup"
        package struct Parameters: Codable, Sendable {
            package var session: String
            package init(session: String) { self.session = session }
        }
        package typealias Reply = Empty
    }

    /// There is no such session of this direction (any more): the device was locked, or another one began.
    package struct NoSuchBackup: VarlinkError {
        package static let name = "io.touchstone.Enclave.NoSuchBackup"
        package init() {}
    }

    /// A key could not be wrapped; the code is the `OSStatus` for the app.
    package struct NotWrapped: VarlinkError {
        package static let name = "io.touchstone.Enclave.NotWrapped"
        package var status: Int32
        /// A word of `RefusalCause`.
        package var reason: String?
        package init(_ status: Status, _ cause: RefusalCause? = nil) {
            self.status = status.rawValue
            reason = cause?.rawValue
        }
    }

    /// The context is unknown or belongs to another app.
    package struct InvalidContext: VarlinkError {
        package static let name = "io.touchstone.Enclave.InvalidContext"
        package init() {}
    }

    /// The evaluation is over.
    package struct NoSuchEvaluation: VarlinkError {
        package static let name = "io.touchstone.Enclave.NoSuchEvaluation"
        package init() {}
    }

    /// The enclave's state could not be written; nothing changed.
    package struct NotKept: VarlinkError {
        package static let name = "io.touchstone.Enclave.NotKept"
        package init() {}
    }
}
