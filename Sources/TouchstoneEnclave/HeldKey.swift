import Foundation
import TouchstoneMemory

/// A private key that is in the root of trust's hardware: what its ``KeyHolder`` gave out, and the value that it wants for it.
struct HeldKey: Sendable {
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
    var rawRepresentation: Data { value.publicBytes + key }
}
