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

    /// Seals the keys of items for the owner.
    ///
    /// HPKE (RFC 9180) in base mode makes one encapsulated key for all of them, with DHKEM(X25519, HKDF-SHA256) and HKDF-SHA256. For each
    /// item it exports a key, by the item's name, and AES-256-GCM seals the item's key with that. An exchange of keys for each item would
    /// take a seventh of a store (DEC-530).
    ///
    /// Whoever has it can open what it sealed, so that it lasts no longer than the keys that are in memory anyway.
    public struct Sealer: Sendable {
        /// Whose key opens what it seals.
        public let owner: Public
        let encapsulated: Data
        private let sender: HPKE.Sender

        /// A new one, whose encapsulated key no other has; nil if the owner's key is malformed.
        public init?(for owner: Public) {
            guard let recipient = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: owner.bytes),
                let sender = try? HPKE.Sender(recipientKey: recipient, ciphersuite: OwnerKey.suite, info: OwnerKey.info)
            else { return nil }
            self.owner = owner
            encapsulated = sender.encapsulatedKey
            self.sender = sender
        }

        func seal(_ key: SymmetricKeyBytes, item: String) -> Data? {
            let name = Data(item.utf8)
            guard let exported = try? sender.exportSecret(context: name, outputByteCount: 32) else { return nil }
            return unsafe key.key.withUnsafeBytes {
                unsafe try? AES.GCM.seal($0, using: exported, authenticating: name).combined
            }
        }
    }

    private static let suite = HPKE.Ciphersuite.Curve25519_SHA256_ChachaPoly
    private static let info = Data("touchstone secret service 2".utf8)

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

    /// Opens what a ``Sealer`` sealed; nil if it is of another item, or was altered.
    func open(_ sealed: Data, encapsulated: Data, item: String) -> SymmetricKeyBytes? {
        let name = Data(item.utf8)
        guard
            let recipient = try? HPKE.Recipient(
                privateKey: key, ciphersuite: Self.suite, info: Self.info, encapsulatedKey: encapsulated),
            let exported = try? recipient.exportSecret(context: name, outputByteCount: 32),
            let box = try? AES.GCM.SealedBox(combined: sealed),
            let bytes = try? AES.GCM.open(box, using: exported, authenticating: name)
        else { return nil }
        return SymmetricKeyBytes(bytes)
    }

    /// Not the key.
    public var description: String { "a key" }
}
