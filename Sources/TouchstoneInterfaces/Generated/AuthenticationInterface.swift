// Written by script/interfaces from io.touchstone.Authentication.varlink. Do not edit.
// swift-format-ignore-file

package import Foundation
package import TouchstoneCore

/// Contexts, and evaluations that show a prompt to the owner.
///
/// What an app says here (reason, titles, flags) is its claim and is shown as a claim. The app gets a context that the
/// enclave knows, never a key. The name in the prompt comes from the connection, not from the app.
///
/// Integers with Apple's meaning: policy is LAPolicy (1 biometrics, 2 device owner, 3 companion, 4 biometrics or
/// companion, 5 wrist detection), biometryType is LABiometryType (0 none, 1 Touch ID, 2 Face ID, 4 Optic ID), operation
/// is LAAccessControlOperation (0 createItem, 1 useItem, 2 createKey, 3 useKeySign, 4 useKeyDecrypt, 5
/// useKeyKeyExchange), code is LAError.Code (-1 authenticationFailed ... -1004 notInteractive), or -1009, which Apple
/// gives no name. Any other number is an invalid parameter.
package enum AuthenticationInterface {
    package static let name = "io.touchstone.Authentication"

    /// A process for which a bridge asks.
    ///
    /// The number and the start together name one process and never another.
    package struct Client: MessageCodable, Hashable {
        /// 32 bits.
        package var processID: Int32
        /// When it began, in ticks since the system was booted: field 22 of /proc/PID/stat; 64 bits.
        package var startTicks: Int64

        package init(processID: Int32, startTicks: Int64) {
            self.processID = processID
            self.startTicks = startTicks
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.processID = try json.value("processID")
            self.startTicks = try json.value("startTicks")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(processID, for: "processID")
            try json.write(startTicks, for: "startTicks")
            json.endObject()
        }
    }

    /// What a client asks of one evaluation.
    package struct Options: MessageCodable, Hashable {
        /// Why: shown to the owner beside the app's verified name (EV-10).
        ///
        /// Control characters and direction overrides are removed from it.
        package var reason: String
        /// Absent: the default title; empty: no fallback button (EV-14).
        package var fallbackTitle: String?
        /// Absent or empty: the default title (EV-13).
        package var cancelTitle: String?
        /// Seconds since a biometric unlock of the device that count as a proof; clamped to 0...300 on use (EV-40,
        /// EV-42).
        package var reuseDuration: Double
        /// Fail with -1004 instead of showing anything (EV-54).
        package var interactionNotAllowed: Bool
        /// Fail with MissingUsageDescription if Face ID would be used and the app does not say what for (CE-11).
        ///
        /// Absent: no.
        package var isStrict: Bool?
        /// Wait until no other prompt is up, and end none (ND-3): first come, first served, for at most 120 seconds;
        /// then -1004, also if 32 evaluations of the app wait already.
        ///
        /// Absent: the app's newer evaluation ends its older one (EV-53).
        package var waitsForTurn: Bool?
        /// Seconds after which the enclave forgets what this evaluation proved to the context (ND-4); clamped to
        /// 0...300 on use.
        ///
        /// Absent: the context keeps it. A proof of an earlier evaluation is not made longer or shorter, and counts.
        package var validFor: Double?
        /// What the prompt shows as the bridge's word (ND-5): at most 8, shown as a reason is, without control
        /// characters and cut after 256 characters.
        ///
        /// Only from an app whose manifest says ActsForClients.
        package var facts: [AgentInterface.Fact]?

        package init(
            reason: String, fallbackTitle: String? = nil, cancelTitle: String? = nil, reuseDuration: Double,
            interactionNotAllowed: Bool, isStrict: Bool? = nil, waitsForTurn: Bool? = nil, validFor: Double? = nil,
            facts: [AgentInterface.Fact]? = nil
        ) {
            self.reason = reason
            self.fallbackTitle = fallbackTitle
            self.cancelTitle = cancelTitle
            self.reuseDuration = reuseDuration
            self.interactionNotAllowed = interactionNotAllowed
            self.isStrict = isStrict
            self.waitsForTurn = waitsForTurn
            self.validFor = validFor
            self.facts = facts
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.reason = try json.value("reason")
            self.fallbackTitle = try json.valueIfPresent("fallbackTitle")
            self.cancelTitle = try json.valueIfPresent("cancelTitle")
            self.reuseDuration = try json.value("reuseDuration")
            self.interactionNotAllowed = try json.value("interactionNotAllowed")
            self.isStrict = try json.valueIfPresent("isStrict")
            self.waitsForTurn = try json.valueIfPresent("waitsForTurn")
            self.validFor = try json.valueIfPresent("validFor")
            self.facts = try json.valueIfPresent("facts")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(reason, for: "reason")
            try json.write(fallbackTitle, for: "fallbackTitle")
            try json.write(cancelTitle, for: "cancelTitle")
            try json.write(reuseDuration, for: "reuseDuration")
            try json.write(interactionNotAllowed, for: "interactionNotAllowed")
            try json.write(isStrict, for: "isStrict")
            try json.write(waitsForTurn, for: "waitsForTurn")
            try json.write(validFor, for: "validFor")
            try json.write(facts, for: "facts")
            json.endObject()
        }
    }

    /// Makes a context.
    ///
    /// It lives until it is invalidated or the connection that made it closes; nothing is proven in it yet. Another app
    /// cannot use its name, because the enclave refuses it.
    ///
    /// client: the process for which a bridge asks (ND-1); only from an app whose manifest says ActsForClients (ND-2).
    /// Prompts then show that process as who asks, with its origin, and the bridge as the way it came. Items and keys
    /// stay the bridge's. Once the process is gone, or executes another program, an evaluation ends with NoSuchClient.
    ///
    /// Errors: NoSuchClient. org.varlink.service.PermissionDenied: a client from an app that is no bridge. No context
    /// is made.
    package enum CreateContext: VarlinkMethod {
        package static let name = "io.touchstone.Authentication.CreateContext"
        package struct Parameters: MessageCodable {
            package var client: AuthenticationInterface.Client?

            package init(client: AuthenticationInterface.Client? = nil) {
                self.client = client
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.client = try json.valueIfPresent("client")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
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

    /// Who a process is, in the words that a prompt of it would have: for what a bridge keeps of whom it served (ND-1).
    ///
    /// Errors: NoSuchClient. org.varlink.service.PermissionDenied: the caller's manifest does not say ActsForClients.
    package enum DescribeClient: VarlinkMethod {
        package static let name = "io.touchstone.Authentication.DescribeClient"
        package struct Parameters: MessageCodable {
            package var client: AuthenticationInterface.Client

            package init(client: AuthenticationInterface.Client) {
                self.client = client
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.client = try json.value("client")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(client, for: "client")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var app: AppIdentity
            package var origin: ProcessOrigin?

            package init(app: AppIdentity, origin: ProcessOrigin? = nil) {
                self.app = app
                self.origin = origin
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.app = try json.value("app")
                self.origin = try json.valueIfPresent("origin")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(app, for: "app")
                try json.write(origin, for: "origin")
                json.endObject()
            }
        }
    }

    /// Asks the owner to unlock the device (ND-6), for a client as of CreateContext, or for the caller itself.
    ///
    /// Answers once the device is unlocked, however that came, at once if it is not locked. Several requests are one
    /// prompt. Closing the connection takes the request back.
    ///
    /// Errors: Failed: -2 the owner cancelled; -1004 no agent, or the app was cancelled too often. NoSuchClient,
    /// org.varlink.service.PermissionDenied: as of CreateContext.
    package enum RequestUnlock: VarlinkMethod {
        package static let name = "io.touchstone.Authentication.RequestUnlock"
        package struct Parameters: MessageCodable {
            package var client: AuthenticationInterface.Client?

            package init(client: AuthenticationInterface.Client? = nil) {
                self.client = client
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.client = try json.valueIfPresent("client")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(client, for: "client")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Ends a context: its evaluation, if there is one, fails with -9 (EV-50), and every later use of it fails with
    /// -10.
    ///
    /// It is no error to end it twice, or to end one that never existed.
    package enum InvalidateContext: VarlinkMethod {
        package static let name = "io.touchstone.Authentication.InvalidateContext"
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

    /// Gives a context the app's own password, for items whose access control has applicationPassword (EV-60); absent:
    /// removes it.
    ///
    /// It is sealed as a passcode is (see SealedPasscode of io.touchstone.Agent), to the enclave's published key, one
    /// entry, with "credential " and the context as the additional authenticated data, without a nonce. Answers when
    /// the password has been stretched. Reading an item shows whether it is right; a wrong one is forgotten (AC-46).
    ///
    /// Errors: Failed: -10 the context is invalid; -1 the password cannot be read, or too many calls wait. The context
    /// keeps the password that it had.
    package enum SetCredential: VarlinkMethod {
        package static let name = "io.touchstone.Authentication.SetCredential"
        package struct Parameters: MessageCodable {
            package var context: String
            package var credential: SealedPasscode?

            package init(context: String, credential: SealedPasscode? = nil) {
                self.context = context
                self.credential = credential
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.context = try json.value("context")
                self.credential = try json.valueIfPresent("credential")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(context, for: "context")
                try json.write(credential, for: "credential")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Whether the context has an application password; false for a context that is not the app's.
    package enum IsCredentialSet: VarlinkMethod {
        package static let name = "io.touchstone.Authentication.IsCredentialSet"
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

        package struct Reply: MessageCodable {
            package var isSet: Bool

            package init(isSet: Bool) {
                self.isSet = isSet
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.isSet = try json.value("isSet")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(isSet, for: "isSet")
                json.endObject()
            }
        }
    }

    /// What an evaluation of the policy would meet.
    ///
    /// This begins no evaluation and shows nothing (CE-01 ... CE-10).
    ///
    /// context may be absent: then the answer is about the device. A policy that cannot be evaluated is an answer, not
    /// an error: code says why, and is absent if it can be evaluated. biometryType is what the hardware is, whatever
    /// code says (CE-06). domainState (bytes, base64) is there only for a biometric policy that can be evaluated
    /// (DS-01), and differs from app to app (DS-05).
    package enum CanEvaluatePolicy: VarlinkMethod {
        package static let name = "io.touchstone.Authentication.CanEvaluatePolicy"
        package struct Parameters: MessageCodable {
            package var context: String?
            package var policy: Policy

            package init(context: String? = nil, policy: Policy) {
                self.context = context
                self.policy = policy
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.context = try json.valueIfPresent("context")
                self.policy = try json.value("policy")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(context, for: "context")
                try json.write(policy, for: "policy")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var code: AuthenticationFailure?
            package var biometryType: BiometryType
            package var domainState: Data?

            package init(
                code: AuthenticationFailure? = nil, biometryType: BiometryType, domainState: Data? = nil
            ) {
                self.code = code
                self.biometryType = biometryType
                self.domainState = domainState
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.code = try json.valueIfPresent("code")
                self.biometryType = try json.value("biometryType")
                self.domainState = try json.valueIfPresent("domainState")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(code, for: "code")
                try json.write(biometryType, for: "biometryType")
                try json.write(domainState, for: "domainState")
                json.endObject()
            }
        }
    }

    /// Asks the owner.
    ///
    /// It answers when the owner has answered, which may be never. Closing the connection removes the prompt.
    ///
    /// Succeeds without a prompt if the context has already proven enough (EV-30, EV-31) or the device was unlocked
    /// biometrically within options.reuseDuration (EV-40). One prompt exists at a time: the newer evaluation ends the
    /// older with -4 (EV-53).
    ///
    /// domainState (bytes, base64) is there after a biometric policy only (DS-01).
    ///
    /// Errors: Failed, MissingUsageDescription. NoSuchClient: the context is for a client, and that is gone.
    /// org.varlink.service.PermissionDenied: facts from an app that is no bridge. After a failed evaluation the context
    /// keeps what it had proven before; after -10 the context is unusable.
    package enum EvaluatePolicy: VarlinkMethod {
        package static let name = "io.touchstone.Authentication.EvaluatePolicy"
        package struct Parameters: MessageCodable {
            package var context: String
            package var policy: Policy
            package var options: AuthenticationInterface.Options

            package init(context: String, policy: Policy, options: AuthenticationInterface.Options) {
                self.context = context
                self.policy = policy
                self.options = options
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.context = try json.value("context")
                self.policy = try json.value("policy")
                self.options = try json.value("options")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(context, for: "context")
                try json.write(policy, for: "policy")
                try json.write(options, for: "options")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var domainState: Data?

            package init(domainState: Data? = nil) {
                self.domainState = domainState
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.domainState = try json.valueIfPresent("domainState")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(domainState, for: "domainState")
                json.endObject()
            }
        }
    }

    /// As EvaluatePolicy, for one operation of an access control (EV-62). keyLabel is what the app calls the key it
    /// wants to use, for the owner to read.
    ///
    /// An access control that asks for nothing succeeds without a prompt. A successful evaluation lets the same context
    /// open items under such a control; it opens nothing by itself.
    ///
    /// A control with privateKeyUsage grants operations with keys. A control with constraints but without
    /// privateKeyUsage grants the use of items. A control without either grants everything, and every control grants
    /// creation (AC-20). Answers what EvaluatePolicy answers.
    ///
    /// Errors: Failed: -1009, without a prompt, for an operation that the control does not grant.
    /// MissingUsageDescription.
    package enum EvaluateAccessControl: VarlinkMethod {
        package static let name = "io.touchstone.Authentication.EvaluateAccessControl"
        package struct Parameters: MessageCodable {
            package var context: String
            package var accessControl: AccessControl
            package var operation: AccessControlOperation
            package var keyLabel: String?
            package var options: AuthenticationInterface.Options

            package init(
                context: String, accessControl: AccessControl, operation: AccessControlOperation,
                keyLabel: String? = nil, options: AuthenticationInterface.Options
            ) {
                self.context = context
                self.accessControl = accessControl
                self.operation = operation
                self.keyLabel = keyLabel
                self.options = options
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.context = try json.value("context")
                self.accessControl = try json.value("accessControl")
                self.operation = try json.value("operation")
                self.keyLabel = try json.valueIfPresent("keyLabel")
                self.options = try json.value("options")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(context, for: "context")
                try json.write(accessControl, for: "accessControl")
                try json.write(operation, for: "operation")
                try json.write(keyLabel, for: "keyLabel")
                try json.write(options, for: "options")
                json.endObject()
            }
        }

        package typealias Reply = AuthenticationInterface.EvaluatePolicy.Reply
    }

    /// Which app the device recognises in the caller. app is its identifier, and also the name of the access group that
    /// only the caller has (KC-40).
    ///
    /// An app that wants to keep something from its siblings names that group.
    ///
    /// A device of an earlier version does not give the rest. The two lists are those of the caller's manifest, in its
    /// order. hasPinnedDigest is there if a manifest for the caller's path names digests. true: the executable has one
    /// of them. false: it does not have one, and that manifest does not apply.
    package enum GetIdentity: VarlinkMethod {
        package static let name = "io.touchstone.Authentication.GetIdentity"
        package typealias Parameters = Empty
        package struct Reply: MessageCodable {
            package var app: AppIdentifier
            package var evidence: AppIdentity.Evidence?
            package var hasPinnedDigest: Bool?
            package var keychainAccessGroups: [AccessGroup]?
            package var applicationGroups: [AccessGroup]?

            package init(
                app: AppIdentifier, evidence: AppIdentity.Evidence? = nil, hasPinnedDigest: Bool? = nil,
                keychainAccessGroups: [AccessGroup]? = nil, applicationGroups: [AccessGroup]? = nil
            ) {
                self.app = app
                self.evidence = evidence
                self.hasPinnedDigest = hasPinnedDigest
                self.keychainAccessGroups = keychainAccessGroups
                self.applicationGroups = applicationGroups
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.app = try json.value("app")
                self.evidence = try json.valueIfPresent("evidence")
                self.hasPinnedDigest = try json.valueIfPresent("hasPinnedDigest")
                self.keychainAccessGroups = try json.valueIfPresent("keychainAccessGroups")
                self.applicationGroups = try json.valueIfPresent("applicationGroups")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(app, for: "app")
                try json.write(evidence, for: "evidence")
                try json.write(hasPinnedDigest, for: "hasPinnedDigest")
                try json.write(keychainAccessGroups, for: "keychainAccessGroups")
                try json.write(applicationGroups, for: "applicationGroups")
                json.endObject()
            }
        }
    }

    /// What the owner can be asked for on this device, as far as an app may know it (CE-19): never how many fingers are
    /// enrolled, or which.
    package struct Environment: MessageCodable, Hashable {
        /// What the hardware is: 0 means no sensor.
        package var biometryType: BiometryType
        /// Whether CanEvaluatePolicy would say yes to policy 1.
        package var isBiometryUsable: Bool
        package var isBiometryEnrolled: Bool
        /// Only the passcode helps now: false where nothing is enrolled.
        package var isBiometryLockedOut: Bool
        /// Whether CanEvaluatePolicy would say yes to policy 2.
        package var isPasscodeUsable: Bool
        package var isPasscodeSet: Bool
        /// Names the enrolled set, bytes, base64; absent where nothing is enrolled.
        ///
        /// Differs from app to app (DS-05).
        package var domainState: Data?

        package init(
            biometryType: BiometryType, isBiometryUsable: Bool, isBiometryEnrolled: Bool, isBiometryLockedOut: Bool,
            isPasscodeUsable: Bool, isPasscodeSet: Bool, domainState: Data? = nil
        ) {
            self.biometryType = biometryType
            self.isBiometryUsable = isBiometryUsable
            self.isBiometryEnrolled = isBiometryEnrolled
            self.isBiometryLockedOut = isBiometryLockedOut
            self.isPasscodeUsable = isPasscodeUsable
            self.isPasscodeSet = isPasscodeSet
            self.domainState = domainState
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.biometryType = try json.value("biometryType")
            self.isBiometryUsable = try json.value("isBiometryUsable")
            self.isBiometryEnrolled = try json.value("isBiometryEnrolled")
            self.isBiometryLockedOut = try json.value("isBiometryLockedOut")
            self.isPasscodeUsable = try json.value("isPasscodeUsable")
            self.isPasscodeSet = try json.value("isPasscodeSet")
            self.domainState = try json.valueIfPresent("domainState")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(biometryType, for: "biometryType")
            try json.write(isBiometryUsable, for: "isBiometryUsable")
            try json.write(isBiometryEnrolled, for: "isBiometryEnrolled")
            try json.write(isBiometryLockedOut, for: "isBiometryLockedOut")
            try json.write(isPasscodeUsable, for: "isPasscodeUsable")
            try json.write(isPasscodeSet, for: "isPasscodeSet")
            try json.write(domainState, for: "domainState")
            json.endObject()
        }
    }

    /// The environment as it is now; nobody is asked.
    ///
    /// With "more": again after every change, for as long as the connection lives. A change that only time brings, like
    /// a lockout after 48 hours, is sent when the device next does something. A connection that does not read ends.
    ///
    /// Errors: Failed: -1004 with the reason tooManyWait, if too many connections watch; of one app 64 may.
    package enum GetEnvironment: VarlinkMethod {
        package static let name = "io.touchstone.Authentication.GetEnvironment"
        package typealias Parameters = Empty
        package struct Reply: MessageCodable {
            package var environment: AuthenticationInterface.Environment

            package init(environment: AuthenticationInterface.Environment) {
                self.environment = environment
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.environment = try json.value("environment")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(environment, for: "environment")
                json.endObject()
            }
        }
    }

    /// The process that a bridge names is gone, began at another time, executes another program than it did, or is of
    /// another user.
    ///
    /// Nothing was done.
    package struct NoSuchClient: VarlinkError, EmptyMessage {
        package static let name = "io.touchstone.Authentication.NoSuchClient"

        package init() {}
    }

    /// The app would use Face ID and has no usage description.
    ///
    /// Only evaluations with isStrict get this answer (CE-11).
    package struct MissingUsageDescription: VarlinkError, EmptyMessage {
        package static let name = "io.touchstone.Authentication.MissingUsageDescription"

        package init() {}
    }

    /// The evaluation ended without success, for the reason code says. message is for a developer to read: match on the
    /// code, never on it (A.5).
    ///
    /// -1 too many non-matches in this evaluation (EV-25); -2 the owner cancelled; -3 the owner chose the fallback
    /// (EV-17); -4 the prompt was removed by another evaluation, because the app left the foreground, or because the
    /// agent ended (EV-52, EV-53); -5 no passcode; -6 no sensor; -7 nothing enrolled; -8 biometry is locked out until
    /// the passcode is entered (EV-26); -9 the app invalidated the context (EV-50); -10 the context is invalid; -11 no
    /// companion; -1004 a prompt is not allowed or nobody can show one (EV-05, EV-54); -1009 the access control does
    /// not grant the operation (EV-62).
    ///
    /// reason says why, if the code stands for several causes: a word of io.touchstone.Keychain's Failed.
    package struct Failed: VarlinkError {
        package static let name = "io.touchstone.Authentication.Failed"
        package var code: AuthenticationFailure
        package var message: String
        package var reason: String?

        package init(code: AuthenticationFailure, message: String, reason: String? = nil) {
            self.code = code
            self.message = message
            self.reason = reason
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.code = try json.value("code")
            self.message = try json.value("message")
            self.reason = try json.valueIfPresent("reason")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(code, for: "code")
            try json.write(message, for: "message")
            try json.write(reason, for: "reason")
            json.endObject()
        }
    }
}
