import CSodium
package import Crypto
package import Foundation
package import TouchstoneMemory

extension SecretBytes {
    /// HKDF-SHA256 of these bytes, 32 bytes long, for one purpose.
    package func derive(_ purpose: String) -> SecretBytes {
        let derived = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: symmetricKey, info: Data("io.touchstone \(purpose)".utf8), outputByteCount: 32)
        return SecretBytes(derived)
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

    /// AES-256-GCM of `secret` under this key: nonce (12 bytes), ciphertext, tag (16 bytes).
    package func seal(_ secret: SecretBytes, context: Data) throws -> Data {
        let box = unsafe try secret.withUnsafeBytes {
            unsafe try AES.GCM.seal($0, using: symmetricKey, authenticating: context)
        }
        // `combined` is nil only for nonces of other lengths than 12, which are not made here.
        return box.combined ?? Data()
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
        let operations = max(1, min(64, (0.15 / max(took, .leastNormalMagnitude)).rounded()))
        return PasscodeCost(operations: UInt64(operations), memoryBytes: probe.memoryBytes)
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

    /// Runs for as long as the cost says: not to be called while anything waits.
    func run() throws -> SecretBytes {
        let stretched = try Self.argon2id(passcode, salt: salt, cost: cost)
        let bound = try root.derive("passcode", salt)
        let both = unsafe SecretBytes(count: stretched.count + bound.count) { target in
            unsafe stretched.withUnsafeBytes { unsafe target.copyMemory(from: $0) }
            unsafe bound.withUnsafeBytes {
                unsafe UnsafeMutableRawBufferPointer(rebasing: target[stretched.count...]).copyMemory(from: $0)
            }
        }
        return both.derive("passcode key")
    }

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
