import Crypto
import Foundation
package import TouchstoneCore
package import TouchstoneMemory

/// Application passwords: a secret of the app's own that is mixed into the keys of its items (AC-04, AC-48, EV-60).
///
/// A password is stretched once, when it is set, and only what comes of that is kept; each item then has a key of its own derived from it.
/// So opening many items costs one derivation, and none of them waits inside a call.
extension Enclave {
    /// An application password on its way through the key derivation.
    package struct CredentialJob: Sendable {
        package let ticket: String
        let context: String
        package let app: AppIdentifier
        let password: SecretBytes
        let salt: Data

        /// Runs for as long as a guess should cost: not to be called while anything waits.
        package func run() throws -> SecretBytes {
            try PasscodeDerivation.argon2id(password, salt: salt, cost: Self.cost).derive("application password")
        }

        /// Part of the format: another cost is another version of the wrapped key.
        static let cost = PasscodeCost(operations: 2, memoryBytes: 19 << 20)
    }

    /// Takes a password that an app sealed for one of its contexts; nil takes it away.
    ///
    /// - Returns: The derivation to run, where there is one.
    package mutating func setCredential(_ sealed: SealedPasscode?, context: String, app: AppIdentifier, now: Double)
        throws -> CredentialJob?
    {
        guard sealed == nil || passwordRetryAfter(app: app, now: now) == nil else { throw Refused(.busy) }
        guard contexts[context]?.app == app else { throw InvalidContext() }
        guard let sealed else {
            forgetCredential(of: context)
            return nil
        }
        guard applicationPasswords.hasRoom(for: app) else { throw Refused(.busy) }
        // Sealed for this context, whose name never comes again: good for no other, and needs no nonce.
        let (payload, _) = try open(sealed, for: .credential(context: context), nonces: [Data()])
        let job = CredentialJob(
            ticket: random.identifier(), context: context, app: app,
            password: try Self.passcodes(in: payload, count: 1)[0],
            salt: deviceKey.derive("application password salt").unprotectedCopy.prefix(PasscodeDerivation.saltBytes))
        contexts.awaitPassword(of: job.ticket, for: context)
        applicationPasswords.beginJob(of: app)
        return job
    }

    /// Ends the derivation; `key` is nil where there was no memory for it.
    package mutating func finishCredential(_ job: CredentialJob, key: SecretBytes?) -> [EnclaveEvent] {
        applicationPasswords.endJob(of: job.app)
        contexts.takePassword(key, of: job.ticket, for: job.context)
        return [.answered(ticket: job.ticket, key == nil ? .failed : .done)]
    }

    package func isCredentialSet(context: String, app: AppIdentifier) -> Bool {
        credential(of: context, app: app) != nil
    }

    /// The stretched password of this app's context.
    func credential(of identifier: String?, app: AppIdentifier) -> SecretBytes? {
        contexts.context(identifier, of: app)?.password.key
    }

    /// AC-46: a password that did not open an item is not kept.
    package mutating func forgetCredential(of identifier: String) {
        contexts.forgetPassword(of: identifier)
    }

    /// A password opened nothing that it was tried on: one guess of the app's, and from the fourth on the next has to wait as that of
    /// a passcode does (PC-01).
    package mutating func passwordFailed(app: AppIdentifier, now: Double) {
        guard applicationPasswords.failed(app, policy: policy, now: now) else { return }
        // Nor does any help that was set before.
        contexts.forgetPasswords(of: app)
    }

    package func hasGuessedPasswords(app: AppIdentifier) -> Bool { applicationPasswords.hasGuessed(app) }

    /// A password was right: the app's next wrong one is the first again.
    package mutating func passwordWorked(app: AppIdentifier) { applicationPasswords.worked(app) }

    /// Seconds until the app's next application password is taken; nil: now.
    package func passwordRetryAfter(app: AppIdentifier, now: Double) -> Double? {
        applicationPasswords.retryAfter(app, now: now)
    }
}

extension SecretBytes {
    /// The key that a stretched application password gives one item.
    func itemKey(_ binding: Enclave.ItemBinding) -> SecretBytes {
        // The item's own salt: its binding has 32 random bytes that are new with every write.
        SecretBytes(
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: symmetricKey, salt: binding.item,
                info: Data("io.touchstone item key of an application password".utf8), outputByteCount: 32))
    }
}
