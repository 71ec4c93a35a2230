internal import Crypto
public import Foundation

/// A secret as it is kept in the one row of its item (SS-20).
///
/// The secret is sealed with AES-256-GCM under the key of its item. That key is sealed for the owner by an ``OwnerKey/Sealer``. A copy of
/// it can stand beside it, for the program that stored the secret.
///
/// Its bytes are the version 2, how many bytes the copy has (0 or 32), the owner's public key (32), the encapsulated key (32), the sealed
/// key (60), the copy, and the sealed secret. What is sealed is a nonce (12), itself and a tag (16).
public struct SealedSecret: Sendable {
    private static let version: UInt8 = 2
    private static let keyLength = 32
    private static let sealedKeyLength = 12 + 32 + 16

    /// The key of the owner's that opens ``sealedKey``.
    public let owner: OwnerKey.Public
    private let encapsulated: Data
    private let sealedKey: Data
    /// A copy of the item's key, which opens the secret without the owner; nil if there is no copy.
    public let copy: SymmetricKeyBytes?
    private let secret: Data

    /// Seals a secret.
    ///
    /// - Parameters:
    ///   - secret: 0 bytes or more.
    ///   - key: The item's.
    ///   - item: Its name, with which the secret and the key are bound to it.
    ///   - sealer: Of the owner whose key opens it later.
    ///   - hasCopy: Whether a copy of the key stands beside it.
    public init?(_ secret: Data, _ key: SymmetricKeyBytes, item: String, for sealer: OwnerKey.Sealer, hasCopy: Bool) {
        guard let sealedKey = sealer.seal(key, item: item),
            let sealed = try? AES.GCM.seal(secret, using: key.key, authenticating: Data(item.utf8)).combined
        else { return nil }
        owner = sealer.owner
        encapsulated = sealer.encapsulated
        self.sealedKey = sealedKey
        copy = hasCopy ? key : nil
        self.secret = sealed
    }

    /// Reads what was kept; nil if it is malformed.
    ///
    /// - Parameter kept: As ``kept`` gave it.
    public init?(_ kept: Data) {
        var rest = kept
        guard rest.popFirst() == Self.version, let copyLength = rest.popFirst(),
            copyLength == 0 || copyLength == Self.keyLength,
            rest.count >= 2 * Self.keyLength + Self.sealedKeyLength + Int(copyLength)
        else { return nil }
        func next(_ count: Int) -> Data {
            defer { rest = rest.dropFirst(count) }
            return Data(rest.prefix(count))
        }
        owner = OwnerKey.Public(unchecked: next(Self.keyLength))
        encapsulated = next(Self.keyLength)
        sealedKey = next(Self.sealedKeyLength)
        copy = SymmetricKeyBytes(next(Int(copyLength)))
        secret = Data(rest)
    }

    private init(without other: SealedSecret) {
        owner = other.owner
        encapsulated = other.encapsulated
        sealedKey = other.sealedKey
        copy = nil
        secret = other.secret
    }

    /// The same without the copy of the key.
    public var withoutCopy: SealedSecret { SealedSecret(without: self) }

    /// How many bytes it takes, without a copy of the key.
    var count: Int { 2 + 2 * Self.keyLength + Self.sealedKeyLength + secret.count }

    /// What is kept.
    public var kept: Data {
        let copy = copy?.bytes ?? Data()
        var kept = Data(capacity: count + copy.count)
        kept.append(contentsOf: [Self.version, UInt8(copy.count)])
        for part in [owner.bytes, encapsulated, sealedKey, copy, secret] { kept.append(part) }
        return kept
    }

    /// Opens the secret.
    ///
    /// - Parameters:
    ///   - key: The item's.
    ///   - item: Its name.
    /// - Returns: The secret; nil if it is of another item, or was altered.
    public func open(_ key: SymmetricKeyBytes, item: String) -> Data? {
        guard let box = try? AES.GCM.SealedBox(combined: secret) else { return nil }
        return try? AES.GCM.open(box, using: key.key, authenticating: Data(item.utf8))
    }

    /// Opens the item's key with the owner's.
    ///
    /// - Parameters:
    ///   - key: The private half of ``owner``.
    ///   - item: The item's name.
    /// - Returns: The item's key; nil if it is of another item, or was altered.
    public func key(_ key: OwnerKey, item: String) -> SymmetricKeyBytes? {
        key.open(sealedKey, encapsulated: encapsulated, item: item)
    }
}
