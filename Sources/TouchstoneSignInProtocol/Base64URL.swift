public import Foundation

extension Data {
    /// Base64url without padding (RFC 4648, section 5).
    public var base64URL: String {
        // Bit by bit, because a server does this ten times a sign-in: by Foundation's base64 it costs as much as a signature.
        unsafe String(unsafeUninitializedCapacity: (count * 8 + 5) / 6) { text in
            var length = 0
            var (bits, held): (UInt32, UInt32) = (0, 0)
            func put(_ value: UInt32) {
                unsafe text[length] = Self.base64URLSigns[Int(value & 63)]
                length += 1
            }
            for byte in self {
                bits = bits << 8 | UInt32(byte)
                held += 8
                while held >= 6 {
                    held -= 6
                    put(bits >> held)
                }
            }
            if held > 0 { put(bits << (6 - held)) }
            return length
        }
    }

    /// Reads ``base64URL``; nil for anything else, padding and line breaks among it.
    public init?(base64URL text: String) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count * 3 / 4)
        var (bits, held): (UInt32, UInt32) = (0, 0)
        for sign in text.utf8 {
            guard let value = sign.base64URLValue else { return nil }
            bits = bits << 6 | value
            held += 6
            if held >= 8 {
                held -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> held))
            }
        }
        // One sign too many, or bits that belong to no byte, are refused, because two texts would mean the same bytes.
        guard held < 6, bits & (1 << held - 1) == 0 else { return nil }
        self = Data(bytes)
    }

    private static let base64URLSigns = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
}

extension UInt8 {
    fileprivate var base64URLValue: UInt32? {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(self - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(self - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(self - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
