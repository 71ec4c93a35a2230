package import Foundation
import TouchstoneCore
import TouchstoneMemory

/// A private key that is in the root of trust's hardware: what its ``KeyHolder`` gave out, and the value that it wants for it.
package struct HeldKey: Sendable {
    let value: SecretBytes
    let key: Data

    static let valueBytes = 32

    init(value: SecretBytes, key: Data) {
        self.value = value
        self.key = key
    }

    /// nil for anything but a `rawRepresentation`.
    init?(rawRepresentation: Data) {
        guard rawRepresentation.count > Self.valueBytes else { return nil }
        value = SecretBytes(rawRepresentation.prefix(Self.valueBytes))
        key = Data(rawRepresentation.dropFirst(Self.valueBytes))
    }

    /// The value, then the key; whoever asks erases it.
    var rawRepresentation: Data { value.unprotectedCopy + key }
}

/// What the root of trust's hardware does with its keys: each call takes as long as the hardware does.
///
/// What it throws is a `KeyRefusal`, or a `KeyHolderError`.
package struct HeldKeyWork: Sendable {
    private let holder: any KeyHolder
    private let random: any RandomSource

    package init(_ holder: any KeyHolder, _ random: any RandomSource) {
        self.holder = holder
        self.random = random
    }

    package func signature(of digest: Data, by key: HeldKey) throws -> Data {
        guard digest.count == Self.digestBytes else { throw KeyRefusal.failed(.param) }
        return try holder.signature(of: digest, by: key.key, with: key.value)
    }

    package func sharedSecret(with point: Data, by key: HeldKey) throws -> Data {
        // The hardware has its own error for a point that is not on the curve; here it is the same as for a key in memory.
        guard PrivateKey.isPoint(point) else { throw KeyRefusal.failed(.param) }
        return try holder.sharedSecret(of: key.key, and: point, with: key.value).unprotectedCopy
    }

    package func makeKey() throws -> (key: HeldKey, publicKey: Data) {
        let value = random.secret(count: HeldKey.valueBytes)
        let made = try holder.makeKey(under: value)
        return (HeldKey(value: value, key: made.key), made.publicKey)
    }

    private static let digestBytes = 32
}
