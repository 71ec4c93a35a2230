internal import Foundation

/// Reads messages from JSON: one value of a text, as any `Decodable`.
///
/// Integers must fit, bytes are base64, and an error names the place and never the value, which may be a secret.
struct MessageDecoder {
    private let text: JSONText
    private let node: Int

    /// The whole of a text.
    init(_ text: JSONText) {
        self.init(text, 0)
    }

    init(_ text: JSONText, _ node: Int) {
        self.text = text
        self.node = node
    }

    /// - Throws: `DecodingError`, and what the type's own initialiser throws.
    static func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
        let text: JSONText
        do {
            text = try JSONText(data)
        } catch {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "no JSON"))
        }
        return try MessageDecoder(text).decode(type)
    }

    /// The place of a value in a text.
    private struct Place: CodingKey {
        var stringValue: String
        var intValue: Int?
        init(stringValue: String) { self.stringValue = stringValue }
        init(intValue: Int) {
            self.intValue = intValue
            stringValue = "Index \(intValue)"
        }
    }

    /// Found from the root when it is asked for: only errors do.
    fileprivate static func codingPath(of node: Int, in text: JSONText) -> [any CodingKey] {
        var path: [any CodingKey] = []
        var place = 0
        while place < node {
            let isObject = text[place].kind == .object
            let end = Int(text[place].next)
            var child = place + 1
            var index = 0
            while child < end {
                let value = isObject ? child + 1 : child
                if node < Int(text[value].next) {
                    path.append(isObject ? Place(stringValue: text.string(text[child])) : Place(intValue: index))
                    break
                }
                child = Int(text[value].next)
                index += 1
            }
            guard child < end else { return path }
            place = isObject ? child + 1 : child
        }
        return path
    }

    private func mismatch(_ type: Any.Type) -> DecodingError {
        .typeMismatch(type, .init(codingPath: codingPath, debugDescription: "not \(type)"))
    }

    private func number<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
        guard text[node].kind == .number else { throw mismatch(type) }
        guard let number = text.integer(text[node], as: type) else {
            throw DecodingError.dataCorrupted(.init(codingPath: codingPath, debugDescription: "does not fit \(type)"))
        }
        return number
    }
}

extension MessageDecoder: Decoder {
    var codingPath: [any CodingKey] { Self.codingPath(of: node, in: text) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard text[node].kind == .object else { throw mismatch([String: Any].self) }
        return KeyedDecodingContainer(Keyed(text: text, node: node))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard text[node].kind == .array else { throw mismatch([Any].self) }
        return Unkeyed(text: text, node: node)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }
}

