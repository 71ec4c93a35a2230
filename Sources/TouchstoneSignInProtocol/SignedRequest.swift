public import Foundation

/// A signed message with its signature and what it is about, as it goes over the wire.
public struct SignedRequest: Codable, Sendable {
    /// ``SignedMessage/bytes``, base64url.
    public var message: String
    /// ECDSA over SHA-256 of the message's bytes, in DER (NP-03), base64url.
    public var signature: String
    /// The details as the bytes whose hash the message has, base64url.
    public var details: String
    /// For `rotate`: the same message signed by the new key, base64url.
    public var newSignature: String?

    /// As its fields say.
    public init(message: Data, signature: Data, details: Data, newSignature: Data? = nil) {
        self.message = message.base64URL
        self.signature = signature.base64URL
        self.details = details.base64URL
        self.newSignature = newSignature?.base64URL
    }
}
