import Crypto
package import Foundation
package import TouchstoneCore
import TouchstoneLog
import TouchstoneMemory

/// Private keys: made here, used here, and kept by others as blobs that open nowhere else (SE-02, SE-03).
extension Enclave {
    /// What a new private key is sealed with.
    private struct KeyBindings {
        var classKey: SecretBytes
        /// The stretched application password; nil where the control wants none.
        var password: SecretBytes?
    }

    private func bindings(of request: KeyCreation) throws(KeyRefusal) -> KeyBindings {
        let control = request.accessControl
        guard request.accessGroup.utf8.count <= PrivateKeyBlob.maximumGroupBytes else { throw .failed(.param) }
        let classKey: SecretBytes
        do throws(Refusal) {
            try checkCanBind(control)
            classKey = try self.classKey(of: control.protection)
        } catch {
            throw .failed(error.status, error.cause, control)
        }
        guard control.flags.contains(.applicationPassword) else { return KeyBindings(classKey: classKey) }
        // AC-48: there is nothing to mix in, and nobody here to ask for it.
        guard let password = credential(of: request.context, app: request.app) else {
            throw .needed(control, .createKey)
        }
        return KeyBindings(classKey: classKey, password: password)
    }

    /// Whether a key could be made now: nobody asks the hardware for one that is refused.
    package func checkCanCreateKey(_ request: KeyCreation) throws(KeyRefusal) { _ = try bindings(of: request) }

    /// Makes a key, and binds it to what is enrolled now; asks nobody (SE-15).
    package func createKey(_ request: KeyCreation) throws(KeyRefusal) -> MadeKey {
        let bindings = try bindings(of: request)
        do throws(Status) {
            return try seal(PrivateKey(request.kind, random), request, bindings)
        } catch {
            throw .failed(error)
        }
    }

    /// The same with a key that the hardware has made.
    package func createKey(_ request: KeyCreation, held: HeldKey, publicKey: Data) throws(KeyRefusal) -> MadeKey {
        let bindings = try bindings(of: request)
        do throws(Status) {
            return try seal(.held(held, publicKey: publicKey), request, bindings)
        } catch {
            throw .failed(error)
        }
    }

