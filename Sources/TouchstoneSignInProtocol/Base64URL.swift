public import Foundation

extension Data {
    /// Base64url without padding (RFC 4648, section 5).
    public var base64URL: String {
        // Byte for byte, because a server does this ten times a sign-in: replacing in a text costs as much as a signature.
        let bytes = base64EncodedData().lazy.filter { $0 != UInt8(ascii: "=") }
        return String(
            decoding: bytes.map { byte in
                switch byte {
                case UInt8(ascii: "+"): UInt8(ascii: "-")
                case UInt8(ascii: "/"): UInt8(ascii: "_")
                default: byte
                }
            }, as: UTF8.self)
    }

    /// Reads ``base64URL``; nil for anything else, padding and line breaks among it.
    public init?(base64URL text: String) {
        guard text.utf8.allSatisfy({ $0.isBase64URL }) else { return nil }
        var standard = Data(
            text.utf8.map { byte in
                switch byte {
                case UInt8(ascii: "-"): UInt8(ascii: "+")
                case UInt8(ascii: "_"): UInt8(ascii: "/")
                default: byte
                }
            })
        while standard.count % 4 != 0 { standard.append(UInt8(ascii: "=")) }
        guard let data = Data(base64Encoded: standard), data.base64URL == text else { return nil }
        self = data
    }
}

extension UInt8 {
    fileprivate var isBase64URL: Bool {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
