package import Crypto
package import Foundation

/// Names a member: SHA-256 of its public keys, 32 bytes (SY-10).
package struct MemberID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package static let length = 32
    package let bytes: Data

    package init(bytes: Data) { self.bytes = bytes }

    /// The member of 64 hexadecimal digits; nil for any other text.
    package init?(hexadecimal text: some StringProtocol) {
        let digits = Array(text.utf8)
        guard digits.count == 2 * Self.length else { return nil }
        var bytes = Data()
        for index in stride(from: 0, to: digits.count, by: 2) {
            let pair = String(decoding: digits[index..<(index + 2)], as: UTF8.self)
            // A sign would be a digit to the standard library.
            guard pair.allSatisfy(\.isHexDigit), let byte = UInt8(pair, radix: 16) else { return nil }
            bytes.append(byte)
        }
        self.bytes = bytes
    }

    /// In 64 hexadecimal digits.
    package var description: String { bytes.map { String(format: "%02x", $0) }.joined() }

    package static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}

/// The public halves of a member's keys: P-256 for signatures and X25519 for HPKE (SY-10).
package struct MemberIdentity: Hashable, Sendable {
    static let signingKeyBytes = 64
    static let sealingKeyBytes = 32
    package static let signatureBytes = 64

    /// X ‖ Y, 64 bytes, big-endian.
    package let signingKey: Data
    /// 32 bytes.
    package let sealingKey: Data
    package let id: MemberID

    package init(signing: P256.Signing.PublicKey, sealing: Curve25519.KeyAgreement.PublicKey) {
        self.init(signingKey: signing.rawRepresentation, sealingKey: sealing.rawRepresentation)
    }

    private init(signingKey: Data, sealingKey: Data) {
        self.signingKey = signingKey
        self.sealingKey = sealingKey
        id = MemberID(bytes: Purpose.member.hash(signingKey + sealingKey))
    }

    /// - Throws: ``MalformedBytes`` also for a key that is no point of its curve.
    init(from reader: inout ByteReader) throws(MalformedBytes) {
        self.init(
            signingKey: try reader.bytes(Self.signingKeyBytes), sealingKey: try reader.bytes(Self.sealingKeyBytes))
        guard (try? P256.Signing.PublicKey(rawRepresentation: signingKey)) != nil,
            (try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: sealingKey)) != nil
        else { throw .init() }
    }

    func write(to writer: inout ByteWriter) {
        writer.add(signingKey)
        writer.add(sealingKey)
    }

    /// Whether this member signed `bytes` for this purpose; the signature is r ‖ s, 64 bytes, big-endian.
    func isSigned(_ bytes: Data, by signature: Data, for purpose: Purpose) -> Bool {
        guard let key = try? P256.Signing.PublicKey(rawRepresentation: signingKey),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
        else { return false }
        return key.isValidSignature(signature, for: purpose.text + bytes)
    }
}

/// What is hashed, signed or derived for one purpose is of no use for another (DEC-460).
package enum Purpose: String {
    case member, link, application, commitment, challenge, digits, change, record, head, name, sum
    case epochKey = "epoch key"
    case epochCommitment = "epoch commitment"
    case earlierEpoch = "earlier epoch"
    case recoveryKey = "recovery key"

    package var text: Data { Data("io.touchstone circle \(rawValue) 1\0".utf8) }

    func hash(_ bytes: Data) -> Data { Data(SHA256.hash(data: text + bytes)) }
}

/// What people call a device, as its owner typed it.
package enum MemberName {
    static let maximumBytes = 64

    /// 1 to 64 bytes of UTF-8 that show what they are: nothing that moves, hides or breaks a line of a prompt.
    package static func isValid(_ name: String) -> Bool {
        (1...maximumBytes).contains(name.utf8.count)
            && name.unicodeScalars.allSatisfy { scalar in
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: false
                default: true
                }
            }
    }
}
