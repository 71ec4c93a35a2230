public import Foundation

extension Data {
    /// Base64url without padding (RFC 4648, section 5).
    public var base64URL: String {
        base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Reads ``base64URL``; nil for anything else, padding and line breaks among it.
    public init?(base64URL text: String) {
        guard text.utf8.allSatisfy({ $0.isBase64URL }) else { return nil }
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        let standard = text.replacing("-", with: "+").replacing("_", with: "/") + padding
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
