package import Foundation

/// Writes messages as JSON: objects without white space, keys in the order of the type, bytes as base64, nothing for what is nil.
///
/// No byte of it is zero, so that a frame can end with one.
package struct JSONOutput {
    package var bytes: [UInt8] = []
    /// Whether dictionaries are written in the order of their keys: the same one is then always the same text.
    let ordersKeys: Bool

    package init(capacity: Int = 512, ordersKeys: Bool = false) {
        bytes.reserveCapacity(capacity)
        self.ordersKeys = ordersKeys
    }

    /// - Throws: `EncodingError` for a number that is not finite.
    package static func encode(_ value: some MessageCodable) throws -> Data {
        var output = JSONOutput()
        try value.write(to: &output)
        return Data(output.bytes)
    }

    // MARK: objects and arrays

    package mutating func beginObject() { bytes.append(UInt8(ascii: "{")) }
    package mutating func endObject() { bytes.append(UInt8(ascii: "}")) }
    package mutating func beginArray() { bytes.append(UInt8(ascii: "[")) }
    package mutating func endArray() { bytes.append(UInt8(ascii: "]")) }

    /// Before an element of an object or an array: a comma, unless it is the first.
    package mutating func separate() {
        if let last = bytes.last, last != UInt8(ascii: "{"), last != UInt8(ascii: "[") {
            bytes.append(UInt8(ascii: ","))
        }
    }

    package mutating func key(_ key: String) {
        separate()
        write(key)
        bytes.append(UInt8(ascii: ":"))
    }

    /// A field of an object; nothing for nil.
    package mutating func write<T: MessageCodable>(_ value: T?, for key: String) throws {
        guard let value else { return }
        self.key(key)
        try value.write(to: &self)
    }

    // MARK: values

    mutating func write(_ data: Data) {
        bytes.append(UInt8(ascii: "\""))
        Base64.encode(data, into: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    package mutating func write(_ string: String) {
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

    /// A number, or one of the three words.
    package mutating func write(word: String) { bytes.append(contentsOf: word.utf8) }
}
