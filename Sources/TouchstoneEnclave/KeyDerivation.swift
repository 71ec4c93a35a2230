import CSodium
package import Crypto
package import Foundation
package import TouchstoneMemory

extension SecretBytes {
    /// HKDF-SHA256 of these bytes, 32 bytes long, for one purpose.
    package func derive(_ purpose: String) -> SecretBytes {
        SecretBytes(symmetricKey.derive(purpose))
    }

    package var symmetricKey: SymmetricKey {
        unsafe withUnsafeBytes { unsafe SymmetricKey(data: $0) }
    }

    package convenience init(_ key: SymmetricKey) {
        let bytes = unsafe key.withUnsafeBytes { unsafe SecretBytes($0) }
        self.init(copying: bytes)
    }

    private convenience init(copying other: SecretBytes) {
        unsafe self.init(count: other.count) { target in
            unsafe other.withUnsafeBytes { unsafe target.copyMemory(from: $0) }
        }
    }

    package func joined(with other: SecretBytes) -> SecretBytes {
        unsafe SecretBytes(count: count + other.count) { target in
            unsafe withUnsafeBytes { unsafe target.copyMemory(from: $0) }
            unsafe other.withUnsafeBytes {
                unsafe UnsafeMutableRawBufferPointer(rebasing: target[count...]).copyMemory(from: $0)
            }
        }
    }

    /// Equal or not, in time that does not depend on where they differ.
    package func isEqual(to other: SecretBytes) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBytes { mine in
            unsafe other.withUnsafeBytes { theirs in
                unsafe sodium_memcmp(mine.baseAddress!, theirs.baseAddress!, mine.count) == 0
            }
        }
    }

    /// The plaintext of `sealed`, or nil where it was not sealed under this key with this context.
    package func open(_ sealed: Data, context: Data) -> SecretBytes? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed),
            var plain = try? AES.GCM.open(box, using: symmetricKey, authenticating: context)
        else { return nil }
        defer { plain.resetBytes(in: 0..<plain.count) }
        return SecretBytes(plain)
    }
}

extension SymmetricKey {
    /// HKDF-SHA256 of this key, 32 bytes long, for one purpose.
    func derive(_ purpose: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: self, info: Data("io.touchstone \(purpose)".utf8), outputByteCount: 32)
    }
}

/// What one passcode check costs, chosen when the passcode is made (PC-04).
package struct PasscodeCost: Codable, Hashable, Sendable {
    /// Argon2id passes over the memory.
    package var operations: UInt64
    package var memoryBytes: Int

    package init(operations: UInt64, memoryBytes: Int) {
        self.operations = operations
        self.memoryBytes = memoryBytes
    }

    /// libsodium's smallest: for tests only.
    package static let minimum = PasscodeCost(operations: 1, memoryBytes: 8192)

    /// The cost that takes about 150 ms on this machine, so that a check stays within 80–250 ms.
    ///
    /// - Parameter processorTime: Seconds that this thread has had of the processor: other programs do not lengthen them, as they do
    ///   those of a clock.
    /// - Returns: The cost.
    package static func calibrated(processorTime: () -> Double) -> PasscodeCost {
        let probe = PasscodeCost(operations: 1, memoryBytes: 64 << 20)
        // The fastest of three: whatever disturbs it makes a probe slower, and a passcode cheaper for good.
        let took = (0..<3).map { _ in probe.seconds(processorTime) }.min() ?? 0
        return PasscodeCost(operations: operations(probeTook: took), memoryBytes: probe.memoryBytes)
    }

    /// The passes that come nearest to 150 ms, 1 to 64, on a machine where one pass took `probeTook` seconds.
    static func operations(probeTook: Double) -> UInt64 {
        UInt64(max(1, min(64, (0.15 / max(probeTook, .leastNormalMagnitude)).rounded())))
    }

    /// What one derivation takes.
    func seconds(_ processorTime: () -> Double) -> Double {
        let salt = Data(count: PasscodeDerivation.saltBytes)
        let start = processorTime()
        _ = try? PasscodeDerivation.argon2id(SecretBytes([0]), salt: salt, cost: self)
        return processorTime() - start
    }
}

/// From a passcode to the key that opens the class keys: slow on purpose, and bound to the root of trust.
struct PasscodeDerivation: Sendable {
    static let saltBytes = 16

    /// The memory of the derivation could not be had.
    struct NoMemory: Error {}

    let passcode: SecretBytes
    let salt: Data
    let cost: PasscodeCost
    let root: any RootOfTrust
    /// What the root of trust keeps closed for the right passcode; nil: nothing.
    var gate: PasscodeGate?
    /// Of the last wrong passcode: the same one again is not asked for again.
    var lastWrong: SecretBytes?

