internal import Crypto
public import Foundation

/// The public half of a key, to which files are encrypted as `p256tag` of C2SP's `age.md` (AG-3).
///
/// It holds the key itself, so that encrypting needs no device.
public struct TagRecipient: Hashable, Sendable {
    /// Before the plugin's own recipients: age starts `age-plugin-touchstone` for those.
    static let prefix = "age1touchstone"
    /// Before the same key as a recipient that age 1.3 and later know without a plugin.
    static let nativePrefix = "age1tag"

    /// 33 bytes, compressed: as it stands in the recipient.
    public let compressed: Data
    /// 65 bytes, uncompressed: as the enclave gives and takes it.
    public let point: Data

    /// A recipient by its key, as the enclave gives it.
    ///
    /// - Parameter point: 65 bytes, uncompressed. Nil where it is no point of P-256.
    public init?(point: Data) {
        guard let key = try? P256.KeyAgreement.PublicKey(x963Representation: point) else { return nil }
        self.init(key)
    }

    /// - Parameter compressed: 33 bytes. Nil where it is no point of P-256.
    init?(compressed: Data) {
        guard compressed.count == 33,
            let key = try? P256.KeyAgreement.PublicKey(compressedRepresentation: compressed)
        else { return nil }
        self.init(key)
    }

    private init(_ key: P256.KeyAgreement.PublicKey) {
        compressed = key.compressedRepresentation
        point = key.x963Representation
    }

    /// Reads `age1touchstone1…` or `age1tag1…`.
    public init?(_ text: String) {
        guard let (prefix, bytes) = Bech32.decode(text), prefix == Self.prefix || prefix == Self.nativePrefix else {
            return nil
        }
        self.init(compressed: Data(bytes))
    }

    /// The same for age 1.3 and later, which encrypts to it without a plugin.
    public var native: String { Bech32.encode(Self.nativePrefix, Array(compressed)) }

    /// Encrypts the key of a file.
    ///
    /// - Parameter fileKey: 16 bytes.
    /// - Returns: The stanza; nil where the key has another length.
    public func wrap(_ fileKey: [UInt8]) -> Stanza? {
        guard fileKey.count == TagStanza.fileKeyCount,
            let key = try? P256.KeyAgreement.PublicKey(x963Representation: point),
            var sender = try? HPKE.Sender(recipientKey: key, ciphersuite: Self.suite, info: TagStanza.info),
            let body = try? sender.seal(fileKey)
        else { return nil }
        let share = sender.encapsulatedKey
        let arguments = [TagStanza.type, UnpaddedBase64.encode(tag(for: share)), UnpaddedBase64.encode(share)]
        return Stanza(arguments, body: Array(body))
    }

    private static let suite = HPKE.Ciphersuite(kem: .P256_HKDF_SHA256, kdf: .HKDF_SHA256, aead: .chaChaPoly)

    /// Four bytes by which a stanza for this key is found without using it.
    func tag(for share: Data) -> Data {
        let material = share + Data(SHA256.hash(data: compressed)).prefix(4)
        let whole = HKDF<SHA256>.extract(inputKeyMaterial: SymmetricKey(data: material), salt: TagStanza.info)
        return Data(whole).prefix(TagStanza.tagCount)
    }
}

extension TagRecipient: CustomStringConvertible {
    /// `age1touchstone1…`.
    public var description: String { Bech32.encode(Self.prefix, Array(compressed)) }
}
