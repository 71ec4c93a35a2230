package import SwiftASN1

extension ASN1Node {
    /// The text of a string of any of ASN.1's types; nil for another type, and for bytes that are not text.
    ///
    /// Teletex is read as Latin-1, as everybody does. A text with a NUL inside is refused: `"bank.example\0.evil"` must not be shown
    /// as its beginning.
    package var text: String? {
        guard case .primitive(let bytes) = content else { return nil }
        let text: String?
        switch identifier {
        case .utf8String: text = String(validating: Self.withoutTrailingZeros(bytes), as: UTF8.self)
        case .printableString, .numericString, .ia5String, .generalString, .graphicString:
            text = Self.ascii(Self.withoutTrailingZeros(bytes))
        case .teletexString, .videotexString, .visibleString:
            text = String(String.UnicodeScalarView(Self.withoutTrailingZeros(bytes).map { Unicode.Scalar($0) }))
        case .bmpString:
            text = Self.units(bytes, size: 2).flatMap { String(validating: $0.map(UInt16.init), as: UTF16.self) }
        case .universalString: text = Self.units(bytes, size: 4).flatMap { String(validating: $0, as: UTF32.self) }
        default: text = nil
        }
        guard let text, !text.unicodeScalars.contains("\0") else { return nil }
        return text
    }

    static func ascii(_ bytes: ArraySlice<UInt8>) -> String? {
        bytes.allSatisfy { $0 < 0x80 } ? String(validating: bytes, as: UTF8.self) : nil
    }

    private static func withoutTrailingZeros(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        bytes.lastIndex { $0 != 0 }.map { bytes[...$0] } ?? []
    }

    /// Big-endian numbers; nil if the last one is cut off.
    private static func units(_ bytes: ArraySlice<UInt8>, size: Int) -> [UInt32]? {
        guard bytes.count.isMultiple(of: size) else { return nil }
        return stride(from: bytes.startIndex, to: bytes.endIndex, by: size).map { start in
            bytes[start..<(start + size)].reduce(0) { $0 << 8 | UInt32($1) }
        }
    }
}
