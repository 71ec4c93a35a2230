internal import Foundation

/// Writes messages as JSON: objects without white space, keys in the order of the type, bytes as base64, nothing for what is nil.
///
/// No byte of it is zero, so that a frame can end with one.
final class MessageEncoder: Encoder {
    private var bytes: [UInt8] = []
    /// What closes each object and array that is open.
    private var open: [UInt8] = []

    /// - Throws: `EncodingError` for a number that is none, and what the value itself throws.
    static func encode(_ value: some Encodable) throws -> Data {
        let encoder = MessageEncoder()
        encoder.bytes.reserveCapacity(512)
        try encoder.write(value)
        return Data(encoder.bytes)
    }

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(Keyed(encoder: self, depth: begin("{", "}")))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer { Unkeyed(encoder: self, depth: begin("[", "]")) }

    func singleValueContainer() -> any SingleValueEncodingContainer { Single(encoder: self) }

    // MARK: structure

    /// Opens an object or an array.
    ///
    /// - Returns: How many are open with it.
    fileprivate func begin(_ opening: Unicode.Scalar, _ closing: Unicode.Scalar) -> Int {
        bytes.append(UInt8(ascii: opening))
        open.append(UInt8(ascii: closing))
        return open.count
    }

    /// Closes whatever was opened in the container at `depth`, which is written to again.
    fileprivate func close(to depth: Int) {
        while open.count > depth, let closing = open.popLast() { bytes.append(closing) }
    }

    /// Takes up the container at `depth` for its next element.
    fileprivate func element(_ depth: Int) {
        close(to: depth)
        if bytes.last != UInt8(ascii: "{"), bytes.last != UInt8(ascii: "[") { bytes.append(UInt8(ascii: ",")) }
    }

    fileprivate func key(_ key: some CodingKey, _ depth: Int) {
        element(depth)
        write(key.stringValue)
        bytes.append(UInt8(ascii: ":"))
    }

    // MARK: values

    fileprivate func write<T: Encodable>(_ value: T) throws {
        if T.self == Data.self, let data = value as? Data { return write(data) }
        let (depth, count) = (open.count, bytes.count)
        try value.encode(to: self)
        close(to: depth)
        // A type without members.
        if bytes.count == count { bytes.append(contentsOf: "{}".utf8) }
    }

    fileprivate func write(_ data: Data) {
        bytes.append(UInt8(ascii: "\""))
        Base64.encode(data, into: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    fileprivate func write(_ string: String) {
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
        let digits = Array("0123456789abcdef".utf8)
        return byte < 0x20
            ? Array("\\u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]] : [UInt8(ascii: "\\"), byte]
    }

    fileprivate func write(_ value: Bool) { write(word: value ? "true" : "false") }
    fileprivate func write(integer: some FixedWidthInteger) { write(word: String(integer)) }
    fileprivate func writeNil() { write(word: "null") }

    fileprivate func write(_ value: Double) throws {
        guard value.isFinite else {
            throw EncodingError.invalidValue(value, .init(codingPath: [], debugDescription: "not finite"))
        }
        write(word: value.description)
    }

    private func write(word: String) { bytes.append(contentsOf: word.utf8) }
}

private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: MessageEncoder
    let depth: Int
    var codingPath: [any CodingKey] { [] }

    private func at(_ key: Key) -> MessageEncoder {
        encoder.key(key, depth)
        return encoder
    }

    func encodeNil(forKey key: Key) { at(key).writeNil() }
    func encode(_ value: Bool, forKey key: Key) { at(key).write(value) }
    func encode(_ value: String, forKey key: Key) { at(key).write(value) }
    func encode(_ value: Double, forKey key: Key) throws { try at(key).write(value) }
    func encode(_ value: Float, forKey key: Key) throws { try at(key).write(Double(value)) }
    func encode(_ value: Int, forKey key: Key) { at(key).write(integer: value) }
    func encode(_ value: Int8, forKey key: Key) { at(key).write(integer: value) }
    func encode(_ value: Int16, forKey key: Key) { at(key).write(integer: value) }
    func encode(_ value: Int32, forKey key: Key) { at(key).write(integer: value) }
    func encode(_ value: Int64, forKey key: Key) { at(key).write(integer: value) }
    func encode(_ value: UInt, forKey key: Key) { at(key).write(integer: value) }
    func encode(_ value: UInt8, forKey key: Key) { at(key).write(integer: value) }
    func encode(_ value: UInt16, forKey key: Key) { at(key).write(integer: value) }
    func encode(_ value: UInt32, forKey key: Key) { at(key).write(integer: value) }
    func encode(_ value: UInt64, forKey key: Key) { at(key).write(integer: value) }
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try at(key).write(value) }
    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> { at(key).container(keyedBy: type) }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { at(key).unkeyedContainer() }
    func superEncoder() -> any Encoder { encoder }
    func superEncoder(forKey key: Key) -> any Encoder { at(key) }
}

private struct Unkeyed: UnkeyedEncodingContainer {
    let encoder: MessageEncoder
    let depth: Int
    private(set) var count = 0
    var codingPath: [any CodingKey] { [] }

