public import Foundation

/// What a device key signs: a challenge together with everything that it is an answer for (NP-12).
///
/// Never a server's bare nonce, which would let the sender of nonces choose what is signed. The bytes are `"LASIGN"`, a
/// version and ten fields with their lengths; docs/sign-in.md has the table.
public struct SignedMessage: Sendable, Equatable {
    /// Of this layout.
    public static let version: UInt8 = 1
    /// No message is longer, in bytes.
    public static let maximumLength = 1024

    /// What the signature is for (NP-13).
    public var purpose: Purpose
    /// The server's name from the client's own configuration (NP-14), 1 to 255 bytes of UTF-8.
    public var audience: String
    /// The app's identifier from its own configuration, 1 to 255 bytes of UTF-8.
    public var application: String
    /// SHA-256 of the key's SubjectPublicKeyInfo, 32 bytes.
    public var keyID: Data
    /// 16 bytes.
    public var userHandle: Data
    /// 32 bytes, the server's.
    public var challenge: Data
    /// 32 bytes, the client's.
    public var clientNonce: Data
    /// Greater with each message of a key (NP-23).
    public var counter: UInt64
    /// Seconds since 1970 by the client's clock; told, never a reason to refuse (NP-15).
    public var issuedAt: UInt64
    /// SHA-256 of the request's details, 32 bytes.
    public var detailsHash: Data

    /// As its fields say.
    public init(
        purpose: Purpose, audience: String, application: String, keyID: Data, userHandle: Data, challenge: Data,
        clientNonce: Data, counter: UInt64, issuedAt: UInt64, detailsHash: Data
    ) {
        self.purpose = purpose
        self.audience = audience
        self.application = application
        self.keyID = keyID
        self.userHandle = userHandle
        self.challenge = challenge
        self.clientNonce = clientNonce
        self.counter = counter
        self.issuedAt = issuedAt
        self.detailsHash = detailsHash
    }

    /// The bytes that are signed.
    ///
    /// Reads back as the same message if the fields have the lengths that they say.
    public var bytes: Data {
        var bytes = Data(Self.magic)
        bytes.append(Self.version)
        for field in [
            Data(purpose.rawValue.utf8), Data(audience.utf8), Data(application.utf8), keyID, userHandle, challenge,
            clientNonce, counter.bigEndianBytes, issuedAt.bigEndianBytes, detailsHash,
        ] {
            bytes.append(contentsOf: unsafe withUnsafeBytes(of: UInt32(field.count).bigEndian) { unsafe Array($0) })
            bytes.append(field)
        }
        return bytes
    }

    /// Reads one message, which is all of `bytes`.
    ///
    /// - Throws: ``SignInFormatError``: what is wrong, for a log; a server tells a client nothing but that it refuses.
    public init(bytes: Data) throws(SignInFormatError) {
        guard bytes.count <= Self.maximumLength else { throw .tooLong }
        var reader = FieldReader(bytes)
        guard reader.take(Self.magic.count) == Data(Self.magic) else { throw .noMagic }
        guard let version = reader.take(1)?.first else { throw .truncated }
        guard version == Self.version else { throw .version(version) }
        guard let purpose = Purpose(rawValue: try reader.text(1...32)) else { throw .purpose }
        self.purpose = purpose
        audience = try reader.text(1...255)
        application = try reader.text(1...255)
        keyID = try reader.field(32...32)
        userHandle = try reader.field(16...16)
        challenge = try reader.field(32...32)
        clientNonce = try reader.field(32...32)
        counter = try reader.number()
        issuedAt = try reader.number()
        detailsHash = try reader.field(32...32)
        guard reader.isAtEnd else { throw .trailingBytes }
    }

    private static let magic = Array("LASIGN".utf8)
}

/// What a signature is for; one for the one is never taken for the other (NP-13).
public enum Purpose: String, Sendable, CaseIterable, Codable {
    case register
    case signIn = "sign-in"
    case confirmTransaction = "confirm-transaction"
    case rotate
    case revoke
}

/// Why bytes are no signed message.
public enum SignInFormatError: Error, Sendable, Equatable {
    case tooLong
    case noMagic
    case version(UInt8)
    case truncated
    case purpose
    case notUTF8
    /// A field is not as long as it has to be.
    case length
    case trailingBytes
}

private struct FieldReader {
    private var rest: Data

    init(_ bytes: Data) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take(_ count: Int) -> Data? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return Data(rest.prefix(count))
    }

    mutating func field(_ lengths: ClosedRange<Int>) throws(SignInFormatError) -> Data {
        guard let prefix = take(4) else { throw .truncated }
        let length = Int(prefix.bigEndianNumber)
        guard lengths.contains(length) else { throw .length }
        guard let field = take(length) else { throw .truncated }
        return field
    }

    mutating func text(_ lengths: ClosedRange<Int>) throws(SignInFormatError) -> String {
        guard let text = String(validating: try field(lengths), as: UTF8.self) else { throw .notUTF8 }
        return text
    }

    mutating func number() throws(SignInFormatError) -> UInt64 { try field(8...8).bigEndianNumber }
}

extension UInt64 {
    fileprivate var bigEndianBytes: Data { unsafe withUnsafeBytes(of: bigEndian) { unsafe Data($0) } }
}

extension Data {
    fileprivate var bigEndianNumber: UInt64 { reduce(0) { $0 << 8 | UInt64($1) } }
}
