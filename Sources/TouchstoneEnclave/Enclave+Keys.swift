import Crypto
import Foundation
import TouchstoneCore
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneLog
import TouchstoneMemory

/// Private keys: made here, used here, and kept by others as blobs that open nowhere else (SE-02, SE-03).
extension Enclave {
    /// All was proven, and the context's application password is not this key's.
    private struct WrongPassword: Error {
        var needed: EnclaveInterface.AuthenticationNeeded
    }

    /// A key that is in the hardware, opened for an operation that is done there, outside of the enclave's turn.
    struct Held: Error {
        var key: HeldKey
    }

    /// Makes a key, or takes one that the hardware `made`, and binds it to what is enrolled now; asks nobody (SE-15).
    func createKey(
        _ request: EnclaveInterface.CreateKey.Parameters, made: PrivateKey? = nil
    ) throws -> KeyInterface.Create.Reply {
        let control = request.accessControl
        do {
            guard request.accessGroup.utf8.count <= PrivateKeyBlob.maximumGroupBytes else { throw Status.param }
            try checkCanBind(control)
            let classKey = try classKey(of: control.protection)
            let key = if let made { made } else { try PrivateKey(request.kind) }
            var blob = PrivateKeyBlob(
                kind: request.kind, control: control, accessGroup: request.accessGroup, publicKey: key.publicKey)
            blob.isHeld = key.isHeld
            blob.generation = generation
            blob.enrolment = enrolment(for: control)
            var plain = key.rawRepresentation
            defer { plain.resetBytes(in: 0..<plain.count) }
            if control.flags.contains(.applicationPassword) {
                // AC-48: there is nothing to mix in, and nobody here to ask for it.
                guard let password = credential(of: request.context, app: request.app) else { throw Status.authNeeded }
                blob.passwordSalt = SecretBytes.random(count: blob.passwordSalt.count).publicBytes
                let sealed = try sealing {
                    try password.privateKeyKey(salt: blob.passwordSalt).seal(
                        SecretBytes(plain), context: blob.description)
                }
                plain.resetBytes(in: 0..<plain.count)
                plain = sealed
            }
            let bound = blob.description
            blob.sealedKey = try sealing {
                try AES.GCM.seal(plain, using: classKey.symmetricKey, authenticating: bound).combined ?? Data()
            }
            let sealed = blob
            return .init(
                key: try sealing { try sealed.sealed(key: blobKey.symmetricKey) }, publicKey: sealed.publicKey)
        } catch let status as Status where status == .authNeeded {
            throw EnclaveInterface.AuthenticationNeeded(accessControl: control, operation: .createKey)
        } catch let status as Status {
            throw KeyInterface.Failed(status)
        } catch let refusal as Refusal {
            throw KeyInterface.Failed(refusal.status, refusal.cause, control)
        }
    }

    /// AES-GCM fails only for what cannot be: a nonce or a length of its own making.
    private func sealing(_ body: () throws -> Data) throws(Status) -> Data {
        do {
            return try body()
        } catch {
            throw .internalError
        }
    }

    /// What a key is.
    func inspectKey(_ request: EnclaveInterface.InspectKey.Parameters) throws -> KeyInterface.Inspect.Reply {
        do throws(Status) {
            let blob = try blob(request.key, accessGroups: request.accessGroups)
            return .init(
                kind: blob.kind, publicKey: blob.publicKey, accessControl: blob.control, accessGroup: blob.accessGroup)
        } catch {
            throw KeyInterface.Failed(error)
        }
    }

    /// - Throws: AC-45: `.decode` for what this enclave did not make; `.itemNotFound` for a key of another's group, which is not there for the app.
    private func blob(_ key: Data, accessGroups: [String]) throws(Status) -> PrivateKeyBlob {
        guard let blob = PrivateKeyBlob(key, key: blobKey.symmetricKey) else { throw .decode }
        guard accessGroups.contains(where: blob.accessGroup.isSpelled) else { throw .itemNotFound }
        return blob
    }

    /// Opens a key for one operation, if everything that it asks for is there.
    func key(
        _ use: EnclaveInterface.KeyUse, for operation: AccessControlOperation
    ) throws -> PrivateKey {
        let blob: PrivateKeyBlob
        do throws(Status) {
            blob = try self.blob(use.key, accessGroups: use.accessGroups)
        } catch {
            throw KeyInterface.Failed(error)
        }
        // AC-20, SE-13: a control of constraints that are not meant for private keys has no entry for them.
        guard blob.control.grants(operation) else {
            throw KeyInterface.Failed(.authFailed, .operationNotGranted, blob.control)
        }
        // AC-50, AC-52: bound to an enrolment that is no more.
        guard let control = remaining(blob.control, boundTo: blob.enrolment) else {
            throw KeyInterface.Invalidated(.enrolmentChanged)
        }
        let requirement = control.requirement
        do throws(Refusal) {
            _ = try classKey(of: control.protection)
        } catch {
            // Without a passcode no class is merely locked: P is destroyed (KC-23).
            guard error.status == .interactionNotAllowed else { throw KeyInterface.Invalidated(.passcodeRemoved) }
            throw KeyInterface.Failed(error)
        }
        guard let classKey = self.classKey(of: control.protection, generation: blob.generation),
            let box = try? AES.GCM.SealedBox(combined: blob.sealedKey),
            var plain = try? AES.GCM.open(box, using: classKey, authenticating: blob.description)
        else {
            // This device made it, so its class key was destroyed since: the passcode was removed.
            throw KeyInterface.Invalidated(.passcodeRemoved)
        }
        defer { plain.resetBytes(in: 0..<plain.count) }
        let needed = EnclaveInterface.AuthenticationNeeded(accessControl: control, operation: operation)
        let context = context(use.context, of: use.app, for: blob.accessGroup)
        guard requirement.proofs.isEmpty || context.map({ isMet(requirement, by: $0.proven) }) == true else {
            throw needed
        }
        if control.flags.contains(.applicationPassword) {
            // AC-04: wanted in addition to every proof, and looked at after them, so that nobody guesses without the owner.
            guard let password = context?.credential.key else { throw needed }
            guard
                let opened = password.privateKeyKey(salt: blob.passwordSalt).open(
                    plain, context: blob.description)
            else { throw WrongPassword(needed: needed) }
            plain.resetBytes(in: 0..<plain.count)
            plain = opened.publicBytes
        }
        if blob.isHeld {
            guard let held = HeldKey(rawRepresentation: plain) else { throw KeyInterface.Failed(.decode) }
            return .held(held, publicKey: blob.publicKey)
        }
        guard let key = PrivateKey(blob.kind, rawRepresentation: plain) else {
            throw KeyInterface.Failed(.decode)
        }
        return key
    }

