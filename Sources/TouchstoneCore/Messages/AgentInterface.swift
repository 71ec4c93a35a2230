package import Foundation

/// `io.touchstone.Agent`: programs that show prompts to the owner.
///
/// An agent may cancel, choose the fallback and carry a sealed passcode; it can never say that the owner was
/// recognised.
package enum AgentInterface {
    package static let name = "io.touchstone.Agent"

    /// The version of this interface that agents speak and touchstoned serves.
    package static let version = 1

    package enum Phase: String, Codable, Sendable {
        /// The owner is asked whether the app may use Face ID at all: once, the first time it would (CE-10).
        case permission
        /// The sensor waits.
        case biometry
        /// Face ID has failed once and looks again when it is told to; no fallback yet (EV-16).
        case retry
        /// Biometry has stopped for this evaluation; only the fallback and cancel are left (EV-16).
        case fallback
        /// The passcode is asked for.
        case passcode
        /// All else is proven, and a password of the app's own is asked for (EV-61): `EnterPasscode` takes it, sealed for `context`.
        case applicationPassword
    }

    /// What a sensor of the device's own says about the last touch, or about itself; no verdict, and no failure (EV-25).
    package enum SensorHint: String, Codable, Sendable {
        /// It saw something, and not enough of it.
        case scanAgain
        case swipeTooShort, swipeTooFast, fingerNotCentered, removeAndRetry
        /// Another program holds it; it is asked for again until that lets go of it.
        case readerBusy
        /// It has failed, or its service is starting anew; it is tried again.
        case readerFailed
    }

    package struct Prompt: Codable, Hashable, Sendable {
        package var identifier: String
        /// Verified, as far as its evidence goes.
        package var app: AppIdentity
        /// Verified: how the app came to run; nil where the kernel does not say.
        package var origin: ProcessOrigin?
        /// The app's claim, stripped of control characters and direction overrides; empty where it is not to be shown (EV-11).
        ///
        /// In the phase `permission` its usage description (CE-11), else the reason.
        package var reason: String
        /// What an access control is asked about; nil for a policy.
        package var operation: AccessControlOperation?
        /// What the app calls the key it wants to use: its claim, as the reason is.
        package var keyLabel: String?
        package var biometryType: BiometryType
        package var phase: Phase
        package var cancelTitle: String
        /// nil: no fallback button (yet).
        package var fallbackTitle: String?
        /// Non-matches in this evaluation.
        package var failures: Int
        /// In the phase `biometry` what the sensor asks of the owner; nil: nothing.
        package var hint: SensorHint?
        /// Seals the passcode to this prompt: use once.
        ///
        /// Empty in the phase `applicationPassword`: the name of a context never comes again.
        package var nonce: Data
        /// The app's context, for which an application password is sealed; nil in every other phase.
        package var context: String?
        /// Seconds until the next passcode is looked at; nil: now.
        package var retryAfterSeconds: Double?
        /// Whether the last passcode, or application password, was wrong.
        package var wrongPasscode: Bool
        /// What the passcode is made of: which keys to show, and for a fixed length how many (PC-06).
        ///
        /// nil without a passcode.
        package var passcodeKind: PasscodeKind?

        package init(
            identifier: String, app: AppIdentity, origin: ProcessOrigin? = nil, reason: String,
            operation: AccessControlOperation? = nil,
            keyLabel: String? = nil, biometryType: BiometryType, phase: Phase, cancelTitle: String,
            fallbackTitle: String?, failures: Int, nonce: Data, retryAfterSeconds: Double?, wrongPasscode: Bool,
            passcodeKind: PasscodeKind? = nil, hint: SensorHint? = nil
        ) {
            self.identifier = identifier
            self.app = app
            self.origin = origin
            self.reason = reason
            self.operation = operation
            self.keyLabel = keyLabel
            self.biometryType = biometryType
            self.phase = phase
            self.cancelTitle = cancelTitle
            self.fallbackTitle = fallbackTitle
            self.failures = failures
            self.nonce = nonce
            self.retryAfterSeconds = retryAfterSeconds
            self.wrongPasscode = wrongPasscode
            self.passcodeKind = passcodeKind
            self.hint = hint
        }
    }

    package enum Event: String, Codable, Sendable {
        /// Sent once, first: this connection is now an agent.
        case ready
        /// Show the prompt, or show it again as it is now.
        case show
        /// Take it down: the owner was recognised.
        case succeeded
        /// Take it down: it ended otherwise.
        case dismissed
    }

    /// Called with `more`: makes the connection an agent for as long as it is open.
    package enum Subscribe: VarlinkMethod {
        package static let name = "io.touchstone.Agent.Subscribe"
        package struct Parameters: Codable, Sendable {
            /// The version that the agent speaks; nil is 1.
            package var version: Int?
            package init(version: Int? = AgentInterface.version) { self.version = version }
        }
        package struct Reply: Codable, Sendable {
            package var event: Event
            package var prompt: Prompt?
            package init(event: Event, prompt: Prompt? = nil) {
                self.event = event
                self.prompt = prompt
            }
        }
    }

    /// Tells that the prompt is before the owner.
    ///
    /// An agent that calls neither this nor anything else about a prompt in time is taken to be stuck, and is disconnected.
    package enum ConfirmShown: VarlinkMethod {
        package static let name = "io.touchstone.Agent.ConfirmShown"
        package typealias Parameters = Cancel.Parameters
        package typealias Reply = Empty
    }

    package enum Cancel: VarlinkMethod {
        package static let name = "io.touchstone.Agent.Cancel"
        package struct Parameters: Codable, Sendable {
            package var prompt: String
            package init(prompt: String) { self.prompt = prompt }
        }
        package typealias Reply = Empty
    }

    package enum ChooseFallback: VarlinkMethod {
        package static let name = "io.touchstone.Agent.ChooseFallback"
        package typealias Parameters = Cancel.Parameters
        package typealias Reply = Empty
    }

    /// Whether the app may use Face ID, now and later; for a prompt in the phase `permission`.
    package enum AnswerPermission: VarlinkMethod {
        package static let name = "io.touchstone.Agent.AnswerPermission"
        package struct Parameters: Codable, Sendable {
            package var prompt: String
            package var isAllowed: Bool
            package init(prompt: String, isAllowed: Bool) {
                self.prompt = prompt
                self.isAllowed = isAllowed
            }
        }
        package typealias Reply = Empty
    }

    /// Has Face ID look once more; for a prompt in the phase `retry` (EV-16).
    package enum TryAgain: VarlinkMethod {
        package static let name = "io.touchstone.Agent.TryAgain"
        package typealias Parameters = Cancel.Parameters
        package typealias Reply = Empty
    }

    /// The answer comes as an event: the prompt shown again, or taken down.
    package enum EnterPasscode: VarlinkMethod {
        package static let name = "io.touchstone.Agent.EnterPasscode"
        package struct Parameters: Codable, Sendable {
            package var prompt: String
            package var passcode: SealedPasscode
            package init(prompt: String, passcode: SealedPasscode) {
                self.prompt = prompt
                self.passcode = passcode
            }
        }
        package typealias Reply = Empty
    }

    /// The agent speaks a version that touchstoned does not.
    package struct UnsupportedVersion: VarlinkError {
        package static let name = "io.touchstone.Agent.UnsupportedVersion"
        /// The one that it does.
        package var supported: Int
        package init(supported: Int = AgentInterface.version) { self.supported = supported }
    }

    /// There is no such prompt (any more).
    package struct NoSuchPrompt: VarlinkError {
        package static let name = "io.touchstone.Agent.NoSuchPrompt"
        package init() {}
    }
}