extension MessageDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { text[node].kind == .null }

    func decode(_ type: Bool.Type) throws -> Bool {
        switch text[node].kind {
        case .true: true
        case .false: false
        default: throw mismatch(type)
        }
    }

    func decode(_ type: String.Type) throws -> String {
        switch text[node].kind {
        case .string, .escapedString: text.string(text[node])
        default: throw mismatch(type)
        }
    }

    func decode(_ type: Double.Type) throws -> Double {
        guard text[node].kind == .number else { throw mismatch(type) }
        guard let number = text.double(text[node]) else {
            throw DecodingError.dataCorrupted(.init(codingPath: codingPath, debugDescription: "too large"))
        }
        return number
    }

    func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }
    func decode(_ type: Int.Type) throws -> Int { try number(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try number(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try number(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try number(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try number(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try number(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try number(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try number(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try number(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try number(type) }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try DirectCoding.read(type, from: self) ?? T(from: self)
    }
}

// MARK: - Without containers

extension MessageDecoder {
    func data() throws -> Data {
        guard text[node].kind == .string || text[node].kind == .escapedString else { throw mismatch(Data.self) }
        guard let data = text.data(text[node]) else {
            throw DecodingError.dataCorrupted(.init(codingPath: codingPath, debugDescription: "not base64"))
        }
        return data
    }

    func checkIsObject() throws {
        guard text[node].kind == .object else { throw mismatch([String: Any].self) }
    }

    /// The value of a key of an object; nil where there is none, or null.
    subscript(key: String) -> MessageDecoder? {
        guard let value = text.value(key, in: node), text[value].kind != .null else { return nil }
        return MessageDecoder(text, value)
    }

    func contains(_ key: String) -> Bool { text.value(key, in: node) != nil }

    /// The value as a text of its own.
    var json: Data { text.text(of: node) }

    func member(_ key: String) throws -> MessageDecoder {
        guard let value = text.value(key, in: node) else {
            throw DecodingError.keyNotFound(
                Place(stringValue: key), .init(codingPath: codingPath, debugDescription: "missing"))
        }
        return MessageDecoder(text, value)
    }

    /// The keys and values of an object, in order.
    func forEachMember(_ body: (String, MessageDecoder) throws -> Void) throws {
        try checkIsObject()
        var key = node + 1
        while key < Int(text[node].next) {
            try body(text.string(text[key]), MessageDecoder(text, key + 1))
            key = Int(text[key + 1].next)
        }
    }

    func array<Element>(_ body: (MessageDecoder) throws -> Element) throws -> [Element] {
        guard text[node].kind == .array else { throw mismatch([Any].self) }
        var elements: [Element] = []
        var element = node + 1
        while element < Int(text[node].next) {
            elements.append(try body(MessageDecoder(text, element)))
            element = Int(text[element].next)
        }
        return elements
    }
}

// MARK: - Objects

private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let text: JSONText
    let node: Int

    var codingPath: [any CodingKey] { MessageDecoder.codingPath(of: node, in: text) }
    var allKeys: [Key] { text.keys(of: node).compactMap { Key(stringValue: $0) } }
    func contains(_ key: Key) -> Bool { text.value(key.stringValue, in: node) != nil }

    private func value(_ key: Key) throws -> MessageDecoder { try MessageDecoder(text, node).member(key.stringValue) }

    /// nil where there is none, or null.
    private func valueIfPresent(_ key: Key) -> MessageDecoder? { MessageDecoder(text, node)[key.stringValue] }

    func decodeNil(forKey key: Key) throws -> Bool { try value(key).decodeNil() }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try value(key).decode(type) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try value(key).decode(type) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try value(key).decode(type) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try value(key).decode(type) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try value(key).decode(type) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try value(key).decode(type) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try value(key).decode(type) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try value(key).decode(type) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try value(key).decode(type) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try value(key).decode(type) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try value(key).decode(type) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try value(key).decode(type) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try value(key).decode(type) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try value(key).decode(type) }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try value(key).decode(type) }

    // One look at the keys each, where the standard library's own take three.
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try valueIfPresent(key)?.decode(type) }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try valueIfPresent(key)?.decode(type)
    }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try valueIfPresent(key)?.decode(type)
    }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
        try valueIfPresent(key)?.decode(type)
    }
    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        try valueIfPresent(key)?.decode(type)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try value(key).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try value(key).unkeyedContainer()
    }
    func superDecoder() throws -> any Decoder { MessageDecoder(text, node) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try value(key) }
}

// MARK: - Arrays

private struct Unkeyed: UnkeyedDecodingContainer {
    let text: JSONText
    let node: Int
    private var element: Int
    private(set) var currentIndex = 0

    init(text: JSONText, node: Int) {
        self.text = text
        self.node = node
        element = node + 1
    }

    var codingPath: [any CodingKey] { MessageDecoder.codingPath(of: node, in: text) }
    var count: Int? { nil }
    var isAtEnd: Bool { element >= Int(text[node].next) }

    private mutating func next() throws -> MessageDecoder {
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(Any.self, .init(codingPath: codingPath, debugDescription: "no more"))
        }
        defer {
            element = Int(text[element].next)
            currentIndex += 1
        }
        return MessageDecoder(text, element)
    }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd, text[element].kind == .null else { return false }
        return try next().decodeNil()
    }
    mutating func decode(_ type: Bool.Type) throws -> Bool { try next().decode(type) }
    mutating func decode(_ type: String.Type) throws -> String { try next().decode(type) }
    mutating func decode(_ type: Double.Type) throws -> Double { try next().decode(type) }
    mutating func decode(_ type: Float.Type) throws -> Float { try next().decode(type) }
    mutating func decode(_ type: Int.Type) throws -> Int { try next().decode(type) }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try next().decode(type) }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try next().decode(type) }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try next().decode(type) }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try next().decode(type) }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try next().decode(type) }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try next().decode(type) }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try next().decode(type) }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try next().decode(type) }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try next().decode(type) }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next().decode(type) }
    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> { try next().container(keyedBy: type) }
    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try next().unkeyedContainer() }
    mutating func superDecoder() throws -> any Decoder { try next() }
}
