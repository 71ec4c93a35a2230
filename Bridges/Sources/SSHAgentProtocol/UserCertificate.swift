internal import Foundation

/// A certificate of a user's key on P-256, as a certificate authority made it (SA-5).
///
/// Servers verify it. Here it only has to belong to a key, and to be good now.
public struct UserCertificate: Hashable, Sendable {
    /// The algorithm's name.
    public static let algorithm = "ecdsa-sha2-nistp256-cert-v01@openssh.com"
    /// Most bytes of a certificate.
    public static let maximumCount = 64 << 10
    /// Most bytes of a file.
    public static let maximumFileCount = 2 * maximumCount
    private static let user: UInt32 = 1

    /// As it is listed, and as a login names it.
    public let blob: [UInt8]
    /// The blob of the key inside it.
    public let key: [UInt8]
    /// From this second on, since 1970.
    public let validAfter: UInt64
    /// Up to this second and without it, since 1970; the largest number: for ever.
    public let validBefore: UInt64

    /// - Parameter blob: nil: no certificate of a user's key on P-256, or malformed.
    public init?(blob: [UInt8]) {
        var reader = WireReader(blob)
        guard blob.count <= Self.maximumCount, reader.text() == Self.algorithm, reader.string() != nil,
            reader.text() == "nistp256", let key = reader.string().flatMap({ P256Key.blob(point: $0) }),
            reader.long() != nil, reader.number() == Self.user, reader.string() != nil, reader.string() != nil,
            let validAfter = reader.long(), let validBefore = reader.long(), reader.string() != nil,
            reader.string() != nil, reader.string() != nil, reader.string() != nil, reader.string() != nil,
            reader.isAtEnd
        else { return nil }
        self.blob = blob
        self.key = key
        self.validAfter = validAfter
        self.validBefore = validBefore
    }

    /// Reads a file as `ssh-keygen -s` writes it: the algorithm, the blob in base64, and perhaps a comment.
    public init?(file: [UInt8]) {
        guard file.count <= Self.maximumFileCount else { return nil }
        let words = file.split(whereSeparator: { $0 == 0x20 || (0x09...0x0D).contains($0) })
        guard words.count >= 2, words[0].elementsEqual(Self.algorithm.utf8),
            let blob = Data(base64Encoded: Data(words[1]))
        else { return nil }
        self.init(blob: Array(blob))
    }

    /// - Parameter seconds: Since 1970.
    /// - Returns: Whether it is good at this time.
    public func isValid(at seconds: UInt64) -> Bool { validAfter <= seconds && seconds < validBefore }
}