/// A passcode that only the enclave can read: HPKE (X25519, HKDF-SHA256, ChaCha20-Poly1305) to the enclave's published key,
/// with what it was typed for and the enclave's nonce authenticated: whoever carries it can use it for nothing else, and once.
package struct SealedPasscode: Codable, Hashable, Sendable {
    /// 32 bytes.
    package var encapsulatedKey: Data
    package var ciphertext: Data
    /// The enclave's public key that it is sealed to, so that an old one is told from anything else that does not open; nil: not said.
    package var key: Data?
    package init(encapsulatedKey: Data, ciphertext: Data, key: Data? = nil) {
        self.encapsulatedKey = encapsulatedKey
        self.ciphertext = ciphertext
        self.key = key
    }

    package static let info = Data("io.touchstone.passcode 1".utf8)

    /// What a passcode is typed for.
    package enum Purpose: Hashable, Sendable {
        /// A prompt of this app's (its identifier).
        case prompt(app: String)
        case unlock
        /// To set, change or remove it.
        case change
        /// An app's own password, for items of this context (EV-60).
        case credential(context: String)
        /// To turn erasing after ten wrong passcodes on or off.
        case eraseData(Bool)
        /// To take a backup of the keychain, or to bring one back.
        case backup(BackupDirection)
        /// To forget the fingerprint reader.
        case forgetReader
        /// To accept the keychain's guarded items as they are.
        case acceptItems
    }

    /// What is authenticated with the ciphertext.
    package static func context(_ purpose: Purpose, nonce: Data) -> Data {
        let words =
            switch purpose {
            case .prompt(let app): "prompt \(app)"
            case .unlock: "unlock"
            case .change: "change"
            case .credential(let context): "credential \(context)"
            case .eraseData(let isOn): "erase data \(isOn ? "on" : "off")"
            case .backup(let direction): direction.rawValue
            case .forgetReader: "forget reader"
            case .acceptItems: "accept items"
            }
        return nonce + Data(words.utf8)
    }

    /// What is sealed: for each passcode its length (2 bytes, little-endian) and 256 bytes that begin with it, the rest
    /// zero, so that the size tells nothing.
    ///
    /// A prompt and the lock screen take one; a change takes two in one message, so that neither can be exchanged: the
    /// current one, then the new one, of length 0 for none. A backup takes the passcode, then the backup's key.
    package static func payload<Passcode: Collection<UInt8>>(_ passcodes: [Passcode]) -> Data {
        var payload = Data(capacity: passcodes.count * entryLength)
        for passcode in passcodes {
            // One that is too long is cut, and told as long as it is: the enclave refuses it by name.
            let count = min(passcode.count, Int(UInt16.max))
            let kept = passcode.prefix(maximumPasscodeLength)
            payload.append(UInt8(truncatingIfNeeded: count))
            payload.append(UInt8(truncatingIfNeeded: count >> 8))
            payload.append(contentsOf: kept)
            payload.append(Data(count: maximumPasscodeLength - kept.count))
        }
        return payload
    }

    /// Bytes of one passcode in the payload.
    package static let entryLength = 2 + maximumPasscodeLength
    /// Longest passcode, in bytes of UTF-8.
    package static let maximumPasscodeLength = 256
}
