internal import Foundation

/// The name of a secret where the secret itself is not to stand: `touchstone://SERVICE/ACCOUNT[/FIELD]`, percent-encoded (EX-1).
public struct SecretReference: Hashable, Sendable {
    /// What every reference begins with.
    public static let prefix = "touchstone://"
    /// Most bytes of a reference: of one whose parts are as long as they may be, with every byte of them encoded.
    public static let maximumCount = prefix.utf8.count + 3 * 3 * maximumPartCount + 2
    /// Most bytes of each of its parts, decoded.
    public static let maximumPartCount = 256

    /// What the secret is for.
    public let service: String
    /// Whose it is there.
    public let account: String
    /// Absent: the whole secret.
    ///
    /// Else a key of the JSON object that the secret is.
    public let field: String?

    /// A reference by its parts.
    ///
    /// - Returns: Nil where a part is empty, longer than ``maximumPartCount``, or has a control character.
    public init?(service: String, account: String, field: String? = nil) {
        for part in [service, account] + (field.map { [$0] } ?? []) {
            guard (1...Self.maximumPartCount).contains(part.utf8.count),
                !part.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
            else { return nil }
        }
        self.service = service
        self.account = account
        self.field = field
    }

    /// Reads one.
    ///
    /// - Parameter text: All of it has to be the reference.
    public init?(_ text: String) {
        guard text.utf8.count <= Self.maximumCount, text.hasPrefix(Self.prefix) else { return nil }
        let parts = text.utf8.dropFirst(Self.prefix.utf8.count)
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 2 || parts.count == 3 else { return nil }
        var decoded: [String] = []
        for part in parts {
            guard let text = Self.decoded(part) else { return nil }
            decoded.append(text)
        }
        self.init(service: decoded[0], account: decoded[1], field: parts.count == 3 ? decoded[2] : nil)
    }

    private static let refused = Set("\"#<>?\\^`{|}".utf8)

    private static func decoded(_ part: Substring.UTF8View) -> String? {
        var bytes: [UInt8] = []
        var rest = part
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                guard byte > 0x20, byte != 0x7F, !refused.contains(byte) else { return nil }
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap({ Character(Unicode.Scalar($0)).hexDigitValue }),
                let low = rest.popFirst().flatMap({ Character(Unicode.Scalar($0)).hexDigitValue })
            else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// The part of a secret that the reference names.
    ///
    /// - Parameter secret: All of it.
    /// - Returns: Nil where the secret has no such field: it is not a JSON object, goes deeper than eight levels, or the field is neither
    ///   text, number nor truth value.
    public func part(of secret: [UInt8]) -> [UInt8]? {
        guard let field else { return secret }
        switch JSONText.object(secret)?[field] {
        case let text as String: return Array(text.utf8)
        case let number as NSNumber:
            // A truth value is a number to Foundation, of this type.
            let isTruth = unsafe String(cString: number.objCType) == "c" && (number == 0 || number == 1)
            return Array((isTruth ? (number.boolValue ? "true" : "false") : number.stringValue).utf8)
        default: return nil
        }
    }
}

extension SecretReference: CustomStringConvertible {
    /// As it is read.
    public var description: String {
        func encoded(_ part: String) -> String {
            part.utf8.map { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                    return String(Unicode.Scalar(byte))
                default: return "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
                }
            }.joined()
        }
        return Self.prefix + ([service, account] + (field.map { [$0] } ?? [])).map(encoded).joined(separator: "/")
    }
}