    private func seal(_ key: PrivateKey, _ request: KeyCreation, _ bindings: KeyBindings) throws(Status) -> MadeKey {
        var blob = PrivateKeyBlob(
            kind: request.kind, control: request.accessControl, accessGroup: request.accessGroup,
            publicKey: key.publicKey)
        blob.isHeld = key.isHeld
        blob.generation = generation
        blob.enrolment = enrolment(for: request.accessControl)
        var plain = key.rawRepresentation
        defer { plain.resetBytes(in: 0..<plain.count) }
        if let password = bindings.password {
            blob.passwordSalt = random.bytes(count: blob.passwordSalt.count)
            let (secret, bound) = (SecretBytes(plain), blob)
            let sealed = try sealing {
                try random.seal(
                    secret, under: password.privateKeyKey(salt: bound.passwordSalt), context: bound.description)
            }
            plain.resetBytes(in: 0..<plain.count)
            plain = sealed
        }
        let bound = blob.description
        blob.sealedKey = try sealing {
            try random.seal(plain, using: bindings.classKey.symmetricKey, authenticating: bound)
        }
        let whole = blob
        return MadeKey(
            key: try sealing { try whole.sealed(key: blobKey.symmetricKey, random) }, publicKey: whole.publicKey)
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
    package func inspectKey(_ key: Data, accessGroups: [AccessGroup]) throws(KeyRefusal) -> KeyDescription {
        let blob = try openedBlob(key)
        try check(blob, accessGroups: accessGroups)
        return KeyDescription(
            kind: blob.kind, publicKey: blob.publicKey, accessControl: blob.control, accessGroup: blob.accessGroup)
    }

    /// - Throws: AC-45: `.decode` for what this enclave did not make.
    private func openedBlob(_ key: Data) throws(KeyRefusal) -> PrivateKeyBlob {
        guard let blob = PrivateKeyBlob(key, key: blobKey.symmetricKey) else { throw .failed(.decode) }
        return blob
    }

    /// - Throws: AC-45: `.itemNotFound` for a key of another's group, which is not there for the app.
    private func check(_ blob: PrivateKeyBlob, accessGroups: [AccessGroup]) throws(KeyRefusal) {
        guard accessGroups.contains(blob.accessGroup) else { throw .failed(.itemNotFound) }
    }

    /// Opens a key for one operation, if everything that it asks for is there.
    func key(_ use: KeyRequest, for operation: AccessControlOperation) throws(KeyRefusal) -> PrivateKey {
        let known = openedPrivateKeys.key(use.key, epoch: keysEpoch)
        let blob = if let known { known.blob } else { try openedBlob(use.key) }
        try check(blob, accessGroups: use.accessGroups)
        // AC-20, SE-13: a control of constraints that are not meant for private keys has no entry for them.
        guard blob.control.grants(operation) else {
            throw .failed(.authFailed, .operationNotGranted, blob.control)
        }
        // AC-50, AC-52: bound to an enrolment that is no more.
        guard let control = remaining(blob.control, boundTo: blob.enrolment) else {
            throw .invalidated(.enrolmentChanged)
        }
        let requirement = control.requirement
        do throws(Refusal) {
            _ = try classKey(of: control.protection)
        } catch {
            // Without a passcode no class is merely locked: P is destroyed (KC-23).
            guard error.status == .interactionNotAllowed else { throw .invalidated(.passcodeRemoved) }
            throw KeyRefusal(error)
        }
        // This device made it, so where it does not open its class key was destroyed since: the passcode was removed.
        guard var plain = known == nil ? sealedKey(of: blob) : Data() else { throw .invalidated(.passcodeRemoved) }
        defer { plain.resetBytes(in: 0..<plain.count) }
        let needed = KeyRefusal.needed(control, operation)
        let context = context(use.context, of: use.app, for: blob.accessGroup)
        guard requirement.proofs.isEmpty || context.map({ isMet(requirement, by: $0.proven) }) == true else {
            throw needed
        }
        if let known { return .p256(known.key) }
        if control.flags.contains(.applicationPassword) {
            // AC-04: wanted in addition to every proof, and looked at after them, so that nobody guesses without the owner.
            guard let password = context?.password.key else { throw needed }
            guard
                let opened = password.privateKeyKey(salt: blob.passwordSalt).open(
                    plain, context: blob.description)
            else { throw .wrongPassword(control, operation) }
            plain.resetBytes(in: 0..<plain.count)
            plain = opened.unprotectedCopy
        }
        if blob.isHeld {
            guard let held = HeldKey(rawRepresentation: plain) else { throw .failed(.decode) }
            return .held(held, publicKey: blob.publicKey)
        }
        guard let key = PrivateKey(blob.kind, rawRepresentation: plain) else {
            throw .failed(.decode)
        }
        if case .p256(let number) = key, !control.flags.contains(.applicationPassword) {
            openedPrivateKeys.add(number, of: blob, as: use.key, epoch: keysEpoch)
        }
        return key
    }

    /// What the class key has sealed of a key; nil if it does not open.
    private func sealedKey(of blob: PrivateKeyBlob) -> Data? {
        guard let classKey = classKey(of: blob.control.protection, generation: blob.generation),
            let box = try? AES.GCM.SealedBox(combined: blob.sealedKey)
        else { return nil }
        return try? AES.GCM.open(box, using: classKey, authenticating: blob.description)
    }

    /// Does with a key what the context may do with it.
    private func use<Product: Sendable>(
        _ request: KeyRequest, for operation: AccessControlOperation, _ body: (PrivateKey) throws(Status) -> Product
    ) -> KeyUse<Product> {
        do throws(KeyRefusal) {
            let key = try key(request, for: operation)
            if case .held(let held, _) = key { return .held(held) }
            do throws(Status) {
                return .done(try body(key))
            } catch {
                throw .failed(error)
            }
        } catch {
            return .refused(error)
        }
    }

    package func sign(_ data: Data, with request: KeyRequest) -> KeyUse<Data> {
        use(request, for: .useKeySign) { key throws(Status) in try key.signature(for: data) }
    }

    package func exchangeKeys(
        with publicKey: Data, _ request: KeyRequest, for operation: AccessControlOperation
    ) -> KeyUse<Data> {
        guard [.useKeyKeyExchange, .useKeyDecrypt].contains(operation) else { return .refused(.failed(.param)) }
        return use(request, for: operation) { key throws(Status) in try key.sharedSecret(with: publicKey) }
    }

    // The hardware has keys of P-256 alone, which do neither of these: such a key is refused as it would be here.

    package func signMessage(_ message: Data, context: Data, with request: KeyRequest) -> KeyUse<Data> {
        use(request, for: .useKeySign) { key throws(Status) in try key.signature(forMessage: message, context: context)
        }.here
    }

    package func decapsulate(_ encapsulated: Data, with request: KeyRequest) -> KeyUse<Data> {
        use(request, for: .useKeyKeyExchange) { key throws(Status) in try key.decapsulate(encapsulated) }.here
    }
}

extension KeyUse {
    /// The same where the hardware does not do it.
    fileprivate var here: KeyUse {
        if case .held = self { .refused(.failed(.param)) } else { self }
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