    /// Runs for as long as the cost says: not to be called while anything waits.
    ///
    /// With a gate a wrong passcode gives a key that opens nothing, and is the same for the same passcode; `answered` is called once the
    /// gate has said which it is.
    func run(answered: () -> Void = {}) throws -> SecretBytes {
        let ungated = try derived()
        guard let gate else { return ungated }
        if let lastWrong, Self.wrongTag(ungated).isEqual(to: lastWrong) { return ungated }
        guard let guardian = root.passcodeGuard else {
            throw PasscodeGuardError("the state is of a root of trust with a passcode guard", wasAsked: false)
        }
        let secret = try guardian.open(gate.closed, with: Self.gateValue(ungated))
        answered()
        guard let secret else { return ungated }
        return ungated.joined(with: secret).derive("gated passcode key")
    }

    /// The key of a new passcode, and its gate where the root of trust has such.
    ///
    /// The gate's secret is sealed to `recoveryKey`, for another root of trust; nil: there is no other.
    func make(recoveryKey: Data?, _ random: any RandomSource) throws -> (key: SecretBytes, gate: PasscodeGate?) {
        let ungated = try derived()
        guard root.passcodeGuard != nil else { return (ungated, nil) }
        let secret = random.secret(count: 32)
        let recovery = try recoveryKey.map {
            try Sealed.seal(secret, to: .init(rawRepresentation: $0), PasscodeGate.recoveryPurpose)
        }
        return try (
            ungated.joined(with: secret).derive("gated passcode key"), close(secret, ungated, recovery: recovery)
        )
    }

    /// A new gate around a secret that is known; `check` gets the key first, and throws where the passcode is wrong.
    func remake(_ secret: SecretBytes, recovery: Data?, check: (SecretBytes) throws -> Void) throws -> PasscodeGate? {
        let ungated = try derived()
        try check(ungated.joined(with: secret).derive("gated passcode key"))
        return try close(secret, ungated, recovery: recovery)
    }

    private func close(_ secret: SecretBytes, _ ungated: SecretBytes, recovery: Data?) throws -> PasscodeGate? {
        try root.passcodeGuard.map {
            PasscodeGate(closed: try $0.close(secret, with: Self.gateValue(ungated)), recovery: recovery)
        }
    }

    private func derived() throws -> SecretBytes {
        let stretched = try Self.argon2id(passcode, salt: salt, cost: cost)
        return try stretched.joined(with: root.derive("passcode", salt)).derive("passcode key")
    }

    /// Tells a wrong passcode from another without keeping it.
    static func wrongTag(_ key: SecretBytes) -> SecretBytes { key.derive("wrong passcode") }

    private static func gateValue(_ ungated: SecretBytes) -> SecretBytes { ungated.derive("passcode gate") }

    static func argon2id(_ passcode: SecretBytes, salt: Data, cost: PasscodeCost) throws -> SecretBytes {
        precondition(salt.count == saltBytes)
        return try unsafe SecretBytes(count: 32) { output in
            let result = unsafe passcode.withUnsafeBytes { passcode in
                unsafe salt.withUnsafeBytes { salt in
                    unsafe crypto_pwhash(
                        output.baseAddress!.assumingMemoryBound(to: UInt8.self), UInt64(output.count),
                        passcode.baseAddress!.assumingMemoryBound(to: CChar.self), UInt64(passcode.count),
                        salt.baseAddress!.assumingMemoryBound(to: UInt8.self), cost.operations, cost.memoryBytes,
                        crypto_pwhash_ALG_ARGON2ID13)
                }
            }
            // A zero key would be a passcode that everybody knows.
            guard result == 0 else { throw NoMemory() }
        }
    }
}

/// A passcode's part of the root of trust.
struct PasscodeGate: Codable, Hashable, Sendable {
    /// As its guard closed it.
    var closed: Data
    /// Its secret, sealed to the recovery key.
    var recovery: Data?

    static let recoveryPurpose = "io.touchstone passcode recovery"
}

/// Sealed to a public key: the encapsulated key, 32 bytes, and the ciphertext of HPKE.
package enum Sealed {
    package static func seal(
        _ secret: SecretBytes, to publicKey: Curve25519.KeyAgreement.PublicKey, _ purpose: String
    ) throws -> Data {
        var sender = try HPKE.Sender(
            recipientKey: publicKey, ciphersuite: .Curve25519_SHA256_ChachaPoly, info: Data(purpose.utf8))
        let ciphertext = unsafe try secret.withUnsafeBytes { unsafe try sender.seal($0) }
        return sender.encapsulatedKey + ciphertext
    }

    package static func open(
        _ sealed: Data, with privateKey: Curve25519.KeyAgreement.PrivateKey, _ purpose: String
    ) throws -> SecretBytes {
        var recipient = try HPKE.Recipient(
            privateKey: privateKey, ciphersuite: .Curve25519_SHA256_ChachaPoly, info: Data(purpose.utf8),
            encapsulatedKey: Data(sealed.prefix(32)))
        var plain = try recipient.open(Data(sealed.dropFirst(32)))
        defer { plain.resetBytes(in: 0..<plain.count) }
        return SecretBytes(plain)
    }
}
