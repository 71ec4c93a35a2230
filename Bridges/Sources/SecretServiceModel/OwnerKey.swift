internal import Crypto
public import Foundation

/// The key that opens the keys of all items, and that the device gives out only when the owner agrees (SS-20).
public struct OwnerKey: Sendable, CustomStringConvertible {
    /// The half that seals, which is no secret.
    public struct Public: Hashable, Sendable {
        /// X25519, 32 bytes.
        public let bytes: Data

        init(unchecked bytes: Data) { self.bytes = bytes }

        /// Reads the name of a row; nil if it names no key.
        ///
        /// - Parameter name: As ``name`` gave it.
        public init?(name: String) {
            guard let bytes = Data(base64Encoded: name), bytes.count == 32 else { return nil }
            self.bytes = bytes
        }

        /// The name of its row: its bytes in base64.
        public var name: String { bytes.base64EncodedString() }
    }

    let key: Curve25519.KeyAgreement.PrivateKey

    /// A new key.
    public init() { key = Curve25519.KeyAgreement.PrivateKey() }

    /// A key that was kept.
    ///
    /// - Parameter bytes: 32 bytes; nil for any other count.
    public init?(_ bytes: Data) {
        guard let key = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: bytes) else { return nil }
        self.key = key
    }

    /// What is kept of it.
    public var bytes: Data { key.rawRepresentation }

    /// The half that seals.
    public var publicKey: Public { Public(unchecked: key.publicKey.rawRepresentation) }

    /// Not the key.
    public var description: String { "a key" }
}
