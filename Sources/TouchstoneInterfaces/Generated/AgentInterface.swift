// Written by script/interfaces from io.touchstone.Agent.varlink. Do not edit.
// swift-format-ignore-file

package import Foundation
package import TouchstoneCore

/// Programs that show prompts to the owner: agents.
///
/// An agent may cancel, choose the fallback and carry a sealed passcode. It can never say that the owner was
/// recognised: the enclave judges the sensor and the passcode. Bytes are base64 (RFC 4648, with padding) wherever a
/// comment says so.
///
/// This is version 1 of the interface. docs/agents.md shows how to write an agent.
package enum AgentInterface {
    package static let name = "io.touchstone.Agent"

    /// An agent that meets a phase which it does not know shows nothing and answers nothing.
    package enum Phase: String, CaseIterable, MessageCodable {
        /// The owner is asked whether the app may use Face ID; this happens once, the first time that the app would use
        /// it (CE-10).
        case permission
        /// The sensor waits; for Face ID an indicator is enough (EV-11).
        case biometry
        /// Face ID has failed once and looks again after TryAgain (EV-16).
        case retry
        /// Biometry has stopped for this evaluation; only the fallback and cancel are left (EV-16).
        case fallback
        /// The passcode is asked for.
        case passcode
        /// Everything else is proven, and the app's own password is asked for, which is not the passcode (EV-61).
        case applicationPassword
        /// The device is locked, and the app wants it unlocked (ND-6): by the passcode, sealed for "unlock" with a
        /// nonce of io.touchstone.Device.GetNonce and sent by its Unlock, or by a finger where the lock screen takes
        /// one.
        ///
        /// The prompt ends by itself when the device is unlocked.
        case unlock
    }

    /// What the device's sensor says about the last touch, or about itself.
    ///
    /// A hint ends nothing and does not count as a failure.
    package enum SensorHint: String, CaseIterable, MessageCodable {
        /// It did not see enough.
        case scanAgain
        case swipeTooShort, swipeTooFast, fingerNotCentered, removeAndRetry
        /// Another program uses it; the device asks again until it is free.
        case readerBusy
        /// It has failed, or its service is restarting; the device tries again.
        ///
        /// After these two, the fallback is offered as after a miss.
        case readerFailed
    }

    /// What a fact of a bridge's is: a host and the key that it has, a user there, a namespace of signatures, an item,
    /// a site and an account there, a command, a file, the names of secrets, a recipient.
    package enum FactKind: String, CaseIterable, MessageCodable {
        case host, hostKey, user, namespace, item, site, account, command, file, secrets, recipient
    }

    /// What a bridge checked or recorded itself (ND-5): its word, neither verified by touchstoned nor an app's free
    /// text.
    package struct Fact: MessageCodable, Hashable {
        package var kind: AgentInterface.FactKind
        package var text: String

        package init(kind: AgentInterface.FactKind, text: String) {
            self.kind = kind
            self.text = text
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.kind = try json.value("kind")
            self.text = try json.value("text")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(kind, for: "kind")
            try json.write(text, for: "text")
            json.endObject()
        }
    }

    /// The items that an app is about to read. names: of the first five that have one, what the app that stored it
    /// calls it: its label, else its service or server with its account. count: how many they are in all.
    package struct ItemNames: MessageCodable, Hashable {
        package var names: [String]
        package var count: Int

        package init(names: [String], count: Int) {
            self.names = names
            self.count = count
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.names = try json.value("names")
            self.count = try json.value("count")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(names, for: "names")
            try json.write(count, for: "count")
            json.endObject()
        }
    }

    /// One prompt, as it is now. identifier, app, client, origin, phase and the numbers come from touchstoned. reason,
    /// keyLabel, the items' names and the two titles come from apps, without control characters and direction
    /// overrides, at most 256 characters each.
    ///
    /// Letters that look like others stay as they are, so an agent should never show a claim in the place of verified
    /// words.
    package struct Prompt: MessageCodable, Hashable {
        package var identifier: String
        /// Verified, as far as its evidence goes.
        ///
        /// If there is a client, the bridge by which it asks.
        package var app: AppIdentity
        /// Who asks by way of the bridge (ND-1): verified as app is, and to be shown in its place.
        ///
        /// Absent: the app itself asks.
        package var client: AppIdentity?
        /// Verified: of the client, if there is one, otherwise of the app.
        ///
        /// Absent where the kernel does not say.
        package var origin: ProcessOrigin?
        /// The bridge's word (ND-5), stripped and cut as the reason is.
        ///
        /// Absent: it says nothing.
        package var facts: [AgentInterface.Fact]?
        /// The app's claim, stripped of control characters and direction overrides: in the phase permission what it
        /// wants Face ID for (CE-11), otherwise its reason.
        ///
        /// Empty if it must not be shown (EV-11).
        package var reason: String
        /// The operation of an access control that the prompt is for (LAAccessControlOperation: createItem 0, useItem
        /// 1, createKey 2, useKeySign 3, useKeyDecrypt 4, useKeyKeyExchange 5).
        ///
        /// Absent: a policy is evaluated.
        package var operation: AccessControlOperation?
        /// What the app calls the key that it wants to use: its claim, stripped like the reason.
        ///
        /// Absent: the key has no name.
        package var keyLabel: String?
        /// The items that are opened if the owner proves it.
        ///
        /// Absent: it is no item, or touchstoned does not know which.
        package var items: AgentInterface.ItemNames?
        /// LABiometryType: 0 none, 1 Touch ID, 2 Face ID, 4 Optic ID.
        package var biometryType: BiometryType
        package var phase: AgentInterface.Phase
        package var cancelTitle: String
        /// Absent: no fallback button, or not yet (EV-14, EV-15, DEC-062).
        package var fallbackTitle: String?
        /// Non-matches in this evaluation.
        package var failures: Int
        /// In the phase biometry, what the owner should do at the sensor; absent: nothing.
        package var hint: AgentInterface.SensorHint?
        /// Bytes, base64: binds a sealed passcode to this prompt.
        ///
        /// It is good for one passcode; when the prompt is shown again, it has a new one. Empty in the phases
        /// applicationPassword and unlock.
        package var nonce: Data
        /// In the phase applicationPassword, the context for which the password is sealed; absent in every other phase.
        package var context: String?
        /// Seconds until the next passcode is checked (PC-01); absent: now.
        package var retryAfterSeconds: Double?
        /// Whether the last passcode, or application password, was wrong.
        package var wrongPasscode: Bool
        /// What the passcode consists of: which keys to show and, for a fixed length, how many; absent if there is no
        /// passcode.
        package var passcodeKind: PasscodeKind?

        package init(
            identifier: String, app: AppIdentity, client: AppIdentity? = nil, origin: ProcessOrigin? = nil,
            facts: [AgentInterface.Fact]? = nil, reason: String, operation: AccessControlOperation? = nil,
            keyLabel: String? = nil, items: AgentInterface.ItemNames? = nil, biometryType: BiometryType,
            phase: AgentInterface.Phase, cancelTitle: String, fallbackTitle: String? = nil, failures: Int,
            hint: AgentInterface.SensorHint? = nil, nonce: Data, context: String? = nil,
            retryAfterSeconds: Double? = nil, wrongPasscode: Bool, passcodeKind: PasscodeKind? = nil
        ) {
            self.identifier = identifier
            self.app = app
            self.client = client
            self.origin = origin
            self.facts = facts
            self.reason = reason
            self.operation = operation
            self.keyLabel = keyLabel
            self.items = items
            self.biometryType = biometryType
            self.phase = phase
            self.cancelTitle = cancelTitle
            self.fallbackTitle = fallbackTitle
            self.failures = failures
            self.hint = hint
            self.nonce = nonce
            self.context = context
            self.retryAfterSeconds = retryAfterSeconds
            self.wrongPasscode = wrongPasscode
            self.passcodeKind = passcodeKind
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.identifier = try json.value("identifier")
            self.app = try json.value("app")
            self.client = try json.valueIfPresent("client")
            self.origin = try json.valueIfPresent("origin")
            self.facts = try json.valueIfPresent("facts")
            self.reason = try json.value("reason")
            self.operation = try json.valueIfPresent("operation")
            self.keyLabel = try json.valueIfPresent("keyLabel")
            self.items = try json.valueIfPresent("items")
            self.biometryType = try json.value("biometryType")
            self.phase = try json.value("phase")
            self.cancelTitle = try json.value("cancelTitle")
            self.fallbackTitle = try json.valueIfPresent("fallbackTitle")
            self.failures = try json.value("failures")
            self.hint = try json.valueIfPresent("hint")
            self.nonce = try json.value("nonce")
            self.context = try json.valueIfPresent("context")
            self.retryAfterSeconds = try json.valueIfPresent("retryAfterSeconds")
            self.wrongPasscode = try json.value("wrongPasscode")
            self.passcodeKind = try json.valueIfPresent("passcodeKind")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(identifier, for: "identifier")
            try json.write(app, for: "app")
            try json.write(client, for: "client")
            try json.write(origin, for: "origin")
            try json.write(facts, for: "facts")
            try json.write(reason, for: "reason")
            try json.write(operation, for: "operation")
            try json.write(keyLabel, for: "keyLabel")
            try json.write(items, for: "items")
            try json.write(biometryType, for: "biometryType")
            try json.write(phase, for: "phase")
            try json.write(cancelTitle, for: "cancelTitle")
            try json.write(fallbackTitle, for: "fallbackTitle")
            try json.write(failures, for: "failures")
            try json.write(hint, for: "hint")
            try json.write(nonce, for: "nonce")
            try json.write(context, for: "context")
            try json.write(retryAfterSeconds, for: "retryAfterSeconds")
            try json.write(wrongPasscode, for: "wrongPasscode")
            try json.write(passcodeKind, for: "passcodeKind")
            json.endObject()
        }
    }

    package enum Event: String, CaseIterable, MessageCodable {
        /// The first event, sent once: this connection is now an agent.
        case ready
        /// Show the prompt, or show it again as it is now.
        case show
        /// Remove the prompt, the owner was recognised.
        case succeeded
        /// Remove the prompt, it ended in another way.
        case dismissed
    }

    /// Makes the connection an agent for as long as it is open.
    ///
    /// Call it with "more"; the stream ends with the connection. prompt is absent with ready and present with every
    /// other event.
    ///
    /// version is the version of this interface that the agent speaks; absent: 1. There is no other version yet.
    ///
    /// If there are several agents, the one that came first shows the prompts. If it leaves or seems stuck, the next
    /// agent shows its prompt; if there is no other agent, the evaluation ends with -4. While no agent is connected, an
    /// evaluation that needs one fails at once with -1004. An app whose prompts the owner cancels three times within
    /// two minutes gets -1004 for the next five. An agent that does not read what it is sent is disconnected. Only the
    /// device's owner (the same user, or root) may be an agent.
    ///
    /// Errors: UnsupportedVersion. io.touchstone.Device.Refused: notOwner, notListed.
    package enum Subscribe: VarlinkMethod {
        package static let name = "io.touchstone.Agent.Subscribe"
        package struct Parameters: MessageCodable {
            package var version: Int?

            package init(version: Int? = nil) {
                self.version = version
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.version = try json.valueIfPresent("version")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(version, for: "version")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var event: AgentInterface.Event
            package var prompt: AgentInterface.Prompt?

            package init(event: AgentInterface.Event, prompt: AgentInterface.Prompt? = nil) {
                self.event = event
                self.prompt = prompt
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.event = try json.value("event")
                self.prompt = try json.valueIfPresent("prompt")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(event, for: "event")
                try json.write(prompt, for: "prompt")
                json.endObject()
            }
        }
    }

    /// The owner can see the prompt.
    ///
    /// The sensor counts for it from half a second later on, because an earlier touch was meant for something else.
    /// Call this within 10 seconds after the first show of a prompt, unless you have called another method about it. An
    /// agent that calls nothing counts as stuck and is disconnected.
    ///
    /// Errors: NoSuchPrompt.
    package enum ConfirmShown: VarlinkMethod {
        package static let name = "io.touchstone.Agent.ConfirmShown"
        package struct Parameters: MessageCodable {
            package var prompt: String

            package init(prompt: String) {
                self.prompt = prompt
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.prompt = try json.value("prompt")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(prompt, for: "prompt")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// The owner cancelled: the evaluation ends with -2.
    ///
    /// Errors: NoSuchPrompt.
    package enum Cancel: VarlinkMethod {
        package static let name = "io.touchstone.Agent.Cancel"
        package struct Parameters: MessageCodable {
            package var prompt: String

            package init(prompt: String) {
                self.prompt = prompt
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.prompt = try json.value("prompt")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(prompt, for: "prompt")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// The owner chose the fallback: the passcode takes over (EV-18) or, for biometrics alone, the evaluation ends with
    /// -3 (EV-17).
    ///
    /// An event says what happened.
    ///
    /// Errors: NoSuchPrompt, also where the prompt offers no fallback.
    package enum ChooseFallback: VarlinkMethod {
        package static let name = "io.touchstone.Agent.ChooseFallback"
        package struct Parameters: MessageCodable {
            package var prompt: String

            package init(prompt: String) {
                self.prompt = prompt
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.prompt = try json.value("prompt")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(prompt, for: "prompt")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Whether the app may use Face ID, now and later: the device keeps the answer.
    ///
    /// If it is allowed, the camera looks. If it is not, the passcode takes over where it is enough; otherwise the
    /// evaluation ends with -6 (CE-09).
    ///
    /// Errors: NoSuchPrompt, also where the prompt is not in the phase permission.
    package enum AnswerPermission: VarlinkMethod {
        package static let name = "io.touchstone.Agent.AnswerPermission"
        package struct Parameters: MessageCodable {
            package var prompt: String
            package var isAllowed: Bool

            package init(prompt: String, isAllowed: Bool) {
                self.prompt = prompt
                self.isAllowed = isAllowed
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.prompt = try json.value("prompt")
                self.isAllowed = try json.value("isAllowed")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(prompt, for: "prompt")
                try json.write(isAllowed, for: "isAllowed")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Has Face ID look once more (EV-16).
    ///
    /// Errors: NoSuchPrompt, also where the prompt is not in the phase retry.
    package enum TryAgain: VarlinkMethod {
        package static let name = "io.touchstone.Agent.TryAgain"
        package struct Parameters: MessageCodable {
            package var prompt: String

            package init(prompt: String) {
                self.prompt = prompt
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.prompt = try json.value("prompt")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(prompt, for: "prompt")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Carries a passcode to the enclave.
    ///
    /// The answer comes as an event: the prompt shown again (with wrongPasscode, and retryAfterSeconds where there is a
    /// delay), or removed. A wrong passcode counts for the device, not for the prompt (PC-07). In the phase
    /// applicationPassword it carries that password; if the password opens nothing, the owner is asked again, three
    /// times in all (EV-61).
    ///
    /// Errors: NoSuchPrompt, also where the prompt asks for neither. io.touchstone.Device.Refused: staleNonce,
    /// unreadablePasscode, busy: it was not checked.
    package enum EnterPasscode: VarlinkMethod {
        package static let name = "io.touchstone.Agent.EnterPasscode"
        package struct Parameters: MessageCodable {
            package var prompt: String
            package var passcode: SealedPasscode

            package init(prompt: String, passcode: SealedPasscode) {
                self.prompt = prompt
                self.passcode = passcode
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.prompt = try json.value("prompt")
                self.passcode = try json.value("passcode")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(prompt, for: "prompt")
                try json.write(passcode, for: "passcode")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// The agent speaks a version that touchstoned does not; supported is the one that it does.
    package struct UnsupportedVersion: VarlinkError {
        package static let name = "io.touchstone.Agent.UnsupportedVersion"
        package var supported: Int

        package init(supported: Int) {
            self.supported = supported
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.supported = try json.value("supported")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(supported, for: "supported")
            json.endObject()
        }
    }

    /// This prompt does not exist, or it has ended.
    ///
    /// Nothing was done.
    package struct NoSuchPrompt: VarlinkError, EmptyMessage {
        package static let name = "io.touchstone.Agent.NoSuchPrompt"

        package init() {}
    }
}
