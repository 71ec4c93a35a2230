internal import Foundation

/// Writes messages as JSON: objects without white space, keys in the order of the type, bytes as base64, nothing for what is nil.
///
/// No byte of it is zero, so that a frame can end with one.
final class MessageEncoder: Encoder {
    private var output = JSONOutput(capacity: 0)
    /// What closes each object and array that is open.
    private var open: [UInt8] = []

    /// - Throws: `EncodingError` for a number that is not finite, and what the value itself throws.
    static func encode(_ value: some Encodable) throws -> Data {
        var output = JSONOutput()
        try encode(value, into: &output)
        return Data(output.bytes)
    }

    static func encode<T: Encodable>(_ value: T, into output: inout JSONOutput) throws {
        if try DirectCoding.write(value, to: &output) { return }
        let encoder = MessageEncoder()
        swap(&encoder.output, &output)
        defer { swap(&encoder.output, &output) }
        try encoder.writeThroughEncodable(value)
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
        output.bytes.append(UInt8(ascii: opening))
        open.append(UInt8(ascii: closing))
        return open.count
    }

    /// Closes whatever was opened in the container at `depth`, which is written to again.
    private func close(to depth: Int) {
        while open.count > depth, let closing = open.popLast() { output.bytes.append(closing) }
    }

    /// Takes up the container at `depth` for its next element.
    fileprivate func element(_ depth: Int) {
        close(to: depth)
        output.separate()
    }

    fileprivate func key(_ key: some CodingKey, _ depth: Int) {
        close(to: depth)
        output.key(key.stringValue)
    }

    // MARK: values

    fileprivate func write<T: Encodable>(_ value: T) throws {
        if try !DirectCoding.write(value, to: &output) { try writeThroughEncodable(value) }
    }

    private func writeThroughEncodable(_ value: some Encodable) throws {
        let (depth, count) = (open.count, output.bytes.count)
        try value.encode(to: self)
        close(to: depth)
        // A type without members.
        if output.bytes.count == count { output.write(word: "{}") }
    }

    fileprivate func write(_ value: String) { output.write(value) }
    fileprivate func write(_ value: Double) throws { try output.write(value) }
    fileprivate func write(_ value: Bool) { output.write(value) }
    fileprivate func write(integer: some FixedWidthInteger) { output.write(word: String(integer)) }
    fileprivate func writeNil() { output.write(word: "null") }
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