    init(encoder: MessageEncoder, depth: Int) {
        self.encoder = encoder
        self.depth = depth
    }

    private mutating func next() -> MessageEncoder {
        encoder.element(depth)
        count += 1
        return encoder
    }

    mutating func encodeNil() { next().writeNil() }
    mutating func encode(_ value: Bool) { next().write(value) }
    mutating func encode(_ value: String) { next().write(value) }
    mutating func encode(_ value: Double) throws { try next().write(value) }
    mutating func encode(_ value: Float) throws { try next().write(Double(value)) }
    mutating func encode(_ value: Int) { next().write(integer: value) }
    mutating func encode(_ value: Int8) { next().write(integer: value) }
    mutating func encode(_ value: Int16) { next().write(integer: value) }
    mutating func encode(_ value: Int32) { next().write(integer: value) }
    mutating func encode(_ value: Int64) { next().write(integer: value) }
    mutating func encode(_ value: UInt) { next().write(integer: value) }
    mutating func encode(_ value: UInt8) { next().write(integer: value) }
    mutating func encode(_ value: UInt16) { next().write(integer: value) }
    mutating func encode(_ value: UInt32) { next().write(integer: value) }
    mutating func encode(_ value: UInt64) { next().write(integer: value) }
    mutating func encode<T: Encodable>(_ value: T) throws { try next().write(value) }
    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> { next().container(keyedBy: type) }
    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }
    mutating func superEncoder() -> any Encoder { next() }
}

private struct Single: SingleValueEncodingContainer {
    let encoder: MessageEncoder
    var codingPath: [any CodingKey] { [] }

    func encodeNil() { encoder.writeNil() }
    func encode(_ value: Bool) { encoder.write(value) }
    func encode(_ value: String) { encoder.write(value) }
    func encode(_ value: Double) throws { try encoder.write(value) }
    func encode(_ value: Float) throws { try encoder.write(Double(value)) }
    func encode(_ value: Int) { encoder.write(integer: value) }
    func encode(_ value: Int8) { encoder.write(integer: value) }
    func encode(_ value: Int16) { encoder.write(integer: value) }
    func encode(_ value: Int32) { encoder.write(integer: value) }
    func encode(_ value: Int64) { encoder.write(integer: value) }
    func encode(_ value: UInt) { encoder.write(integer: value) }
    func encode(_ value: UInt8) { encoder.write(integer: value) }
    func encode(_ value: UInt16) { encoder.write(integer: value) }
    func encode(_ value: UInt32) { encoder.write(integer: value) }
    func encode(_ value: UInt64) { encoder.write(integer: value) }
    func encode<T: Encodable>(_ value: T) throws { try encoder.write(value) }
}
