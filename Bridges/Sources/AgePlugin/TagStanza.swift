internal import Crypto
public import Foundation

/// A stanza `p256tag` of an age file: the file's key, for one recipient (AG-3).
public struct TagStanza: Hashable, Sendable {
    static let type = "p256tag"
    static let info = Data("age-encryption.org/p256tag".utf8)
    static let tagCount = 4
    static let fileKeyCount = 16
    private static let bodyCount = 32

    let tag: Data
    /// The sender's share of the agreement, 65 bytes: the enclave computes with it.
    public let share: Data
    let body: Data

    /// Reads one; nil where it is of another type.
    ///
    /// - Parameter stanza: Of an age file, without what stands before it in the protocol.
    /// - Throws: `StanzaError.malformed`: of this type, and not as C2SP's `age.md` wants it.
    init?(_ stanza: Stanza) throws(StanzaError) {
        guard stanza.arguments.first == Self.type else { return nil }
        guard stanza.arguments.count == 3, stanza.body.count == Self.bodyCount,
            let tag = UnpaddedBase64.decode(Array(stanza.arguments[1].utf8)), tag.count == Self.tagCount,
            let share = UnpaddedBase64.decode(Array(stanza.arguments[2].utf8)),
            (try? P256.KeyAgreement.PublicKey(x963Representation: Data(share))) != nil
        else { throw .malformed }
        (self.tag, self.share, body) = (Data(tag), Data(share), Data(stanza.body))
    }

    /// Whether it is for this key; one in 2^32 of others looks so, too.
    public func isFor(_ recipient: TagRecipient) -> Bool { recipient.tag(for: share) == tag }

    /// Opens it with what the key and the share agree on.
    ///
    /// - Parameters:
    ///   - agreed: The coordinate x, 32 bytes.
    ///   - recipient: The public half of the key.
    /// - Returns: The file's key, 16 bytes; nil where it is another key's, or was changed.
    public func open(agreed: Data, _ recipient: TagRecipient) -> [UInt8]? {
        let (key, nonce) = BaseSchedule(agreed: agreed, share: share, recipient: recipient.point, info: Self.info)
            .values
        guard let nonce = try? ChaChaPoly.Nonce(data: nonce),
            let box = try? ChaChaPoly.SealedBox(nonce: nonce, ciphertext: body.dropLast(16), tag: body.suffix(16)),
            let fileKey = try? ChaChaPoly.open(box, using: key), fileKey.count == Self.fileKeyCount
        else { return nil }
        return Array(fileKey)
    }
}

/// The receiver's half of HPKE in its base mode, with the agreement done elsewhere: RFC 9180, sections 4.1 and 5.1.
///
/// swift-crypto's own receiver wants the private key, which does not leave the enclave. The suite is DHKEM(P-256, HKDF-SHA256),
/// HKDF-SHA256, ChaCha20-Poly1305.
struct BaseSchedule {
    /// The key, and the nonce of the first message.
    let values: (key: SymmetricKey, nonce: Data)

    private static let encapsulation = Data("KEM".utf8) + [0, 0x10]
    private static let suite = Data("HPKE".utf8) + [0, 0x10, 0, 1, 0, 3]

    init(agreed: Data, share: Data, recipient: Data, info: Data) {
        let early = Self.extract(
            Self.encapsulation, salt: SymmetricKey(data: Data()), "eae_prk", SymmetricKey(data: agreed))
        let shared = Self.expand(Self.encapsulation, early, "shared_secret", share + recipient, 32)
        let none = SymmetricKey(data: Data())
        let context =
            Data([0]) + Self.bytes(Self.extract(Self.suite, salt: none, "psk_id_hash", none))
            + Self.bytes(Self.extract(Self.suite, salt: none, "info_hash", SymmetricKey(data: info)))
        let secret = Self.extract(Self.suite, salt: shared, "secret", none)
        values = (
            Self.expand(Self.suite, secret, "key", context, 32),
            Self.bytes(Self.expand(Self.suite, secret, "base_nonce", context, 12))
        )
    }

    private static func extract(
        _ suite: Data, salt: SymmetricKey, _ label: String, _ material: SymmetricKey
    ) -> SymmetricKey {
        let labeled = Data("HPKE-v1".utf8) + suite + Data(label.utf8) + bytes(material)
        let code = HKDF<SHA256>.extract(inputKeyMaterial: SymmetricKey(data: labeled), salt: bytes(salt))
        return SymmetricKey(data: code)
    }

    private static func expand(
        _ suite: Data, _ secret: SymmetricKey, _ label: String, _ info: Data, _ count: Int
    ) -> SymmetricKey {
        let labeled = Data([0, UInt8(count)]) + Data("HPKE-v1".utf8) + suite + Data(label.utf8) + info
        return HKDF<SHA256>.expand(pseudoRandomKey: secret, info: labeled, outputByteCount: count)
    }

    private static func bytes(_ key: SymmetricKey) -> Data { unsafe key.withUnsafeBytes { unsafe Data($0) } }
}