    func sign(_ request: EnclaveInterface.Sign.Parameters) throws -> KeyInterface.Sign.Reply {
        let key = try key(request.use, for: .useKeySign)
        if case .held(let held, _) = key { throw Held(key: held) }
        do throws(Status) {
            return .init(signature: try key.signature(for: request.data))
        } catch {
            throw KeyInterface.Failed(error)
        }
    }

    func exchangeKeys(_ request: EnclaveInterface.ExchangeKeys.Parameters) throws -> KeyInterface.ExchangeKeys.Reply {
        guard [.useKeyKeyExchange, .useKeyDecrypt].contains(request.operation) else {
            throw KeyInterface.Failed(.param)
        }
        let key = try key(request.use, for: request.operation)
        if case .held(let held, _) = key { throw Held(key: held) }
        do throws(Status) {
            return .init(sharedSecret: try key.sharedSecret(with: request.publicKey))
        } catch {
            throw KeyInterface.Failed(error)
        }
    }

    /// The use of a key, of which a wrong application password is told apart.
    fileprivate func using<Reply>(_ body: (Enclave) throws -> Reply) throws -> Use<Reply> {
        do {
            return .done(try body(self))
        } catch let error as WrongPassword {
            return .wrongPassword(error.needed)
        } catch let error as Held {
            return .held(error.key)
        }
    }

    fileprivate enum Use<Reply: Sendable>: Sendable {
        case done(Reply)
        case wrongPassword(EnclaveInterface.AuthenticationNeeded)
        /// All was proven; the hardware has to do it.
        case held(HeldKey)
    }
}

extension EnclaveHost {
    func sign(_ request: EnclaveInterface.Sign.Parameters) throws -> KeyInterface.Sign.Reply {
        try use(request.use, for: .useKeySign, held: { try $0.signature(of: request.data, by: $1) }) {
            try $0.sign(request)
        }
    }

    func exchangeKeys(_ request: EnclaveInterface.ExchangeKeys.Parameters) throws -> KeyInterface.ExchangeKeys.Reply {
        try use(
            request.use, for: request.operation, held: { try $0.sharedSecret(with: request.publicKey, by: $1) }
        ) { try $0.exchangeKeys(request) }
    }

    /// Uses a key; drops an application password that was wrong for it (AC-46).
    ///
    /// `held` does it with a key that is in the hardware.
    ///
    /// - Throws: `EnclaveInterface.Deferred` where that is asked meanwhile; the errors of `io.touchstone.Key`.
    func use<Reply: Sendable>(
        _ use: EnclaveInterface.KeyUse, for operation: AccessControlOperation,
        held: @escaping @Sendable (HeldKeyWork, HeldKey) throws -> EnclaveInterface.KeyResult = { _, _ in
            throw KeyInterface.Failed(.param)
        },
        _ body: (Enclave) throws -> Reply
    ) throws -> Reply {
        // AC-50: what is enrolled when it is used.
        lookAtSensor(for: use.context)
        let outcome: (use: Enclave.Use<Reply>, fact: LogFact?)
        do {
            outcome = try read { enclave, _ in
                let used = try enclave.using(body)
                let isWrong = if case .wrongPassword = used { true } else { false }
                return (used, enclave.keyUsed(use, operation, result: isWrong ? "wrong-application-password" : "ok"))
            }
        } catch let error as KeyInterface.Invalidated {
            note(read { enclave, _ in [enclave.keyUsed(use, operation, result: "invalidated")].compactMap { $0 } })
            throw error
        } catch let error as KeyInterface.Failed {
            noteRefusal(of: use.app, error.reason, error.accessControl)
            throw error
        }
        // Of what the hardware does it is noted what came of it.
        if case .held = outcome.use {} else { note([outcome.fact].compactMap { $0 }) }
        func passwordWasRight() throws {
            guard let context = use.context, outcome.fact?.factors.contains(.applicationPassword) == true else {
                return
            }
            try passwordTried(context, app: use.app, isRight: true, isWrong: false)
        }
        switch outcome.use {
        case .done(let reply):
            try passwordWasRight()
            return reply
        case .held(let key):
            try passwordWasRight()
            throw try later(noting: outcome.fact) { try held($0, key) }
        case .wrongPassword(let needed):
            if let context = use.context {
                try passwordTried(context, app: use.app, isRight: false, isWrong: true)
            }
            throw needed
        }
    }
}

extension SecretBytes {
    /// The key that a stretched application password gives one private key.
    fileprivate func privateKeyKey(salt: Data) -> SecretBytes {
        SecretBytes(
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: symmetricKey, salt: salt,
                info: Data("io.touchstone private key of an application password".utf8), outputByteCount: 32))
    }
}
