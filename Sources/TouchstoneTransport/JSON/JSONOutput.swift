internal import Foundation

/// The bytes of a JSON text that is being written.
struct JSONOutput {
    var bytes: [UInt8] = []

    init(capacity: Int = 512) {
        bytes.reserveCapacity(capacity)
    }

    /// Before an element of an object or an array: a comma, unless it is the first.
    mutating func separate() {
        if let last = bytes.last, last != UInt8(ascii: "{"), last != UInt8(ascii: "[") {
            bytes.append(UInt8(ascii: ","))
        }
    }

    mutating func key(_ key: String) {
        separate()
        write(key)
        bytes.append(UInt8(ascii: ":"))
    }

    /// An object or array, whose elements `body` writes.
    mutating func container(
        _ opening: Unicode.Scalar, _ closing: Unicode.Scalar, _ body: (inout JSONOutput) throws -> Void
    ) rethrows {
        bytes.append(UInt8(ascii: opening))
        try body(&self)
        bytes.append(UInt8(ascii: closing))
    }

    mutating func write(_ data: Data) {
        bytes.append(UInt8(ascii: "\""))
        Base64.encode(data, into: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func write(_ string: String) {
        bytes.append(UInt8(ascii: "\""))
        if string.utf8.contains(where: Self.needsEscape) {
            for byte in string.utf8 {
                if Self.needsEscape(byte) {
                    bytes.append(contentsOf: Self.escape(byte))
                } else {
                    bytes.append(byte)
                }
            }
        } else {
            bytes.append(contentsOf: string.utf8)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private static func escape(_ byte: UInt8) -> [UInt8] {
        guard byte < 0x20 else { return [UInt8(ascii: "\\"), byte] }
        let digits = Array("0123456789abcdef".utf8)
        return Array("\\u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    mutating func write(_ value: Bool) { write(word: value ? "true" : "false") }

    /// - Throws: `EncodingError` for what is no number.
    mutating func write(_ value: Double) throws {
        guard value.isFinite else {
            throw EncodingError.invalidValue(value, .init(codingPath: [], debugDescription: "not finite"))
        }
        write(word: value.description)
    }

    mutating func write(word: String) { bytes.append(contentsOf: word.utf8) }
}
