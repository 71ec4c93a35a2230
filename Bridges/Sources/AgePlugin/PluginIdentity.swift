public import Foundation

/// What an identity file says of a key: which it is, and nothing secret (AG-5).
///
/// The key is of use to the enclave of one device alone, and there to the program that made it.
public struct PluginIdentity: Hashable, Sendable {
    static let prefix = "AGE-PLUGIN-TOUCHSTONE-"
    private static let version: UInt8 = 1

    /// The public half, by which files for it are found without the device.
    public let recipient: TagRecipient
    /// What the enclave calls the key.
    public let key: Data

    /// An identity by its parts.
    public init(recipient: TagRecipient, key: Data) {
        self.recipient = recipient
        self.key = key
    }

    /// Reads `AGE-PLUGIN-TOUCHSTONE-1…`.
    public init?(_ text: String) {
        guard let (prefix, bytes) = Bech32.decode(text), prefix == Self.prefix, bytes.first == Self.version,
            bytes.count > 34, let recipient = TagRecipient(compressed: Data(bytes[1..<34]))
        else { return nil }
        self.init(recipient: recipient, key: Data(bytes[34...]))
    }
}

extension PluginIdentity: CustomStringConvertible {
    /// `AGE-PLUGIN-TOUCHSTONE-1…`.
    public var description: String {
        Bech32.encode(Self.prefix, [Self.version] + Array(recipient.compressed) + Array(key))
    }
}
