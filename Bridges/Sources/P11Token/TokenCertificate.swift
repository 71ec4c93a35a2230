internal import SwiftASN1

/// A certificate as clients look at it: its bytes, and parts of them.
///
/// Nothing in it is verified.
public struct TokenCertificate: Hashable, Sendable {
    /// All of it, DER.
    public let der: [UInt8]
    /// DER.
    public let subject: [UInt8]
    /// DER.
    public let issuer: [UInt8]
    /// DER.
    public let serialNumber: [UInt8]
    /// The point of the key of P-256 that it is for, 65 bytes; nil of another kind of key.
    public let point: [UInt8]?

    /// The most bytes of one that is kept.
    public static let longest = 32 << 10

    /// Reads a certificate; nil for anything else, and for one that is too long.
    ///
    /// - Parameter der: From anywhere.
    public init?(der: [UInt8]) {
        guard der.count <= Self.longest, let root = try? DER.parse(der), let signed = Self.parts(root),
            signed.count == 3,
            var fields = Self.parts(signed[0])
        else { return nil }
        // A version stands before all else; without one it is 1.
        if fields.first?.identifier.tagClass == .contextSpecific { fields.removeFirst() }
        // Serial number, signature, issuer, validity, subject, key.
        guard fields.count >= 6, fields[0].identifier == .integer, Self.parts(fields[2]) != nil,
            Self.parts(fields[4]) != nil, let key = Self.parts(fields[5]), key.count == 2
        else { return nil }
        self.der = der
        serialNumber = Array(fields[0].encodedBytes)
        issuer = Array(fields[2].encodedBytes)
        subject = Array(fields[4].encodedBytes)
        let info = Array(fields[5].encodedBytes)
        point =
            info.starts(with: TokenKey.publicKeyInfoStart)
            ? Array(info.dropFirst(TokenKey.publicKeyInfoStart.count)) : nil
    }

    private static func parts(_ node: ASN1Node) -> [ASN1Node]? {
        guard node.identifier == .sequence, case .constructed(let nodes) = node.content else { return nil }
        return Array(nodes)
    }
}
