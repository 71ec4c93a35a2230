// Written by script/interfaces from io.touchstone.Enclave.varlink. Do not edit.
// swift-format-ignore-file

package import Foundation
package import TouchstoneCore
package import TouchstoneInterfaces

/// What touchstoned may ask of the enclave.
///
/// It runs over two private socket pairs that the two daemons inherit; no other process can reach them. Calls go over
/// one, and the stream of WatchEvents over the other. So every call answers at once: an event tells the result of
/// anything that waits for the owner or for the passcode's key derivation.
///
/// The enclave trusts touchstoned only about the identity of the app (app, accessGroups). It decides itself whether the
/// owner was recognised, which class keys are there and whether an access control is met. Bytes are base64 (RFC 4648,
/// with padding) wherever a comment says so.
///
/// Integers with Apple's meaning: biometryType is LABiometryType (0 none, 1 Touch ID, 2 Face ID, 4 Optic ID), code is
/// LAError.Code, status is an OSStatus. Any method that changes the stored state may answer NotKept.
package enum EnclaveInterface {
    package static let name = "io.touchstone.Enclave"

    /// The state of the device, as far as an app may know it.
    package struct Facts: MessageCodable, Hashable {
        package var isSimulated: Bool
        /// What binds the device to this machine: "software", "tpm2", or "swtpm" for a TPM that is a program.
        package var rootOfTrust: String
        package var biometryType: BiometryType
        package var isEnrolled: Bool
        package var isPasscodeSet: Bool
        /// Absent if there is no passcode.
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
        /// Seconds until the next passcode is checked; absent: now.
        package var passcodeRetryAfterSeconds: Double?
        package var isPasscodeDisabled: Bool
        /// Bytes, base64: of the enrolled set as this app may see it (DS-04, DS-05); absent if nothing is enrolled.
        package var domainState: Data?
        /// Absent: it has none.
        package var sensor: DeviceInterface.Sensor?
        /// Whether P-256 keys are made and used in the TPM; absent: no.
        package var areKeysInTPM: Bool?

        package init(
            isSimulated: Bool, rootOfTrust: String, biometryType: BiometryType, isEnrolled: Bool,
            isPasscodeSet: Bool, passcodeKind: PasscodeKind? = nil, erasesData: Bool, wasErased: Bool,
            isLocked: Bool, wasUnlockedSinceBoot: Bool, isBiometryLockedOut: Bool, passcodeFailures: Int,
            passcodeRetryAfterSeconds: Double? = nil, isPasscodeDisabled: Bool, domainState: Data? = nil,
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

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.isSimulated = try json.value("isSimulated")
            self.rootOfTrust = try json.value("rootOfTrust")
            self.biometryType = try json.value("biometryType")
            self.isEnrolled = try json.value("isEnrolled")
            self.isPasscodeSet = try json.value("isPasscodeSet")
            self.passcodeKind = try json.valueIfPresent("passcodeKind")
            self.erasesData = try json.value("erasesData")
            self.wasErased = try json.value("wasErased")
            self.isLocked = try json.value("isLocked")
            self.wasUnlockedSinceBoot = try json.value("wasUnlockedSinceBoot")
            self.isBiometryLockedOut = try json.value("isBiometryLockedOut")
            self.passcodeFailures = try json.value("passcodeFailures")
            self.passcodeRetryAfterSeconds = try json.valueIfPresent("passcodeRetryAfterSeconds")
            self.isPasscodeDisabled = try json.value("isPasscodeDisabled")
            self.domainState = try json.valueIfPresent("domainState")
            self.sensor = try json.valueIfPresent("sensor")
            self.areKeysInTPM = try json.valueIfPresent("areKeysInTPM")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(isSimulated, for: "isSimulated")
            try json.write(rootOfTrust, for: "rootOfTrust")
            try json.write(biometryType, for: "biometryType")
            try json.write(isEnrolled, for: "isEnrolled")
            try json.write(isPasscodeSet, for: "isPasscodeSet")
            try json.write(passcodeKind, for: "passcodeKind")
            try json.write(erasesData, for: "erasesData")
            try json.write(wasErased, for: "wasErased")
            try json.write(isLocked, for: "isLocked")
            try json.write(wasUnlockedSinceBoot, for: "wasUnlockedSinceBoot")
            try json.write(isBiometryLockedOut, for: "isBiometryLockedOut")
            try json.write(passcodeFailures, for: "passcodeFailures")
            try json.write(passcodeRetryAfterSeconds, for: "passcodeRetryAfterSeconds")
            try json.write(isPasscodeDisabled, for: "isPasscodeDisabled")
            try json.write(domainState, for: "domainState")
            try json.write(sensor, for: "sensor")
            try json.write(areKeysInTPM, for: "areKeysInTPM")
            json.endObject()
        }
    }

    package enum Verdict: String, CaseIterable, MessageCodable {
        /// The context has what is required (EV-30, EV-40).
        case satisfied
        /// It cannot be met, and code says why.
        case refused
        /// The owner has to act.
        case interactive
    }

    /// Where an evaluation is.
    package struct Progress: MessageCodable, Hashable {
        package var phase: AgentInterface.Phase
        /// Whether choosing the fallback leads to the passcode (EV-18); otherwise it ends the evaluation with -3
        /// (EV-17).
        package var fallbackIsPasscode: Bool
        package var isFallbackOffered: Bool
        /// Non-matches in this evaluation.
        package var failures: Int
        /// In the phase biometry, what the owner should do at the sensor; absent: nothing.
        package var hint: AgentInterface.SensorHint?
        /// Bytes, base64: what the next passcode has to be sealed with.
        package var nonce: Data
        /// Seconds until the next passcode is checked; absent: now.
        package var retryAfterSeconds: Double?
        package var wrongPasscode: Bool
        /// What the passcode consists of; absent if there is no passcode.
        package var passcodeKind: PasscodeKind?

        package init(
            phase: AgentInterface.Phase, fallbackIsPasscode: Bool, isFallbackOffered: Bool, failures: Int,
            hint: AgentInterface.SensorHint? = nil, nonce: Data, retryAfterSeconds: Double? = nil,
            wrongPasscode: Bool, passcodeKind: PasscodeKind? = nil
        ) {
            self.phase = phase
            self.fallbackIsPasscode = fallbackIsPasscode
            self.isFallbackOffered = isFallbackOffered
            self.failures = failures
            self.hint = hint
            self.nonce = nonce
            self.retryAfterSeconds = retryAfterSeconds
            self.wrongPasscode = wrongPasscode
            self.passcodeKind = passcodeKind
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.phase = try json.value("phase")
            self.fallbackIsPasscode = try json.value("fallbackIsPasscode")
            self.isFallbackOffered = try json.value("isFallbackOffered")
            self.failures = try json.value("failures")
            self.hint = try json.valueIfPresent("hint")
            self.nonce = try json.value("nonce")
            self.retryAfterSeconds = try json.valueIfPresent("retryAfterSeconds")
            self.wrongPasscode = try json.value("wrongPasscode")
            self.passcodeKind = try json.valueIfPresent("passcodeKind")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(phase, for: "phase")
            try json.write(fallbackIsPasscode, for: "fallbackIsPasscode")
            try json.write(isFallbackOffered, for: "isFallbackOffered")
            try json.write(failures, for: "failures")
            try json.write(hint, for: "hint")
            try json.write(nonce, for: "nonce")
            try json.write(retryAfterSeconds, for: "retryAfterSeconds")
            try json.write(wrongPasscode, for: "wrongPasscode")
            try json.write(passcodeKind, for: "passcodeKind")
            json.endObject()
        }
    }

    /// What an event says: it goes on, it succeeded, it failed.
    ///
    /// The other three belong to no evaluation and no ticket.
    package enum Outcome: String, CaseIterable, MessageCodable {
        case progress, succeeded, failed
        /// Wrong passcodes erased the device (PC-02), every class key is new and every context is gone; this comes
        /// before the event that tells why.
        case erased
        /// A finger on the device's own sensor opened the lock screen.
        case unlocked
        /// The owner's login session was locked, or the machine goes to sleep.
        case locked
    }

    /// What a wrapped key is bound to: if it changes, the key can no longer be opened.
    package struct ItemBinding: MessageCodable, Hashable {
        package var accessGroup: AccessGroup
        /// Bytes, base64: class, id and version of the row.
        package var item: Data

        package init(accessGroup: AccessGroup, item: Data) {
            self.accessGroup = accessGroup
            self.item = item
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.accessGroup = try json.value("accessGroup")
            self.item = try json.value("item")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(accessGroup, for: "accessGroup")
            try json.write(item, for: "item")
            json.endObject()
        }
    }

    /// A key for what is still to be written.
    package struct SpareKey: MessageCodable, Hashable {
        /// Bytes, base64, as in ItemBinding.
        package var item: Data
        /// 32 bytes, base64.
        package var key: Data

        package init(item: Data, key: Data) {
            self.item = item
            self.key = key
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.item = try json.value("item")
            self.key = try json.value("key")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(item, for: "item")
            try json.write(key, for: "key")
            json.endObject()
        }
    }

    /// A wrapped key and what it was bound to.
    package struct WrappedItem: MessageCodable, Hashable {
        /// Bytes, base64, as WrapKey gave them.
        package var wrappedKey: Data
        package var binding: EnclaveInterface.ItemBinding

        package init(wrappedKey: Data, binding: EnclaveInterface.ItemBinding) {
            self.wrappedKey = wrappedKey
            self.binding = binding
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.wrappedKey = try json.value("wrappedKey")
            self.binding = try json.value("binding")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(wrappedKey, for: "wrappedKey")
            try json.write(binding, for: "binding")
            json.endObject()
        }
    }

    package enum KeyState: String, CaseIterable, MessageCodable {
        /// Here is the key.
        case open
        /// The class key is not there now (-25308).
        case locked
        /// It can never be opened again, because its class was destroyed, the enrolment changed, or it was altered
        /// (KC-16, AC-51).
        case gone
        /// The owner has to prove something first (AC-40).
        case authenticationNeeded
        /// The item has an access control, and the rows of its group do not match what RecordItems has recorded.
        case altered
    }

    /// The result for one wrapped key.
    package struct OpenedItem: MessageCodable, Hashable {
        package var state: EnclaveInterface.KeyState
        /// 32 bytes, base64; present if the state is open.
        package var key: Data?
        /// Present if authentication is needed for only a part of the item's access control: the part that is left
        /// after other fingers were enrolled (AC-50).
        package var accessControl: AccessControl?
        /// Bytes, base64: the same key under the current class key, which the keychain stores in place of the wrapped
        /// key; absent: nothing to replace.
        ///
        /// It can also be present if authentication is needed.
        package var rewrappedKey: Data?

        package init(
            state: EnclaveInterface.KeyState, key: Data? = nil, accessControl: AccessControl? = nil,
            rewrappedKey: Data? = nil
        ) {
            self.state = state
            self.key = key
            self.accessControl = accessControl
            self.rewrappedKey = rewrappedKey
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.state = try json.value("state")
            self.key = try json.valueIfPresent("key")
            self.accessControl = try json.valueIfPresent("accessControl")
            self.rewrappedKey = try json.valueIfPresent("rewrappedKey")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(state, for: "state")
            try json.write(key, for: "key")
            try json.write(accessControl, for: "accessControl")
            try json.write(rewrappedKey, for: "rewrappedKey")
            json.endObject()
        }
    }

    /// One item's key on its way into a backup or out of it.
    package struct BackupKey: MessageCodable, Hashable {
        /// Bytes, base64: as WrapKey gave it, or as ExportKeys did.
        package var wrappedKey: Data
        package var binding: EnclaveInterface.ItemBinding
        package var accessControl: AccessControl

        package init(wrappedKey: Data, binding: EnclaveInterface.ItemBinding, accessControl: AccessControl) {
            self.wrappedKey = wrappedKey
            self.binding = binding
            self.accessControl = accessControl
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.wrappedKey = try json.value("wrappedKey")
            self.binding = try json.value("binding")
            self.accessControl = try json.value("accessControl")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(wrappedKey, for: "wrappedKey")
            try json.write(binding, for: "binding")
            try json.write(accessControl, for: "accessControl")
            json.endObject()
        }
    }

    package enum BackupVerdict: String, CaseIterable, MessageCodable {
        case wrapped
        /// The class key is not there now.
        case locked
        /// It never goes into a backup (KC-26).
        case excluded
        /// It cannot be opened.
        case gone
    }

    package struct RewrappedKey: MessageCodable, Hashable {
        package var verdict: EnclaveInterface.BackupVerdict
        /// Bytes, base64; there if it was wrapped.
        package var wrappedKey: Data?

        package init(verdict: EnclaveInterface.BackupVerdict, wrappedKey: Data? = nil) {
            self.verdict = verdict
            self.wrappedKey = wrappedKey
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.verdict = try json.value("verdict")
            self.wrappedKey = try json.valueIfPresent("wrappedKey")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(verdict, for: "verdict")
            try json.write(wrappedKey, for: "wrappedKey")
            json.endObject()
        }
    }

    /// How the device stands, for an app (its application identifier).
    package enum GetFacts: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.GetFacts"
        package struct Parameters: MessageCodable {
            package var app: AppIdentifier

            package init(app: AppIdentifier) {
                self.app = app
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.app = try json.value("app")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(app, for: "app")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var facts: EnclaveInterface.Facts

            package init(facts: EnclaveInterface.Facts) {
                self.facts = facts
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.facts = try json.value("facts")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(facts, for: "facts")
                json.endObject()
            }
        }
    }

    /// Makes a context that belongs to the app: nothing is proven in it yet.
    ///
    /// It lives until it is invalidated or the enclave ends. An app has at most 256 contexts; one more replaces another
    /// of the app's. accessGroups: the app's groups; what is proven to the context opens only items of these groups
    /// (KC-42). client: the application identifier of the program that the app asks for, for the log; absent: it asks
    /// for itself.
    package enum CreateContext: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.CreateContext"
        package struct Parameters: MessageCodable {
            package var app: AppIdentifier
            package var accessGroups: [AccessGroup]
            package var client: AppIdentifier?

            package init(app: AppIdentifier, accessGroups: [AccessGroup], client: AppIdentifier? = nil) {
                self.app = app
                self.accessGroups = accessGroups
                self.client = client
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.app = try json.value("app")
                self.accessGroups = try json.value("accessGroups")
                self.client = try json.valueIfPresent("client")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(app, for: "app")
                try json.write(accessGroups, for: "accessGroups")
                try json.write(client, for: "client")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var context: String

            package init(context: String) {
                self.context = context
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.context = try json.value("context")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(context, for: "context")
                json.endObject()
            }
        }
    }

    /// Ends a context, and its evaluation with -9 (EV-50).
    ///
    /// It is no error to end it twice, or to end one that never existed.
    package enum InvalidateContext: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.InvalidateContext"
        package struct Parameters: MessageCodable {
            package var context: String

            package init(context: String) {
                self.context = context
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.context = try json.value("context")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(context, for: "context")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Gives a context the app's own password (EV-60), or removes it if credential is absent.
    ///
    /// The password is stretched once, with a salt of the device; each item then gets its own key from it. Answers with
    /// a ticket, and WatchEvents tells the result; if there is no ticket, the call is done.
    ///
    /// Errors: InvalidContext: unknown, or another app's. Of io.touchstone.Device: Refused: staleNonce (it was not
    /// sealed for this context), passcodeTooLong, unreadablePasscode, busy (too many wait, or the app gave four wrong
    /// ones in a row and the delay is not over: see IsCredentialSet). The context keeps the password that it had. When
    /// that delay begins, every context of the app loses its password.
    package enum SetCredential: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.SetCredential"
        package struct Parameters: MessageCodable {
            package var context: String
            package var app: AppIdentifier
            package var credential: SealedPasscode?

            package init(context: String, app: AppIdentifier, credential: SealedPasscode? = nil) {
                self.context = context
                self.app = app
                self.credential = credential
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.context = try json.value("context")
                self.app = try json.value("app")
                self.credential = try json.valueIfPresent("credential")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(context, for: "context")
                try json.write(app, for: "app")
                try json.write(credential, for: "credential")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var ticket: String?

            package init(ticket: String? = nil) {
                self.ticket = ticket
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.ticket = try json.valueIfPresent("ticket")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(ticket, for: "ticket")
                json.endObject()
            }
        }
    }

    /// Whether the app's context has an application password. retryAfterSeconds: until the app's next one is taken,
    /// after wrong ones in a row; absent: now.
    package enum IsCredentialSet: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.IsCredentialSet"
        package struct Parameters: MessageCodable {
            package var context: String
            package var app: AppIdentifier

            package init(context: String, app: AppIdentifier) {
                self.context = context
                self.app = app
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.context = try json.value("context")
                self.app = try json.value("app")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(context, for: "context")
                try json.write(app, for: "app")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var isSet: Bool
            package var retryAfterSeconds: Double?

            package init(isSet: Bool, retryAfterSeconds: Double? = nil) {
                self.isSet = isSet
                self.retryAfterSeconds = retryAfterSeconds
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.isSet = try json.value("isSet")
                self.retryAfterSeconds = try json.valueIfPresent("retryAfterSeconds")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(isSet, for: "isSet")
                try json.write(retryAfterSeconds, for: "retryAfterSeconds")
                json.endObject()
            }
        }
    }

    /// What an evaluation would meet; this begins none. code and reason (a word of io.touchstone.Keychain's Failed) are
    /// present if the verdict is refused: -10 for a context that is unknown or belongs to another app. context absent:
    /// asks only whether the requirement can be met on this device.
    ///
    /// reuseDuration: seconds, clamped to 0...300 (EV-42). If the device was unlocked biometrically within that time
    /// and that is enough, the context has proven biometry from now on (EV-40, EV-43).
    ///
    /// validFor: as of BeginEvaluation, for what the context has proven by that.
    ///
    /// isFaceIDDescribed: whether the app says why it wants Face ID; without that it may not use it (CE-11).
    /// biometryType: the device's, for the prompt that follows.
    package enum Preflight: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.Preflight"
        package struct Parameters: MessageCodable {
            package var context: String?
            package var app: AppIdentifier
            package var requirement: Requirement
            package var reuseDuration: Double
            package var isFaceIDDescribed: Bool
            package var validFor: Double?

            package init(
                context: String? = nil, app: AppIdentifier, requirement: Requirement, reuseDuration: Double,
                isFaceIDDescribed: Bool, validFor: Double? = nil
            ) {
                self.context = context
                self.app = app
                self.requirement = requirement
                self.reuseDuration = reuseDuration
                self.isFaceIDDescribed = isFaceIDDescribed
                self.validFor = validFor
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.context = try json.valueIfPresent("context")
                self.app = try json.value("app")
                self.requirement = try json.value("requirement")
                self.reuseDuration = try json.value("reuseDuration")
                self.isFaceIDDescribed = try json.value("isFaceIDDescribed")
                self.validFor = try json.valueIfPresent("validFor")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(context, for: "context")
                try json.write(app, for: "app")
                try json.write(requirement, for: "requirement")
                try json.write(reuseDuration, for: "reuseDuration")
                try json.write(isFaceIDDescribed, for: "isFaceIDDescribed")
                try json.write(validFor, for: "validFor")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var verdict: EnclaveInterface.Verdict
            package var code: AuthenticationFailure?
            package var reason: String?
            package var biometryType: BiometryType?

            package init(
                verdict: EnclaveInterface.Verdict, code: AuthenticationFailure? = nil, reason: String? = nil,
                biometryType: BiometryType? = nil
            ) {
                self.verdict = verdict
                self.code = code
                self.reason = reason
                self.biometryType = biometryType
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.verdict = try json.value("verdict")
                self.code = try json.valueIfPresent("code")
                self.reason = try json.valueIfPresent("reason")
                self.biometryType = try json.valueIfPresent("biometryType")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(verdict, for: "verdict")
                try json.write(code, for: "code")
                try json.write(reason, for: "reason")
                try json.write(biometryType, for: "biometryType")
                json.endObject()
            }
        }
    }

    /// Looks as Preflight does, and begins an evaluation if the owner has to act.
    ///
    /// The one before it, if any, ends with -4 (EV-53), told by an event. isFallbackHidden: the app hid the fallback
    /// button (EV-14, EV-22). isFaceIDDescribed and reuseDuration: as for Preflight; absent: 0. replaces: an evaluation
    /// whose app hears of a failure, because this one takes its place. If it has just succeeded, its context loses that
    /// again. validFor: seconds, clamped to 0...300, after which the context loses what was proven in this evaluation,
    /// by the enclave's monotonic clock (ND-4); absent: it keeps it.
    ///
    /// accessGroups: present if the app named no context. Then context is empty, and one is made as by CreateContext,
    /// unless the verdict is refused. The answer names it. biometryType: as for Preflight.
    ///
    /// Errors: NotBegun; the evaluation before goes on then.
    package enum BeginEvaluation: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.BeginEvaluation"
        package struct Parameters: MessageCodable {
            package var context: String
            package var app: AppIdentifier
            package var requirement: Requirement
            package var isFallbackHidden: Bool
            package var isFaceIDDescribed: Bool
            package var replaces: String?
            package var reuseDuration: Double?
            package var accessGroups: [AccessGroup]?
            package var validFor: Double?

            package init(
                context: String, app: AppIdentifier, requirement: Requirement, isFallbackHidden: Bool,
                isFaceIDDescribed: Bool, replaces: String? = nil, reuseDuration: Double? = nil,
                accessGroups: [AccessGroup]? = nil, validFor: Double? = nil
            ) {
                self.context = context
                self.app = app
                self.requirement = requirement
                self.isFallbackHidden = isFallbackHidden
                self.isFaceIDDescribed = isFaceIDDescribed
                self.replaces = replaces
                self.reuseDuration = reuseDuration
                self.accessGroups = accessGroups
                self.validFor = validFor
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.context = try json.value("context")
                self.app = try json.value("app")
                self.requirement = try json.value("requirement")
                self.isFallbackHidden = try json.value("isFallbackHidden")
                self.isFaceIDDescribed = try json.value("isFaceIDDescribed")
                self.replaces = try json.valueIfPresent("replaces")
                self.reuseDuration = try json.valueIfPresent("reuseDuration")
                self.accessGroups = try json.valueIfPresent("accessGroups")
                self.validFor = try json.valueIfPresent("validFor")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(context, for: "context")
                try json.write(app, for: "app")
                try json.write(requirement, for: "requirement")
                try json.write(isFallbackHidden, for: "isFallbackHidden")
                try json.write(isFaceIDDescribed, for: "isFaceIDDescribed")
                try json.write(replaces, for: "replaces")
                try json.write(reuseDuration, for: "reuseDuration")
                try json.write(accessGroups, for: "accessGroups")
                try json.write(validFor, for: "validFor")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var evaluation: String
            package var progress: EnclaveInterface.Progress
            package var biometryType: BiometryType?
            package var context: String?

            package init(
                evaluation: String, progress: EnclaveInterface.Progress, biometryType: BiometryType? = nil,
                context: String? = nil
            ) {
                self.evaluation = evaluation
                self.progress = progress
                self.biometryType = biometryType
                self.context = context
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.evaluation = try json.value("evaluation")
                self.progress = try json.value("progress")
                self.biometryType = try json.valueIfPresent("biometryType")
                self.context = try json.valueIfPresent("context")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(evaluation, for: "evaluation")
                try json.write(progress, for: "progress")
                try json.write(biometryType, for: "biometryType")
                try json.write(context, for: "context")
                json.endObject()
            }
        }
    }

    /// Ends an evaluation without an event: the app, the owner or the agent is gone, or cancelled.
    ///
    /// The app hears of a failure. So the context keeps nothing of what was proven, even if the evaluation has just
    /// succeeded. It is no error to end one that is over. code: why, for the log; absent: -4.
    package enum EndEvaluation: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.EndEvaluation"
        package struct Parameters: MessageCodable {
            package var evaluation: String
            package var code: AuthenticationFailure?

            package init(evaluation: String, code: AuthenticationFailure? = nil) {
                self.evaluation = evaluation
                self.code = code
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.evaluation = try json.value("evaluation")
                self.code = try json.valueIfPresent("code")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(evaluation, for: "evaluation")
                try json.write(code, for: "code")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// The owner can see the prompt of an evaluation, or no longer.
    ///
    /// The sensor counts for an evaluation from half a second after its prompt was shown, because an earlier touch was
    /// meant for something else. Repeating the call changes nothing. touchesAfterSeconds: how long the sensor does not
    /// count yet; 0 if the prompt is not shown.
    ///
    /// Errors: NoSuchEvaluation.
    package enum SetShown: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.SetShown"
        package struct Parameters: MessageCodable {
            package var evaluation: String
            package var isShown: Bool

            package init(evaluation: String, isShown: Bool) {
                self.evaluation = evaluation
                self.isShown = isShown
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.evaluation = try json.value("evaluation")
                self.isShown = try json.value("isShown")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(evaluation, for: "evaluation")
                try json.write(isShown, for: "isShown")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var touchesAfterSeconds: Double

            package init(touchesAfterSeconds: Double) {
                self.touchesAfterSeconds = touchesAfterSeconds
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.touchesAfterSeconds = try json.value("touchesAfterSeconds")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(touchesAfterSeconds, for: "touchesAfterSeconds")
                json.endObject()
            }
        }
    }

    /// The owner chose the fallback: it leads to the passcode (EV-18) or ends the evaluation with -3 (EV-17).
    ///
    /// The answer is an event. If the passcode is already asked for, nothing happens.
    ///
    /// Errors: NoSuchEvaluation.
    package enum ChooseFallback: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ChooseFallback"
        package struct Parameters: MessageCodable {
            package var evaluation: String

            package init(evaluation: String) {
                self.evaluation = evaluation
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.evaluation = try json.value("evaluation")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(evaluation, for: "evaluation")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Whether the app of the evaluation may use Face ID: kept, and the evaluation goes on.
    ///
    /// The answer is an event.
    ///
    /// Errors: NoSuchEvaluation, also where it does not ask that; NotKept.
    package enum AnswerPermission: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.AnswerPermission"
        package struct Parameters: MessageCodable {
            package var evaluation: String
            package var isAllowed: Bool

            package init(evaluation: String, isAllowed: Bool) {
                self.evaluation = evaluation
                self.isAllowed = isAllowed
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.evaluation = try json.value("evaluation")
                self.isAllowed = try json.value("isAllowed")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(evaluation, for: "evaluation")
                try json.write(isAllowed, for: "isAllowed")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Has Face ID look once more (EV-16).
    ///
    /// The answer is an event.
    ///
    /// Errors: NoSuchEvaluation, also where it does not wait for that.
    package enum TryAgain: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.TryAgain"
        package struct Parameters: MessageCodable {
            package var evaluation: String

            package init(evaluation: String) {
                self.evaluation = evaluation
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.evaluation = try json.value("evaluation")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(evaluation, for: "evaluation")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Checks a passcode for the evaluation that asks for one.
    ///
    /// The answer is an event: progress (with wrongPasscode, and a new nonce), succeeded or failed. The guess is
    /// counted, and the count is stored, before the passcode is checked. A wrong one counts for the device (PC-07); the
    /// same wrong one again does not count (PC-02).
    ///
    /// Errors, of io.touchstone.Device: Refused: staleNonce (the evaluation is over or asks for no passcode, or nothing
    /// opens with its nonce), passcodeNotSet, passcodeDisabled, passcodeTooLong, unreadablePasscode, busy (another one
    /// is being checked, or the delay is not over). The nonce of an entry that was opened is used up, whatever the
    /// result.
    package enum SubmitPasscode: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.SubmitPasscode"
        package struct Parameters: MessageCodable {
            package var evaluation: String
            package var passcode: SealedPasscode
            package var caller: EnclaveInterface.Caller?

            package init(evaluation: String, passcode: SealedPasscode, caller: EnclaveInterface.Caller? = nil) {
                self.evaluation = evaluation
                self.passcode = passcode
                self.caller = caller
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.evaluation = try json.value("evaluation")
                self.passcode = try json.value("passcode")
                self.caller = try json.valueIfPresent("caller")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(evaluation, for: "evaluation")
                try json.write(passcode, for: "passcode")
                try json.write(caller, for: "caller")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// What becomes of evaluations and of passcode tickets.
    ///
    /// To be called with "more", once; the first event has neither evaluation nor ticket and says that the stream is
    /// there. Another such says that what apps may know of the device has changed: enrolment, lockout, whether there is
    /// a passcode. Every other event but erased, unlocked and locked has exactly one of evaluation, ticket and log.
    ///
    /// An evaluation: progress is there while it goes on; code where it failed, and reason, a word of
    /// io.touchstone.Keychain's Failed. A ticket (of ChangePasscode, Unlock, SetEraseData, SetCredential or the error
    /// Deferred): refusal where the device did not do it, retryAfterSeconds where the next passcode has to wait. log:
    /// new lines of the log, to be kept as they are, in this order; docs/audit-log.md says what they are. key: with a
    /// ticket of Deferred, the reply of its call, or status or isInvalidated for the errors Failed and Invalidated of
    /// io.touchstone.Key.
    package enum WatchEvents: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.WatchEvents"
        package typealias Parameters = Empty
        package struct Reply: MessageCodable {
            package var evaluation: String?
            package var ticket: String?
            package var outcome: EnclaveInterface.Outcome
            package var code: AuthenticationFailure?
            package var progress: EnclaveInterface.Progress?
            package var refusal: DeviceInterface.RefusalReason?
            package var retryAfterSeconds: Double?
            package var log: [String]?
            package var key: EnclaveInterface.KeyResult?
            package var reason: String?

            package init(
                evaluation: String? = nil, ticket: String? = nil, outcome: EnclaveInterface.Outcome,
                code: AuthenticationFailure? = nil, progress: EnclaveInterface.Progress? = nil,
                refusal: DeviceInterface.RefusalReason? = nil, retryAfterSeconds: Double? = nil,
                log: [String]? = nil, key: EnclaveInterface.KeyResult? = nil, reason: String? = nil
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
                self.reason = reason
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.evaluation = try json.valueIfPresent("evaluation")
                self.ticket = try json.valueIfPresent("ticket")
                self.outcome = try json.value("outcome")
                self.code = try json.valueIfPresent("code")
                self.progress = try json.valueIfPresent("progress")
                self.refusal = try json.valueIfPresent("refusal")
                self.retryAfterSeconds = try json.valueIfPresent("retryAfterSeconds")
                self.log = try json.valueIfPresent("log")
                self.key = try json.valueIfPresent("key")
                self.reason = try json.valueIfPresent("reason")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(evaluation, for: "evaluation")
                try json.write(ticket, for: "ticket")
                try json.write(outcome, for: "outcome")
                try json.write(code, for: "code")
                try json.write(progress, for: "progress")
                try json.write(refusal, for: "refusal")
                try json.write(retryAfterSeconds, for: "retryAfterSeconds")
                try json.write(log, for: "log")
                try json.write(key, for: "key")
                try json.write(reason, for: "reason")
                json.endObject()
            }
        }
    }

    /// The result of CreateKey, Sign or ExchangeKeys with a key in the TPM.
    package struct KeyResult: MessageCodable, Hashable {
        /// Bytes, base64.
        package var key: Data?
        /// Bytes, base64.
        package var publicKey: Data?
        /// Bytes, base64.
        package var signature: Data?
        /// Bytes, base64.
        package var sharedSecret: Data?
        /// An OSStatus.
        package var status: Int32?
        package var isInvalidated: Bool?
        package var reason: String?

        package init(
            key: Data? = nil, publicKey: Data? = nil, signature: Data? = nil, sharedSecret: Data? = nil,
            status: Int32? = nil, isInvalidated: Bool? = nil, reason: String? = nil
        ) {
            self.key = key
            self.publicKey = publicKey
            self.signature = signature
            self.sharedSecret = sharedSecret
            self.status = status
            self.isInvalidated = isInvalidated
            self.reason = reason
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.key = try json.valueIfPresent("key")
            self.publicKey = try json.valueIfPresent("publicKey")
            self.signature = try json.valueIfPresent("signature")
            self.sharedSecret = try json.valueIfPresent("sharedSecret")
            self.status = try json.valueIfPresent("status")
            self.isInvalidated = try json.valueIfPresent("isInvalidated")
            self.reason = try json.valueIfPresent("reason")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(key, for: "key")
            try json.write(publicKey, for: "publicKey")
            try json.write(signature, for: "signature")
            try json.write(sharedSecret, for: "sharedSecret")
            try json.write(status, for: "status")
            try json.write(isInvalidated, for: "isInvalidated")
            try json.write(reason, for: "reason")
            json.endObject()
        }
    }

    /// Who sends what was typed, as touchstoned says: the connection to it by its number, and the application
    /// identifier of the program, absent if touchstoned does not know it.
    ///
    /// The log names that program if a passcode is rejected.
    package struct Caller: MessageCodable, Hashable {
        package var connection: Int
        package var app: AppIdentifier?

        package init(connection: Int, app: AppIdentifier? = nil) {
            self.connection = connection
            self.app = app
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.connection = try json.value("connection")
            self.app = try json.valueIfPresent("app")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(connection, for: "connection")
            try json.write(app, for: "app")
            json.endObject()
        }
    }

    /// A nonce (bytes, base64) for one ChangePasscode, Unlock, SetEraseData, ForgetReader, AcceptItems or
    /// AuthorizeBackup, good only for a caller of that connection (absent: 0).
    ///
    /// The nonce of an evaluation is in its progress. Of each connection, the 8 newest nonces are good, until
    /// EndConnection. If there are more than 8192 connections, the one that has waited longest for a new nonce is
    /// forgotten. Answers what io.touchstone.Device.GetNonce answers.
    package enum GetNonce: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.GetNonce"
        package struct Parameters: MessageCodable {
            package var connection: Int?

            package init(connection: Int? = nil) {
                self.connection = connection
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.connection = try json.valueIfPresent("connection")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(connection, for: "connection")
                json.endObject()
            }
        }

        package typealias Reply = DeviceInterface.GetNonce.Reply
    }

    /// A connection to touchstoned has ended: its nonces are no longer good.
    package enum EndConnection: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.EndConnection"
        package struct Parameters: MessageCodable {
            package var connection: Int

            package init(connection: Int) {
                self.connection = connection
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.connection = try json.value("connection")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(connection, for: "connection")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// The apps for which the owner has answered, in the order of the answers: the 128 newest.
    ///
    /// Answers what io.touchstone.Device.ListFaceIDPermissions answers.
    package enum ListFaceIDPermissions: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ListFaceIDPermissions"
        package typealias Parameters = Empty
        package typealias Reply = DeviceInterface.ListFaceIDPermissions.Reply
    }

    /// Keeps the owner's answer for an app, or forgets it if isAllowed is absent.
    ///
    /// Takes what io.touchstone.Device.SetFaceIDPermission takes.
    ///
    /// Errors: NotKept; of io.touchstone.Device: Refused: noFaceID, invalidName.
    package enum SetFaceIDPermission: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.SetFaceIDPermission"
        package typealias Parameters = DeviceInterface.SetFaceIDPermission.Parameters
        package typealias Reply = Empty
    }

    /// Sets, changes or removes the passcode: both are in one sealed message, as in io.touchstone.Device.
    ///
    /// Answers with a ticket; WatchEvents tells the result. Removing it destroys the class of items that live only
    /// while a passcode is set (KC-23); a change seals the class keys again and keeps every item. Contexts lose what
    /// they had proven (EV-33), and a running evaluation ends with -4.
    ///
    /// Errors, of io.touchstone.Device: Refused: passcodeNotSet, passcodeAlreadySet, passcodeDisabled,
    /// passcodeTooShort, passcodeTooLong, passcodeNotOfKind, busy, staleNonce, unreadablePasscode. After an error, or
    /// if the ticket fails, the old passcode stays. kind is that of the new one; absent: alphanumeric.
    package enum ChangePasscode: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ChangePasscode"
        package struct Parameters: MessageCodable {
            package var passcodes: SealedPasscode
            package var kind: PasscodeKind?
            package var caller: EnclaveInterface.Caller?

            package init(
                passcodes: SealedPasscode, kind: PasscodeKind? = nil, caller: EnclaveInterface.Caller? = nil
            ) {
                self.passcodes = passcodes
                self.kind = kind
                self.caller = caller
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.passcodes = try json.value("passcodes")
                self.kind = try json.valueIfPresent("kind")
                self.caller = try json.valueIfPresent("caller")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(passcodes, for: "passcodes")
                try json.write(kind, for: "kind")
                try json.write(caller, for: "caller")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var ticket: String

            package init(ticket: String) {
                self.ticket = ticket
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.ticket = try json.value("ticket")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(ticket, for: "ticket")
                json.endObject()
            }
        }
    }

    /// Turns erasing after ten wrong passcodes in a row on or off (PC-02); the passcode is sealed for the value.
    ///
    /// Answers with a ticket; WatchEvents tells the result. Removing the passcode turns it off. Answers what
    /// ChangePasscode answers.
    ///
    /// Errors, of io.touchstone.Device: Refused: as of Unlock. After an error, or where the ticket fails, it is as it
    /// was.
    package enum SetEraseData: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.SetEraseData"
        package struct Parameters: MessageCodable {
            package var isOn: Bool
            package var passcode: SealedPasscode
            package var caller: EnclaveInterface.Caller?

            package init(isOn: Bool, passcode: SealedPasscode, caller: EnclaveInterface.Caller? = nil) {
                self.isOn = isOn
                self.passcode = passcode
                self.caller = caller
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.isOn = try json.value("isOn")
                self.passcode = try json.value("passcode")
                self.caller = try json.valueIfPresent("caller")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(isOn, for: "isOn")
                try json.write(passcode, for: "passcode")
                try json.write(caller, for: "caller")
                json.endObject()
            }
        }

        package typealias Reply = EnclaveInterface.ChangePasscode.Reply
    }

    /// Forgets the fingerprint reader and who is enrolled with it, by the passcode alone, sealed for this: the device
    /// then takes the next reader that it finds (DEC-062).
    ///
    /// Answers with a ticket; WatchEvents tells the result. Answers what ChangePasscode answers.
    ///
    /// Errors, of io.touchstone.Device: Refused: as of Unlock; noSensor: its fingers are simulated. After an error, or
    /// where the ticket fails, it is as it was.
    package enum ForgetReader: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ForgetReader"
        package struct Parameters: MessageCodable {
            package var passcode: SealedPasscode
            package var caller: EnclaveInterface.Caller?

            package init(passcode: SealedPasscode, caller: EnclaveInterface.Caller? = nil) {
                self.passcode = passcode
                self.caller = caller
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.passcode = try json.value("passcode")
                self.caller = try json.valueIfPresent("caller")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(passcode, for: "passcode")
                try json.write(caller, for: "caller")
                json.endObject()
            }
        }

        package typealias Reply = EnclaveInterface.ChangePasscode.Reply
    }

    /// Gives a device without a sensor of its own the readers of fprintd, by the passcode alone, sealed for these
    /// paths. bus is the socket of fprintd's D-Bus, templates the directory in which fprintd keeps the enrolled
    /// fingers.
    ///
    /// Answers with a ticket; WatchEvents tells the result. Answers what ChangePasscode answers.
    ///
    /// Errors, of io.touchstone.Device: Refused: as of Unlock; hasSensor; invalidName: a path does not begin with a
    /// slash or has 4096 bytes or more. After an error, or where the ticket fails, it is as it was.
    package enum AddReader: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.AddReader"
        package struct Parameters: MessageCodable {
            package var bus: String
            package var templates: String
            package var passcode: SealedPasscode
            package var caller: EnclaveInterface.Caller?

            package init(
                bus: String, templates: String, passcode: SealedPasscode, caller: EnclaveInterface.Caller? = nil
            ) {
                self.bus = bus
                self.templates = templates
                self.passcode = passcode
                self.caller = caller
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.bus = try json.value("bus")
                self.templates = try json.value("templates")
                self.passcode = try json.value("passcode")
                self.caller = try json.valueIfPresent("caller")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(bus, for: "bus")
                try json.write(templates, for: "templates")
                try json.write(passcode, for: "passcode")
                try json.write(caller, for: "caller")
                json.endObject()
            }
        }

        package typealias Reply = EnclaveInterface.ChangePasscode.Reply
    }

    /// Accepts the items with an access control that CompareItems was given in this look, and what was recorded since.
    ///
    /// It needs the passcode, sealed for this look. From then on these items count as the recorded ones. Another look
    /// makes it stale (staleNonce). Answers with a ticket; WatchEvents tells the result. Answers what ChangePasscode
    /// answers.
    ///
    /// Errors, of io.touchstone.Device: Refused: as of Unlock. After an error, or where the ticket fails, it is as it
    /// was.
    package enum AcceptItems: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.AcceptItems"
        package struct Parameters: MessageCodable {
            package var look: String
            package var passcode: SealedPasscode
            package var caller: EnclaveInterface.Caller?

            package init(look: String, passcode: SealedPasscode, caller: EnclaveInterface.Caller? = nil) {
                self.look = look
                self.passcode = passcode
                self.caller = caller
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.look = try json.value("look")
                self.passcode = try json.value("passcode")
                self.caller = try json.valueIfPresent("caller")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(look, for: "look")
                try json.write(passcode, for: "passcode")
                try json.write(caller, for: "caller")
                json.endObject()
            }
        }

        package typealias Reply = EnclaveInterface.ChangePasscode.Reply
    }

    /// Unlocks the device with the passcode.
    ///
    /// Answers with a ticket; WatchEvents tells the result. Answers what ChangePasscode answers.
    ///
    /// Errors, of io.touchstone.Device: Refused: passcodeNotSet, passcodeDisabled, passcodeTooLong, busy, staleNonce,
    /// unreadablePasscode. After an error, or where the ticket fails, the device is as locked as before.
    package enum Unlock: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.Unlock"
        package struct Parameters: MessageCodable {
            package var passcode: SealedPasscode
            package var caller: EnclaveInterface.Caller?

            package init(passcode: SealedPasscode, caller: EnclaveInterface.Caller? = nil) {
                self.passcode = passcode
                self.caller = caller
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.passcode = try json.value("passcode")
                self.caller = try json.valueIfPresent("caller")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(passcode, for: "passcode")
                try json.write(caller, for: "caller")
                json.endObject()
            }
        }

        package typealias Reply = EnclaveInterface.ChangePasscode.Reply
    }

    /// Locks the device: drops the class keys that need it unlocked, or holds them only for a finger if a finger may
    /// unlock it (PC-33).
    ///
    /// Contexts lose what they had proven (EV-33), and a running evaluation ends with -4. A device without a passcode
    /// does not lock (KC-22). requiresPasscode: from now on only the passcode unlocks it, even if it is locked already
    /// (PC-20); absent: a finger may. caller: who asked for it, for the log.
    ///
    /// Errors, of io.touchstone.Device: Refused: lockedTooOften.
    package enum Lock: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.Lock"
        package struct Parameters: MessageCodable {
            package var requiresPasscode: Bool?
            package var caller: EnclaveInterface.Caller?

            package init(requiresPasscode: Bool? = nil, caller: EnclaveInterface.Caller? = nil) {
                self.requiresPasscode = requiresPasscode
                self.caller = caller
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.requiresPasscode = try json.valueIfPresent("requiresPasscode")
                self.caller = try json.valueIfPresent("caller")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(requiresPasscode, for: "requiresPasscode")
                try json.write(caller, for: "caller")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Driving: enrols a finger, or a face: 1...64 bytes of UTF-8.
    ///
    /// Items bound to the current set are lost for good (AC-50). Takes what io.touchstone.Device.Enroll takes.
    ///
    /// Errors, of io.touchstone.Device: NotSimulated. Refused: passcodeNotSet (PC-23), noSensor, tooManyFingers
    /// (PC-30), fingerAlreadyEnrolled, invalidName. The enrolment is as before after an error.
    package enum Enroll: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.Enroll"
        package typealias Parameters = DeviceInterface.Enroll.Parameters
        package typealias Reply = Empty
    }

    /// Driving: removes a finger, or a face, with the consequences of Enroll.
    ///
    /// Takes what io.touchstone.Device.RemoveFinger takes.
    ///
    /// Errors, of io.touchstone.Device: NotSimulated. Refused: noSuchFinger. The enrolment is as before after an error.
    package enum RemoveFinger: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.RemoveFinger"
        package typealias Parameters = DeviceInterface.RemoveFinger.Parameters
        package typealias Reply = Empty
    }

    /// The names of what is enrolled.
    ///
    /// Answers what io.touchstone.Device.ListFingers answers.
    package enum ListFingers: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ListFingers"
        package typealias Parameters = Empty
        package typealias Reply = DeviceInterface.ListFingers.Reply
    }

    /// Driving: lays a finger on the sensor, or shows a face. finger absent, or not enrolled: it does not match.
    ///
    /// An event also tells what it did to an evaluation. Takes what io.touchstone.Device.PresentFinger takes. Answers
    /// what io.touchstone.Device.PresentFinger answers.
    ///
    /// Errors, of io.touchstone.Device: NotSimulated.
    package enum PresentFinger: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.PresentFinger"
        package typealias Parameters = DeviceInterface.PresentFinger.Parameters
        package typealias Reply = DeviceInterface.PresentFinger.Reply
    }

    /// Driving: as of io.touchstone.Device.
    ///
    /// Whoever waits for the sensor hears of it by an event. Takes what io.touchstone.Device.SetSensorConnected takes.
    ///
    /// Errors, of io.touchstone.Device: NotSimulated. Refused: noSensor.
    package enum SetSensorConnected: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.SetSensorConnected"
        package typealias Parameters = DeviceInterface.SetSensorConnected.Parameters
        package typealias Reply = Empty
    }

    /// Driving: moves the enclave's clock forward.
    ///
    /// Takes what io.touchstone.Device.AdvanceClock takes.
    ///
    /// Errors, of io.touchstone.Device: NotSimulated. org.varlink.service.InvalidParameter.
    package enum AdvanceClock: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.AdvanceClock"
        package typealias Parameters = DeviceInterface.AdvanceClock.Parameters
        package typealias Reply = Empty
    }

    /// Of a simulated device: where each class key is, by the code of the class.
    ///
    /// No key is in the reply.
    ///
    /// Errors, of io.touchstone.Device: NotSimulated.
    package enum InspectClassKeys: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.InspectClassKeys"
        package typealias Parameters = Empty
        package struct Reply: MessageCodable {
            package var keys: [String: InspectorInterface.ClassKeyState]
            package var wasUnlockedSinceBoot: Bool

            package init(keys: [String: InspectorInterface.ClassKeyState], wasUnlockedSinceBoot: Bool) {
                self.keys = keys
                self.wasUnlockedSinceBoot = wasUnlockedSinceBoot
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.keys = try json.value("keys")
                self.wasUnlockedSinceBoot = try json.value("wasUnlockedSinceBoot")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(keys, for: "keys")
                try json.write(wasUnlockedSinceBoot, for: "wasUnlockedSinceBoot")
                json.endObject()
            }
        }
    }

    /// obstacle: LAError.Code: why the owner cannot give now what the access control asks for; absent: the owner can.
    package struct Prospect: MessageCodable, Hashable {
        package var availability: InspectorInterface.Availability
        package var obstacle: AuthenticationFailure?

        package init(availability: InspectorInterface.Availability, obstacle: AuthenticationFailure? = nil) {
            self.availability = availability
            self.obstacle = obstacle
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.availability = try json.value("availability")
            self.obstacle = try json.valueIfPresent("obstacle")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(availability, for: "availability")
            try json.write(obstacle, for: "obstacle")
            json.endObject()
        }
    }

    /// Of a simulated device: whether these items could be opened now, and these privateKeys (bytes, base64, as
    /// CreateKey gave them) be used; one answer for each, in their order.
    ///
    /// Nobody is asked, nothing is opened, and no key is in the reply.
    ///
    /// Errors, of io.touchstone.Device: NotSimulated.
    package enum InspectItems: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.InspectItems"
        package struct Parameters: MessageCodable {
            package var items: [EnclaveInterface.WrappedItem]
            package var privateKeys: [Data]

            package init(items: [EnclaveInterface.WrappedItem], privateKeys: [Data]) {
                self.items = items
                self.privateKeys = privateKeys
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.items = try json.value("items")
                self.privateKeys = try json.value("privateKeys")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(items, for: "items")
                try json.write(privateKeys, for: "privateKeys")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var items: [EnclaveInterface.Prospect]
            package var privateKeys: [EnclaveInterface.Prospect]

            package init(items: [EnclaveInterface.Prospect], privateKeys: [EnclaveInterface.Prospect]) {
                self.items = items
                self.privateKeys = privateKeys
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.items = try json.value("items")
                self.privateKeys = try json.value("privateKeys")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(items, for: "items")
                try json.write(privateKeys, for: "privateKeys")
                json.endObject()
            }
        }
    }

    /// The key (32 bytes, base64) of the keychain's lookup tags: there from boot on.
    ///
    /// It opens nothing.
    package enum GetLookupKey: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.GetLookupKey"
        package typealias Parameters = Empty
        package struct Reply: MessageCodable {
            package var key: Data

            package init(key: Data) {
                self.key = key
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.key = try json.value("key")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(key, for: "key")
                json.endObject()
            }
        }
    }

    /// The metadata keys (32 bytes each, base64, by the code of the class) of the classes that can be opened now, and
    /// the classes that are destroyed, not only locked: their items are gone for good (KC-23). isErasurePending: the
    /// device was erased (PC-02), and there are no keys until all its items are deleted and ConfirmErasure is called.
    /// generation: how often the class keys were made again; each change of the passcode does that (absent: never).
    /// earlier (bytes, base64): the earlier metadata keys, the newest first.
    package enum GetMetadataKeys: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.GetMetadataKeys"
        package typealias Parameters = Empty
        package struct Reply: MessageCodable {
            package var keys: [String: Data]
            package var destroyed: [String]
            package var isErasurePending: Bool
            package var generation: Int?
            package var earlier: [String: [Data]]?

            package init(
                keys: [String: Data], destroyed: [String], isErasurePending: Bool, generation: Int? = nil,
                earlier: [String: [Data]]? = nil
            ) {
                self.keys = keys
                self.destroyed = destroyed
                self.isErasurePending = isErasurePending
                self.generation = generation
                self.earlier = earlier
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.keys = try json.value("keys")
                self.destroyed = try json.value("destroyed")
                self.isErasurePending = try json.value("isErasurePending")
                self.generation = try json.valueIfPresent("generation")
                self.earlier = try json.valueIfPresent("earlier")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(keys, for: "keys")
                try json.write(destroyed, for: "destroyed")
                try json.write(isErasurePending, for: "isErasurePending")
                try json.write(generation, for: "generation")
                try json.write(earlier, for: "earlier")
                json.endObject()
            }
        }
    }

    /// The items of the device that was erased are gone.
    ///
    /// Without an erasure it does nothing.
    package enum ConfirmErasure: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ConfirmErasure"
        package typealias Parameters = Empty
        package typealias Reply = Empty
    }

    /// Compares the rows with an access control with what was recorded of them, at most 8192 in one call. isFirst
    /// begins a look and isLast ends it; the rows that it was given count as the present ones until the next look.
    ///
    /// Between RecordItems and SettleItems both the old and the new rows match. takes: records the present rows if
    /// nothing was ever recorded. isRecorded: whether anything is recorded; while nothing is, no item is refused as
    /// altered. altered: the groups that do not match, by the first byte of the rows' identifiers; only after isLast.
    /// look: the name of this look, for AcceptItems; only after isLast. isPartial, with isLast: the keychain could not
    /// read all rows. Then the look settles nothing, and has no name.
    ///
    /// Errors: NotKept, with takes. org.varlink.service.InvalidParameter: bytes that are no rows, or more than 1048576
    /// rows in all.
    package enum CompareItems: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.CompareItems"
        package struct Parameters: MessageCodable {
            /// Bytes, base64: of each row class, identifier and version, 36 bytes, one row after the other.
            package var items: Data
            package var isFirst: Bool
            package var isLast: Bool
            package var takes: Bool?
            package var isPartial: Bool?

            package init(items: Data, isFirst: Bool, isLast: Bool, takes: Bool? = nil, isPartial: Bool? = nil) {
                self.items = items
                self.isFirst = isFirst
                self.isLast = isLast
                self.takes = takes
                self.isPartial = isPartial
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.items = try json.value("items")
                self.isFirst = try json.value("isFirst")
                self.isLast = try json.value("isLast")
                self.takes = try json.valueIfPresent("takes")
                self.isPartial = try json.valueIfPresent("isPartial")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(items, for: "items")
                try json.write(isFirst, for: "isFirst")
                try json.write(isLast, for: "isLast")
                try json.write(takes, for: "takes")
                try json.write(isPartial, for: "isPartial")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var isRecorded: Bool
            package var altered: [Int]
            package var look: String?

            package init(isRecorded: Bool, altered: [Int], look: String? = nil) {
                self.isRecorded = isRecorded
                self.altered = altered
                self.look = look
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.isRecorded = try json.value("isRecorded")
                self.altered = try json.value("altered")
                self.look = try json.valueIfPresent("look")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(isRecorded, for: "isRecorded")
                try json.write(altered, for: "altered")
                try json.write(look, for: "look")
                json.endObject()
            }
        }
    }

    /// Records a change of the rows with an access control, before the keychain commits it: the removed and the added
    /// rows, as of CompareItems, at most 8192 in one call.
    ///
    /// With isLast, all of them are on the disk when it answers. isDeletion: it works even if the disk is full.
    /// isRecorded: false if nothing was ever compared; then nothing is recorded. If the keychain does not commit, it
    /// calls CompareItems.
    ///
    /// Errors: NotKept: nothing is recorded; also where there would be more than 1048576 rows.
    /// org.varlink.service.InvalidParameter: bytes that are no rows, or more rows than that.
    package enum RecordItems: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.RecordItems"
        package struct Parameters: MessageCodable {
            /// Bytes, base64, as of CompareItems.
            package var removed: Data
            /// Bytes, base64, as of CompareItems.
            package var added: Data
            package var isFirst: Bool
            package var isLast: Bool
            package var isDeletion: Bool

            package init(removed: Data, added: Data, isFirst: Bool, isLast: Bool, isDeletion: Bool) {
                self.removed = removed
                self.added = added
                self.isFirst = isFirst
                self.isLast = isLast
                self.isDeletion = isDeletion
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.removed = try json.value("removed")
                self.added = try json.value("added")
                self.isFirst = try json.value("isFirst")
                self.isLast = try json.value("isLast")
                self.isDeletion = try json.value("isDeletion")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(removed, for: "removed")
                try json.write(added, for: "added")
                try json.write(isFirst, for: "isFirst")
                try json.write(isLast, for: "isLast")
                try json.write(isDeletion, for: "isDeletion")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var isRecorded: Bool

            package init(isRecorded: Bool) {
                self.isRecorded = isRecorded
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.isRecorded = try json.value("isRecorded")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(isRecorded, for: "isRecorded")
                json.endObject()
            }
        }
    }

    /// The recorded change, and nothing else, is in the keychain: the rows before it no longer match.
    package enum SettleItems: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.SettleItems"
        package typealias Parameters = Empty
        package typealias Reply = Empty
    }

    /// Wraps an item's secret key (32 bytes, base64) under its class key, with the access control and the binding
    /// authenticated; biometryCurrentSet is bound to what is enrolled now (AC-10, AC-50).
    ///
    /// Asks the owner for nothing (AC-12).
    ///
    /// wrappedKey (bytes, base64) opens with the same binding only.
    ///
    /// Errors: NotWrapped: -25308 the class key is not there now (KC-20); -25293 no passcode for "akpu" (KC-24) or for
    /// a constraint, or nothing enrolled for a biometric one (AC-15); -50 a key of another length, or a control for
    /// private keys; -25330 the control asks for an application password, and the app's context does not have one
    /// (AC-48). Nothing is stored, whatever the answer. generation is that of the class key, as in GetMetadataKeys: the
    /// metadata key has to be of the same generation.
    ///
    /// spares are keys for what is still to be written: the same access group, and the same access control, which has
    /// no flags. At most 16; each is answered in its place.
    package enum WrapKey: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.WrapKey"
        package struct Parameters: MessageCodable {
            package var accessControl: AccessControl
            package var binding: EnclaveInterface.ItemBinding
            package var key: Data
            package var app: AppIdentifier
            package var context: String?
            package var spares: [EnclaveInterface.SpareKey]?

            package init(
                accessControl: AccessControl, binding: EnclaveInterface.ItemBinding, key: Data, app: AppIdentifier,
                context: String? = nil, spares: [EnclaveInterface.SpareKey]? = nil
            ) {
                self.accessControl = accessControl
                self.binding = binding
                self.key = key
                self.app = app
                self.context = context
                self.spares = spares
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.accessControl = try json.value("accessControl")
                self.binding = try json.value("binding")
                self.key = try json.value("key")
                self.app = try json.value("app")
                self.context = try json.valueIfPresent("context")
                self.spares = try json.valueIfPresent("spares")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(accessControl, for: "accessControl")
                try json.write(binding, for: "binding")
                try json.write(key, for: "key")
                try json.write(app, for: "app")
                try json.write(context, for: "context")
                try json.write(spares, for: "spares")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var wrappedKey: Data
            package var generation: Int?
            /// Each bytes, base64.
            package var spares: [Data]?

            package init(wrappedKey: Data, generation: Int? = nil, spares: [Data]? = nil) {
                self.wrappedKey = wrappedKey
                self.generation = generation
                self.spares = spares
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.wrappedKey = try json.value("wrappedKey")
                self.generation = try json.valueIfPresent("generation")
                self.spares = try json.valueIfPresent("spares")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(wrappedKey, for: "wrappedKey")
                try json.write(generation, for: "generation")
                try json.write(spares, for: "spares")
                json.endObject()
            }
        }
    }

    /// Opens items' secret keys for an app, each on its own, in the order given: one answer for each item.
    ///
    /// An item opens if its class key is there, its binding is what was sealed, and the context fits. The context has
    /// to have proven what the access control asks for, to have the application password if one is needed, and to have
    /// the item's access group. A context that is absent, unknown or belongs to another app has proven nothing. An
    /// application password that was wrong for one of the items is forgotten (AC-46); nothing else changes.
    package enum UnwrapKeys: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.UnwrapKeys"
        package struct Parameters: MessageCodable {
            package var items: [EnclaveInterface.WrappedItem]
            package var app: AppIdentifier
            package var context: String?

            package init(items: [EnclaveInterface.WrappedItem], app: AppIdentifier, context: String? = nil) {
                self.items = items
                self.app = app
                self.context = context
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.items = try json.value("items")
                self.app = try json.value("app")
                self.context = try json.valueIfPresent("context")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(items, for: "items")
                try json.write(app, for: "app")
                try json.write(context, for: "context")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var items: [EnclaveInterface.OpenedItem]

            package init(items: [EnclaveInterface.OpenedItem]) {
                self.items = items
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.items = try json.value("items")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(items, for: "items")
                json.endObject()
            }
        }
    }

    /// Which private key to use, for which app, and with which context.
    package struct KeyUse: MessageCodable, Hashable {
        /// Bytes, base64, as CreateKey gave them.
        package var key: Data
        package var app: AppIdentifier
        /// The app's groups; the key must belong to one of them.
        package var accessGroups: [AccessGroup]
        package var context: String?

        package init(key: Data, app: AppIdentifier, accessGroups: [AccessGroup], context: String? = nil) {
            self.key = key
            self.app = app
            self.accessGroups = accessGroups
            self.context = context
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.key = try json.value("key")
            self.app = try json.value("app")
            self.accessGroups = try json.value("accessGroups")
            self.context = try json.valueIfPresent("context")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(key, for: "key")
            try json.write(app, for: "app")
            try json.write(accessGroups, for: "accessGroups")
            try json.write(context, for: "context")
            json.endObject()
        }
    }

    /// Makes a private key of the access group and returns it as a blob (bytes, base64) that this enclave alone opens,
    /// with its public key (bytes, base64: of p256 its point, uncompressed, 65 bytes; of the others as their standards
    /// encode it). biometryCurrentSet is bound to what is enrolled now (AC-50).
    ///
    /// Asks the owner for nothing (SE-15), and keeps nothing (SE-03). Answers what io.touchstone.Key.Create answers.
    ///
    /// Errors, of io.touchstone.Key: Failed: -25308 the class key is not there now (KC-20); -25293 no passcode for
    /// "akpu" (KC-24) or for a constraint, or nothing enrolled for a biometric one (AC-15); -50 a group of more than
    /// 65535 bytes. AuthenticationNeeded: the control asks for an application password, and the app's context does not
    /// have one (AC-48).
    package enum CreateKey: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.CreateKey"
        package struct Parameters: MessageCodable {
            package var kind: KeyInterface.Kind
            package var accessControl: AccessControl
            package var accessGroup: AccessGroup
            package var app: AppIdentifier
            package var context: String?

            package init(
                kind: KeyInterface.Kind, accessControl: AccessControl, accessGroup: AccessGroup, app: AppIdentifier,
                context: String? = nil
            ) {
                self.kind = kind
                self.accessControl = accessControl
                self.accessGroup = accessGroup
                self.app = app
                self.context = context
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.kind = try json.value("kind")
                self.accessControl = try json.value("accessControl")
                self.accessGroup = try json.value("accessGroup")
                self.app = try json.value("app")
                self.context = try json.valueIfPresent("context")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(kind, for: "kind")
                try json.write(accessControl, for: "accessControl")
                try json.write(accessGroup, for: "accessGroup")
                try json.write(app, for: "app")
                try json.write(context, for: "context")
                json.endObject()
            }
        }

        package typealias Reply = KeyInterface.Create.Reply
    }

    /// Describes a private key (key: bytes, base64), even if the device is locked, and without asking anybody.
    ///
    /// Answers what io.touchstone.Key.Inspect answers.
    ///
    /// Errors, of io.touchstone.Key: Failed: -26275 this enclave did not make it, or it was changed; -25300 it does not
    /// belong to one of these groups.
    package enum InspectKey: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.InspectKey"
        package struct Parameters: MessageCodable {
            package var key: Data
            package var accessGroups: [AccessGroup]

            package init(key: Data, accessGroups: [AccessGroup]) {
                self.key = key
                self.accessGroups = accessGroups
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.key = try json.value("key")
                self.accessGroups = try json.value("accessGroups")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(key, for: "key")
                try json.write(accessGroups, for: "accessGroups")
                json.endObject()
            }
        }

        package typealias Reply = KeyInterface.Inspect.Reply
    }

    /// Signs data (bytes, base64: for p256 a digest of 32 bytes), where the class key is there and the context has
    /// proven what the access control wants, has its application password, where it wants one, and has the key's access
    /// group among its own.
    ///
    /// A context that is absent, unknown or another app's has proven nothing. Replies with the signature (bytes,
    /// base64: of p256 r and s, 32 bytes each). Answers what io.touchstone.Key.Sign answers.
    ///
    /// Errors, of io.touchstone.Key: Failed: those of InspectKey; -25293 the control has constraints and no
    /// privateKeyUsage (SE-13); -25308 the class key is not there now; -50 the data cannot be signed by this kind.
    /// Invalidated: the enrolment or the passcode that it was bound to is no more (AC-52). AuthenticationNeeded. An
    /// application password that was wrong is forgotten (AC-46); nothing else changes.
    package enum Sign: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.Sign"
        package struct Parameters: MessageCodable {
            package var use: EnclaveInterface.KeyUse
            package var data: Data

            package init(use: EnclaveInterface.KeyUse, data: Data) {
                self.use = use
                self.data = data
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.use = try json.value("use")
                self.data = try json.value("data")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(use, for: "use")
                try json.write(data, for: "data")
                json.endObject()
            }
        }

        package typealias Reply = KeyInterface.Sign.Reply
    }

    /// Agrees on a secret with the holder of another key, of which publicKey (bytes, base64) is the public half, under
    /// the conditions of Sign. operation is LAAccessControlOperation: useKeyDecrypt 4 or useKeyKeyExchange 5.
    ///
    /// Answers what io.touchstone.Key.ExchangeKeys answers.
    ///
    /// Errors, of io.touchstone.Key: those of Sign; Failed -50 also for a public key of another kind or one that is not
    /// a key, and for another operation.
    package enum ExchangeKeys: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ExchangeKeys"
        package struct Parameters: MessageCodable {
            package var use: EnclaveInterface.KeyUse
            package var publicKey: Data
            package var operation: AccessControlOperation

            package init(use: EnclaveInterface.KeyUse, publicKey: Data, operation: AccessControlOperation) {
                self.use = use
                self.publicKey = publicKey
                self.operation = operation
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.use = try json.value("use")
                self.publicKey = try json.value("publicKey")
                self.operation = try json.value("operation")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(use, for: "use")
                try json.write(publicKey, for: "publicKey")
                try json.write(operation, for: "operation")
                json.endObject()
            }
        }

        package typealias Reply = KeyInterface.ExchangeKeys.Reply
    }

    /// Signs a message (bytes, base64, at most 512 KiB) with a key of mldsa65 or mldsa87, under the conditions of Sign.
    /// signatureContext (bytes, base64, at most 255) is the context string of FIPS 204; empty for none.
    ///
    /// Replies with the signature (bytes, base64: 3309 or 4627). Answers what io.touchstone.Key.SignMessage answers.
    ///
    /// Errors, of io.touchstone.Key: those of Sign; Failed -50 also for a key of another kind, and where either is
    /// longer.
    package enum SignMessage: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.SignMessage"
        package struct Parameters: MessageCodable {
            package var use: EnclaveInterface.KeyUse
            package var message: Data
            package var signatureContext: Data

            package init(use: EnclaveInterface.KeyUse, message: Data, signatureContext: Data) {
                self.use = use
                self.message = message
                self.signatureContext = signatureContext
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.use = try json.value("use")
                self.message = try json.value("message")
                self.signatureContext = try json.value("signatureContext")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(use, for: "use")
                try json.write(message, for: "message")
                try json.write(signatureContext, for: "signatureContext")
                json.endObject()
            }
        }

        package typealias Reply = KeyInterface.SignMessage.Reply
    }

    /// Takes out the secret (bytes, base64: 32) that somebody encapsulated (bytes, base64: 1088 to mlkem768, 1568 to
    /// mlkem1024), under the conditions of Sign.
    ///
    /// Other bytes of that length give a secret that nobody else has (FIPS 203). Answers what
    /// io.touchstone.Key.Decapsulate answers.
    ///
    /// Errors, of io.touchstone.Key: those of Sign; Failed -50 also for a key of another kind, and for another length.
    package enum Decapsulate: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.Decapsulate"
        package struct Parameters: MessageCodable {
            package var use: EnclaveInterface.KeyUse
            package var encapsulated: Data

            package init(use: EnclaveInterface.KeyUse, encapsulated: Data) {
                self.use = use
                self.encapsulated = encapsulated
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.use = try json.value("use")
                self.encapsulated = try json.value("encapsulated")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(use, for: "use")
                try json.write(encapsulated, for: "encapsulated")
                json.endObject()
            }
        }

        package typealias Reply = KeyInterface.Decapsulate.Reply
    }

    /// The owner agrees to a backup: passcode holds the passcode, then the backup's key (32 bytes), sealed for the
    /// direction.
    ///
    /// Answers with a ticket; WatchEvents tells the result. Then there is one session, named as io.touchstone.Backup
    /// says. It ends with EndBackup, the lock, the next session, or after ten minutes without a call. Answers what
    /// ChangePasscode answers.
    ///
    /// Errors, of io.touchstone.Device: Refused: passcodeNotSet, passcodeDisabled, passcodeTooLong, busy, locked,
    /// staleNonce, unreadablePasscode.
    package enum AuthorizeBackup: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.AuthorizeBackup"
        package struct Parameters: MessageCodable {
            package var direction: BackupDirection
            package var passcode: SealedPasscode
            package var caller: EnclaveInterface.Caller?

            package init(
                direction: BackupDirection, passcode: SealedPasscode, caller: EnclaveInterface.Caller? = nil
            ) {
                self.direction = direction
                self.passcode = passcode
                self.caller = caller
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.direction = try json.value("direction")
                self.passcode = try json.value("passcode")
                self.caller = try json.valueIfPresent("caller")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(direction, for: "direction")
                try json.write(passcode, for: "passcode")
                try json.write(caller, for: "caller")
                json.endObject()
            }
        }

        package typealias Reply = EnclaveInterface.ChangePasscode.Reply
    }

    /// Wraps items' keys for a backup, each on its own, in the order given: under the backup's key or, for a
    /// this-device-only class, under a key of the root of trust.
    ///
    /// The wrapped key names the class, whatever accessControl says. Keys that need the owner, or are of "akpu", are
    /// excluded, whatever was proven (KC-26). An empty list asks only whether there is such a session.
    ///
    /// Errors: NoSuchBackup.
    package enum ExportKeys: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ExportKeys"
        package struct Parameters: MessageCodable {
            package var session: String
            package var keys: [EnclaveInterface.BackupKey]

            package init(session: String, keys: [EnclaveInterface.BackupKey]) {
                self.session = session
                self.keys = keys
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.session = try json.value("session")
                self.keys = try json.value("keys")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(session, for: "session")
                try json.write(keys, for: "keys")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var keys: [EnclaveInterface.RewrappedKey]

            package init(keys: [EnclaveInterface.RewrappedKey]) {
                self.keys = keys
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.keys = try json.value("keys")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(keys, for: "keys")
                json.endObject()
            }
        }
    }

    /// Wraps keys out of a backup as WrapKey does, each on its own, in the order given.
    ///
    /// A key is gone if it does not open under the backup's key, or under that of this root of trust, with the same
    /// binding and access control. Takes what ExportKeys takes. Answers what ExportKeys answers.
    ///
    /// Errors: NoSuchBackup.
    package enum ImportKeys: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ImportKeys"
        package typealias Parameters = EnclaveInterface.ExportKeys.Parameters
        package typealias Reply = EnclaveInterface.ExportKeys.Reply
    }

    /// Ends a session, if it exists.
    ///
    /// Takes what io.touchstone.Backup.End takes.
    package enum EndBackup: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.EndBackup"
        package typealias Parameters = BackupInterface.End.Parameters
        package typealias Reply = Empty
    }

    /// The keys of a circle that open nothing: of records' names, and of the sums of heads in each epoch, the first
    /// epoch first.
    package struct CircleKeys: MessageCodable, Hashable {
        /// 32 bytes, base64.
        package var names: Data
        /// 32 bytes each, base64.
        package var sums: [Data]

        package init(names: Data, sums: [Data]) {
            self.names = names
            self.sums = sums
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.names = try json.value("names")
            self.sums = try json.value("sums")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(names, for: "names")
            try json.write(sums, for: "sums")
            json.endObject()
        }
    }

    /// This device's circle, as io.touchstone.Sync has it. member: 64 hexadecimal digits; absent: it is in no circle.
    /// links (bytes, base64): the whole chain. proposed (bytes, base64): the next link, made here, which counts once
    /// AddLinks gets it. keys: absent before the first unlock.
    package enum GetCircle: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.GetCircle"
        package typealias Parameters = Empty
        package struct Reply: MessageCodable {
            package var member: String?
            package var links: [Data]
            package var proposed: Data?
            package var keys: EnclaveInterface.CircleKeys?

            package init(
                member: String? = nil, links: [Data], proposed: Data? = nil,
                keys: EnclaveInterface.CircleKeys? = nil
            ) {
                self.member = member
                self.links = links
                self.proposed = proposed
                self.keys = keys
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.member = try json.valueIfPresent("member")
                self.links = try json.value("links")
                self.proposed = try json.valueIfPresent("proposed")
                self.keys = try json.valueIfPresent("keys")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(member, for: "member")
                try json.write(links, for: "links")
                try json.write(proposed, for: "proposed")
                try json.write(keys, for: "keys")
                json.endObject()
            }
        }
    }

    /// Founds a circle, if passcode was sealed for exactly that.
    ///
    /// Answers with a ticket, and WatchEvents tells the result. Answers what ChangePasscode answers.
    ///
    /// Errors: CircleRefused. Of io.touchstone.Device: Refused: passcodeNotSet, passcodeDisabled, passcodeTooLong, busy
    /// (also as a result: the circle was changed meanwhile), locked, staleNonce, unreadablePasscode.
    package enum FoundCircle: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.FoundCircle"
        package struct Parameters: MessageCodable {
            package var name: String
            package var passcode: SealedPasscode
            package var caller: EnclaveInterface.Caller?

            package init(name: String, passcode: SealedPasscode, caller: EnclaveInterface.Caller? = nil) {
                self.name = name
                self.passcode = passcode
                self.caller = caller
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.name = try json.value("name")
                self.passcode = try json.value("passcode")
                self.caller = try json.valueIfPresent("caller")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(name, for: "name")
                try json.write(passcode, for: "passcode")
                try json.write(caller, for: "caller")
                json.endObject()
            }
        }

        package typealias Reply = EnclaveInterface.ChangePasscode.Reply
    }

    /// Makes this device's keys and its application (bytes, base64) to a circle.
    ///
    /// They are gone at the next boot.
    ///
    /// Errors: CircleRefused.
    package enum ApplyToCircle: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ApplyToCircle"
        package struct Parameters: MessageCodable {
            package var name: String

            package init(name: String) {
                self.name = name
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.name = try json.value("name")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(name, for: "name")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var application: Data

            package init(application: Data) {
                self.application = application
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.application = try json.value("application")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(application, for: "application")
                json.endObject()
            }
        }
    }

    /// Answers another device's application (bytes, base64) with a challenge (bytes, base64).
    ///
    /// The newest answer alone is good. Five new ones, and reveals, are made at most until the passcode is given again.
    ///
    /// Errors: CircleRefused.
    package enum ChallengeApplicant: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ChallengeApplicant"
        package struct Parameters: MessageCodable {
            package var application: Data

            package init(application: Data) {
                self.application = application
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.application = try json.value("application")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(application, for: "application")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var challenge: Data

            package init(challenge: Data) {
                self.challenge = challenge
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.challenge = try json.value("challenge")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(challenge, for: "challenge")
                json.endObject()
            }
        }
    }

    /// Answers the first challenge (bytes, base64) with this device's reveal (bytes, base64), and no other.
    ///
    /// Errors: CircleRefused.
    package enum RevealToCircle: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.RevealToCircle"
        package struct Parameters: MessageCodable {
            package var challenge: Data

            package init(challenge: Data) {
                self.challenge = challenge
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.challenge = try json.value("challenge")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(challenge, for: "challenge")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var reveal: Data

            package init(reveal: Data) {
                self.reveal = reveal
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.reveal = try json.value("reveal")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(reveal, for: "reveal")
                json.endObject()
            }
        }
    }

    /// Proposes the link that adds the device.
    ///
    /// Answers what ChangePasscode answers.
    ///
    /// Errors: those of FoundCircle.
    package enum ApproveApplicant: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ApproveApplicant"
        package struct Parameters: MessageCodable {
            /// base64
            package var application: Data
            /// base64
            package var reveal: Data
            package var passcode: SealedPasscode
            package var caller: EnclaveInterface.Caller?

            package init(
                application: Data, reveal: Data, passcode: SealedPasscode, caller: EnclaveInterface.Caller? = nil
            ) {
                self.application = application
                self.reveal = reveal
                self.passcode = passcode
                self.caller = caller
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.application = try json.value("application")
                self.reveal = try json.value("reveal")
                self.passcode = try json.value("passcode")
                self.caller = try json.valueIfPresent("caller")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(application, for: "application")
                try json.write(reveal, for: "reveal")
                try json.write(passcode, for: "passcode")
                try json.write(caller, for: "caller")
                json.endObject()
            }
        }

        package typealias Reply = EnclaveInterface.ChangePasscode.Reply
    }

    /// Joins the circle with this chain (links: bytes, base64).
    ///
    /// Answers what ChangePasscode answers.
    ///
    /// Errors: those of FoundCircle.
    package enum JoinCircle: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.JoinCircle"
        package struct Parameters: MessageCodable {
            /// base64
            package var links: [Data]
            package var passcode: SealedPasscode
            package var caller: EnclaveInterface.Caller?

            package init(links: [Data], passcode: SealedPasscode, caller: EnclaveInterface.Caller? = nil) {
                self.links = links
                self.passcode = passcode
                self.caller = caller
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.links = try json.value("links")
                self.passcode = try json.value("passcode")
                self.caller = try json.valueIfPresent("caller")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(links, for: "links")
                try json.write(passcode, for: "passcode")
                try json.write(caller, for: "caller")
                json.endObject()
            }
        }

        package typealias Reply = EnclaveInterface.ChangePasscode.Reply
    }

    /// Proposes the link that removes a member (64 hexadecimal digits), of which everything up to lastCounter counts.
    ///
    /// A device that is alone, or has proposed its own removal already, forgets the circle at once. Answers what
    /// ChangePasscode answers.
    ///
    /// Errors: those of FoundCircle.
    package enum RemoveMember: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.RemoveMember"
        package struct Parameters: MessageCodable {
            package var member: String
            package var name: String
            /// 64 bits.
            package var lastCounter: Int64
            package var passcode: SealedPasscode
            package var caller: EnclaveInterface.Caller?

            package init(
                member: String, name: String, lastCounter: Int64, passcode: SealedPasscode,
                caller: EnclaveInterface.Caller? = nil
            ) {
                self.member = member
                self.name = name
                self.lastCounter = lastCounter
                self.passcode = passcode
                self.caller = caller
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.member = try json.value("member")
                self.name = try json.value("name")
                self.lastCounter = try json.value("lastCounter")
                self.passcode = try json.value("passcode")
                self.caller = try json.valueIfPresent("caller")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(member, for: "member")
                try json.write(name, for: "name")
                try json.write(lastCounter, for: "lastCounter")
                try json.write(passcode, for: "passcode")
                try json.write(caller, for: "caller")
                json.endObject()
            }
        }

        package typealias Reply = EnclaveInterface.ChangePasscode.Reply
    }

    /// Proposes the link that adds a recovery key (SY-14).
    ///
    /// Sealed with the passcode is the key's secret, 16 bytes. Answers what ChangePasscode answers.
    ///
    /// Errors: those of FoundCircle.
    package enum AddRecoveryKey: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.AddRecoveryKey"
        package struct Parameters: MessageCodable {
            package var name: String
            package var passcode: SealedPasscode
            package var caller: EnclaveInterface.Caller?

            package init(name: String, passcode: SealedPasscode, caller: EnclaveInterface.Caller? = nil) {
                self.name = name
                self.passcode = passcode
                self.caller = caller
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.name = try json.value("name")
                self.passcode = try json.value("passcode")
                self.caller = try json.valueIfPresent("caller")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(name, for: "name")
                try json.write(passcode, for: "passcode")
                try json.write(caller, for: "caller")
                json.endObject()
            }
        }

        package typealias Reply = EnclaveInterface.ChangePasscode.Reply
    }

    /// Comes into the circle with this chain (links: bytes, base64) by a recovery key, and proposes the link that adds
    /// this device, called name.
    ///
    /// Sealed with the passcode is the key's secret, 16 bytes. The device is a member once AddLinks brought the link
    /// back; another link in its place ends this. Answers what ChangePasscode answers.
    ///
    /// Errors: those of FoundCircle.
    package enum RecoverCircle: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.RecoverCircle"
        package struct Parameters: MessageCodable {
            /// base64
            package var links: [Data]
            package var name: String
            package var passcode: SealedPasscode
            package var caller: EnclaveInterface.Caller?

            package init(
                links: [Data], name: String, passcode: SealedPasscode, caller: EnclaveInterface.Caller? = nil
            ) {
                self.links = links
                self.name = name
                self.passcode = passcode
                self.caller = caller
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.links = try json.value("links")
                self.name = try json.value("name")
                self.passcode = try json.value("passcode")
                self.caller = try json.valueIfPresent("caller")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(links, for: "links")
                try json.write(name, for: "name")
                try json.write(passcode, for: "passcode")
                try json.write(caller, for: "caller")
                json.endObject()
            }
        }

        package typealias Reply = EnclaveInterface.ChangePasscode.Reply
    }

    /// Looks at the passcode for a look at replaced versions, or, with a number, to have that one back (SY-20).
    ///
    /// Answers what ChangePasscode answers.
    ///
    /// Errors: those of FoundCircle.
    package enum AuthorizeHistory: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.AuthorizeHistory"
        package struct Parameters: MessageCodable {
            /// 64 bits.
            package var number: Int64?
            package var passcode: SealedPasscode
            package var caller: EnclaveInterface.Caller?

            package init(number: Int64? = nil, passcode: SealedPasscode, caller: EnclaveInterface.Caller? = nil) {
                self.number = number
                self.passcode = passcode
                self.caller = caller
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.number = try json.valueIfPresent("number")
                self.passcode = try json.value("passcode")
                self.caller = try json.valueIfPresent("caller")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(number, for: "number")
                try json.write(passcode, for: "passcode")
                try json.write(caller, for: "caller")
                json.endObject()
            }
        }

        package typealias Reply = EnclaveInterface.ChangePasscode.Reply
    }

    /// Extends the chain by links (bytes, base64).
    ///
    /// A proposed link whose place is taken is dropped. A device that the chain removes has no circle afterwards.
    /// count: how many links the chain has.
    ///
    /// Errors: CircleRefused, after which the chain is as it was; NotKept.
    package enum AddLinks: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.AddLinks"
        package struct Parameters: MessageCodable {
            package var links: [Data]

            package init(links: [Data]) {
                self.links = links
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.links = try json.value("links")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(links, for: "links")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var count: Int

            package init(count: Int) {
                self.count = count
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.count = try json.value("count")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(count, for: "count")
                json.endObject()
            }
        }
    }

    /// What is to be sealed of an item: its key as WrapKey gave it, its attributes, and its secret under that key.
    package struct RecordItem: MessageCodable, Hashable {
        package var item: EnclaveInterface.WrappedItem
        /// base64
        package var attributes: Data
        /// base64
        package var secret: Data

        package init(item: EnclaveInterface.WrappedItem, attributes: Data, secret: Data) {
            self.item = item
            self.attributes = attributes
            self.secret = secret
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.item = try json.value("item")
            self.attributes = try json.value("attributes")
            self.secret = try json.value("secret")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(item, for: "item")
            try json.write(attributes, for: "attributes")
            try json.write(secret, for: "secret")
            json.endObject()
        }
    }

    /// One version of an item; without item it is a tombstone.
    package struct RecordRequest: MessageCodable, Hashable {
        /// 32 bytes, base64: as the key of names makes it.
        package var name: Data
        /// 64 bits.
        package var counter: Int64
        /// 64 bits: milliseconds since 1970, times 65536, and a count.
        package var clock: Int64
        package var item: EnclaveInterface.RecordItem?

        package init(name: Data, counter: Int64, clock: Int64, item: EnclaveInterface.RecordItem? = nil) {
            self.name = name
            self.counter = counter
            self.clock = clock
            self.item = item
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.name = try json.value("name")
            self.counter = try json.value("counter")
            self.clock = try json.value("clock")
            self.item = try json.valueIfPresent("item")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(name, for: "name")
            try json.write(counter, for: "counter")
            try json.write(clock, for: "clock")
            try json.write(item, for: "item")
            json.endObject()
        }
    }

    package enum SealVerdict: String, CaseIterable, MessageCodable {
        /// Here it is.
        case sealed
        /// The class of the item is not open, or the device was not unlocked since its boot.
        case locked
        /// Such an item never leaves its device (SY-1).
        case excluded
        /// Its key cannot be opened.
        case gone
    }

    package struct RecordReply: MessageCodable, Hashable {
        package var verdict: EnclaveInterface.SealVerdict
        /// Bytes, base64; present if it was sealed.
        package var record: Data?

        package init(verdict: EnclaveInterface.SealVerdict, record: Data? = nil) {
            self.verdict = verdict
            self.record = record
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.verdict = try json.value("verdict")
            self.record = try json.valueIfPresent("record")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(verdict, for: "verdict")
            try json.write(record, for: "record")
            json.endObject()
        }
    }

    /// Seals and signs records of this member, each on its own, in the order given.
    ///
    /// A request may be 24 MiB.
    package enum SealRecords: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.SealRecords"
        package static var takesLargeRequests: Bool { true }
        package struct Parameters: MessageCodable {
            package var records: [EnclaveInterface.RecordRequest]

            package init(records: [EnclaveInterface.RecordRequest]) {
                self.records = records
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.records = try json.value("records")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(records, for: "records")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var records: [EnclaveInterface.RecordReply]

            package init(records: [EnclaveInterface.RecordReply]) {
                self.records = records
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.records = try json.value("records")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(records, for: "records")
                json.endObject()
            }
        }
    }

    package enum OpenVerdict: String, CaseIterable, MessageCodable {
        /// Here it is, with its key wrapped for this device.
        case item
        case tombstone
        /// As of SealVerdict.
        case locked
        /// Its epoch or its writer is not known yet.
        case waiting
        /// Its signature is wrong, or it does not open.
        case forged
        /// Its writer was removed before.
        case notMember
    }

    /// What a record has in it.
    package struct OpenedRecord: MessageCodable, Hashable {
        package var verdict: EnclaveInterface.OpenVerdict
        /// Present if the verdict is item, as the rest.
        package var item: EnclaveInterface.WrappedItem?
        package var protection: Accessibility?
        /// Bytes, base64.
        package var attributes: Data?

        package init(
            verdict: EnclaveInterface.OpenVerdict, item: EnclaveInterface.WrappedItem? = nil,
            protection: Accessibility? = nil, attributes: Data? = nil
        ) {
            self.verdict = verdict
            self.item = item
            self.protection = protection
            self.attributes = attributes
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.verdict = try json.value("verdict")
            self.item = try json.valueIfPresent("item")
            self.protection = try json.valueIfPresent("protection")
            self.attributes = try json.valueIfPresent("attributes")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(verdict, for: "verdict")
            try json.write(item, for: "item")
            try json.write(protection, for: "protection")
            try json.write(attributes, for: "attributes")
            json.endObject()
        }
    }

    /// Opens records (bytes, base64) of any member, each on its own, in the order given.
    ///
    /// A request may be 24 MiB.
    package enum OpenRecords: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.OpenRecords"
        package static var takesLargeRequests: Bool { true }
        package struct Parameters: MessageCodable {
            package var records: [Data]

            package init(records: [Data]) {
                self.records = records
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.records = try json.value("records")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(records, for: "records")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var records: [EnclaveInterface.OpenedRecord]

            package init(records: [EnclaveInterface.OpenedRecord]) {
                self.records = records
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.records = try json.value("records")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(records, for: "records")
                json.endObject()
            }
        }
    }

    /// Signs a head (bytes, base64) of this member's in the present epoch. signed (bytes, base64): the head with its
    /// signature; absent: it is no such head, or the device was not unlocked since its boot.
    package enum SignHead: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.SignHead"
        package struct Parameters: MessageCodable {
            package var head: Data

            package init(head: Data) {
                self.head = head
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.head = try json.value("head")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(head, for: "head")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var signed: Data?

            package init(signed: Data? = nil) {
                self.signed = signed
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.signed = try json.valueIfPresent("signed")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(signed, for: "signed")
                json.endObject()
            }
        }
    }

    package enum CircleReason: String, CaseIterable, MessageCodable {
        case noCircle, inCircle, invalidName, invalidApplication, invalidChallenge, invalidReveal, invalidLink
        case noApplication, noChallenge, nameTaken, otherChallenge, noMember, removed, full, tooOften, forked
        case passcodeNotSet, locked, wrongRecoveryKey, removedRecoveryKey
    }

    /// Nothing was done, and reason says why, in the words of io.touchstone.Sync.
    package struct CircleRefused: VarlinkError {
        package static let name = "io.touchstone.Enclave.CircleRefused"
        package var reason: EnclaveInterface.CircleReason

        package init(reason: EnclaveInterface.CircleReason) {
            self.reason = reason
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.reason = try json.value("reason")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(reason, for: "reason")
            json.endObject()
        }
    }

    /// What touchstoned saw itself.
    package enum Observation: String, CaseIterable, MessageCodable {
        case agentConnected, agentLost
        /// Lines could not be written and are lost; count says how many.
        case logInterrupted
        /// It refused an app's call without asking the enclave; count says how many equal ones.
        case callRefused
    }

    /// Which call of which app was refused: reason is a word of io.touchstone.Keychain's Failed; any other word is not
    /// written down. client: for whom a bridge made the call; absent: for itself. requirement is what the owner would
    /// have had to prove; absent: nothing.
    package struct RefusedCall: MessageCodable, Hashable {
        package var app: AppIdentifier
        package var client: AppIdentifier?
        package var reason: String
        package var requirement: Requirement?

        package init(
            app: AppIdentifier, client: AppIdentifier? = nil, reason: String, requirement: Requirement? = nil
        ) {
            self.app = app
            self.client = client
            self.reason = reason
            self.requirement = requirement
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.app = try json.value("app")
            self.client = try json.valueIfPresent("client")
            self.reason = try json.value("reason")
            self.requirement = try json.valueIfPresent("requirement")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(app, for: "app")
            try json.write(client, for: "client")
            try json.write(reason, for: "reason")
            try json.write(requirement, for: "requirement")
            json.endObject()
        }
    }

    /// Begins the log of this boot. newestLines are its newest lines, oldest first; at most 32 are read (an empty list:
    /// the log is empty).
    ///
    /// The enclave goes on after the last of them that it wrote, unless that line is older than what the enclave kept;
    /// then it goes on after what it kept. The first entry says which. Without this call nothing is logged. A second
    /// call does nothing.
    package enum ResumeLog: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.ResumeLog"
        package struct Parameters: MessageCodable {
            package var newestLines: [String]

            package init(newestLines: [String]) {
                self.newestLines = newestLines
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.newestLines = try json.value("newestLines")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(newestLines, for: "newestLines")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Where the log ends now.
    ///
    /// Repeated uses that were only counted so far are written first, at most 20 entries in a second. Answers what
    /// io.touchstone.Device.GetLogHead answers.
    package enum GetLogHead: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.GetLogHead"
        package typealias Parameters = Empty
        package typealias Reply = DeviceInterface.GetLogHead.Reply
    }

    /// For each of these lines, in their order, whether this enclave wrote it; at most 1,000 lines are checked.
    ///
    /// Takes what io.touchstone.Device.CheckLog takes. Answers what io.touchstone.Device.CheckLog answers.
    package enum CheckLog: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.CheckLog"
        package typealias Parameters = DeviceInterface.CheckLog.Parameters
        package typealias Reply = DeviceInterface.CheckLog.Reply
    }

    /// Writes down what touchstoned saw, and that touchstoned said it. refused comes with callRefused; absent: several
    /// calls that are not distinguished.
    package enum NoteObservation: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.NoteObservation"
        package struct Parameters: MessageCodable {
            package var observation: EnclaveInterface.Observation
            package var count: Int?
            package var refused: EnclaveInterface.RefusedCall?

            package init(
                observation: EnclaveInterface.Observation, count: Int? = nil,
                refused: EnclaveInterface.RefusedCall? = nil
            ) {
                self.observation = observation
                self.count = count
                self.refused = refused
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.observation = try json.value("observation")
                self.count = try json.valueIfPresent("count")
                self.refused = try json.valueIfPresent("refused")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(observation, for: "observation")
                try json.write(count, for: "count")
                try json.write(refused, for: "refused")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Writes that the device stops, and keeps where the log ends.
    ///
    /// Nothing is logged afterwards. Answers what GetLogHead answers.
    package enum CloseLog: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.CloseLog"
        package typealias Parameters = Empty
        package typealias Reply = EnclaveInterface.GetLogHead.Reply
    }

    /// Nobody has to be asked, or the requirement cannot be met. verdict is satisfied or refused; it, code, reason and
    /// biometryType are as in the answer of Preflight. context: the one that was made; absent: none was.
    package struct NotBegun: VarlinkError {
        package static let name = "io.touchstone.Enclave.NotBegun"
        package var verdict: EnclaveInterface.Verdict
        package var code: AuthenticationFailure?
        package var reason: String?
        package var biometryType: BiometryType?
        package var context: String?

        package init(
            verdict: EnclaveInterface.Verdict, code: AuthenticationFailure? = nil, reason: String? = nil,
            biometryType: BiometryType? = nil, context: String? = nil
        ) {
            self.verdict = verdict
            self.code = code
            self.reason = reason
            self.biometryType = biometryType
            self.context = context
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.verdict = try json.value("verdict")
            self.code = try json.valueIfPresent("code")
            self.reason = try json.valueIfPresent("reason")
            self.biometryType = try json.valueIfPresent("biometryType")
            self.context = try json.valueIfPresent("context")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(verdict, for: "verdict")
            try json.write(code, for: "code")
            try json.write(reason, for: "reason")
            try json.write(biometryType, for: "biometryType")
            try json.write(context, for: "context")
            json.endObject()
        }
    }

    /// There is no such session for this direction, or it has ended.
    package struct NoSuchBackup: VarlinkError, EmptyMessage {
        package static let name = "io.touchstone.Enclave.NoSuchBackup"

        package init() {}
    }

    /// A key could not be wrapped. status: the OSStatus for the app. reason: why, as in io.touchstone.Keychain's
    /// Failed.
    package struct NotWrapped: VarlinkError {
        package static let name = "io.touchstone.Enclave.NotWrapped"
        package var status: Int32
        package var reason: String?

        package init(status: Int32, reason: String? = nil) {
            self.status = status
            self.reason = reason
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.status = try json.value("status")
            self.reason = try json.valueIfPresent("reason")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(status, for: "status")
            try json.write(reason, for: "reason")
            json.endObject()
        }
    }

    /// The context is unknown or belongs to another app.
    package struct InvalidContext: VarlinkError, EmptyMessage {
        package static let name = "io.touchstone.Enclave.InvalidContext"

        package init() {}
    }

    /// Nothing was done: the context has not proven what this access control wants for this operation
    /// (LAAccessControlOperation), or lacks its application password.
    package struct AuthenticationNeeded: VarlinkError {
        package static let name = "io.touchstone.Enclave.AuthenticationNeeded"
        package var accessControl: AccessControl
        /// LAAccessControlOperation.
        package var operation: AccessControlOperation

        package init(accessControl: AccessControl, operation: AccessControlOperation) {
            self.accessControl = accessControl
            self.operation = operation
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.accessControl = try json.value("accessControl")
            self.operation = try json.value("operation")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(accessControl, for: "accessControl")
            try json.write(operation, for: "operation")
            json.endObject()
        }
    }

    /// The evaluation is over.
    package struct NoSuchEvaluation: VarlinkError, EmptyMessage {
        package static let name = "io.touchstone.Enclave.NoSuchEvaluation"

        package init() {}
    }

    /// Of CreateKey, Sign and ExchangeKeys, when everything that the access control asks for is there.
    ///
    /// The key is in the TPM, which works in the meantime, so that no other call has to wait. The result comes as an
    /// event with this ticket.
    package struct Deferred: VarlinkError {
        package static let name = "io.touchstone.Enclave.Deferred"
        package var ticket: String

        package init(ticket: String) {
            self.ticket = ticket
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.ticket = try json.value("ticket")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(ticket, for: "ticket")
            json.endObject()
        }
    }

    /// The enclave's state could not be written to the disk.
    ///
    /// Nothing changed.
    package struct NotKept: VarlinkError, EmptyMessage {
        package static let name = "io.touchstone.Enclave.NotKept"

        package init() {}
    }
}
