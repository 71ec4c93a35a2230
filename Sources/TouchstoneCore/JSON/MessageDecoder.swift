package import Foundation

/// Reads messages from JSON: one value of a text, as any `MessageCodable`.
///
/// Integers must fit, bytes are base64, and an error names the place and never the value, which may be a secret.
package struct MessageDecoder {
    private let text: JSONText
    private let node: Int

    /// The whole of a text.
    package init(_ text: JSONText) {
        self.init(text, 0)
    }

    private init(_ text: JSONText, _ node: Int) {
        self.text = text
        self.node = node
    }

    /// - Throws: `DecodingError`, and what the type's own initialiser throws.
    package static func decode<T: MessageCodable>(_ type: T.Type, from data: Data) throws -> T {
        let text: JSONText
        do {
            text = try JSONText(data)
        } catch {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "no JSON"))
        }
        return try T(from: MessageDecoder(text))
    }

    package func decode<T: MessageCodable>(_ type: T.Type) throws -> T { try T(from: self) }

    /// The value as a text of its own.
    package var json: Data { text.text(of: node) }
}

// MARK: - Values

extension MessageDecoder {
    package var isNull: Bool { text[node].kind == .null }

    func boolean() throws -> Bool {
        switch text[node].kind {
        case .true: true
        case .false: false
        default: throw mismatch(Bool.self)
        }
    }

    func string() throws -> String {
        switch text[node].kind {
        case .string, .escapedString: text.string(text[node])
        default: throw mismatch(String.self)
        }
    }

    func double() throws -> Double {
        guard text[node].kind == .number else { throw mismatch(Double.self) }
        guard let number = text.double(text[node]) else { throw corrupted("too large") }
        return number
    }

    func integer<T: FixedWidthInteger>() throws -> T {
        guard text[node].kind == .number else { throw mismatch(T.self) }
        guard let number = text.integer(text[node], as: T.self) else { throw corrupted("does not fit \(T.self)") }
        return number
    }

    func data() throws -> Data {
        guard text[node].kind == .string || text[node].kind == .escapedString else { throw mismatch(Data.self) }
        guard let data = text.data(text[node]) else { throw corrupted("not base64") }
        return data
    }
}

// MARK: - Objects and arrays

extension MessageDecoder {
    package func checkIsObject() throws {
        guard text[node].kind == .object else { throw mismatch([String: Any].self) }
    }

    /// The value of a key of an object; nil where there is none, or null.
    package subscript(key: String) -> MessageDecoder? {
        guard let value = text.value(key, in: node), text[value].kind != .null else { return nil }
        return MessageDecoder(text, value)
    }

    package func contains(_ key: String) -> Bool { text.value(key, in: node) != nil }

    package func member(_ key: String) throws -> MessageDecoder {
        guard let value = text.value(key, in: node) else {
            throw DecodingError.keyNotFound(
                Place(stringValue: key), .init(codingPath: codingPath, debugDescription: "missing"))
        }
        return MessageDecoder(text, value)
    }

    /// A field of an object.
    package func value<T: MessageCodable>(_ key: String) throws -> T { try T(from: member(key)) }

    /// A field that may be absent, or null.
    package func valueIfPresent<T: MessageCodable>(_ key: String) throws -> T? { try self[key].map { try T(from: $0) } }

    /// The keys and values of an object, in order.
    package func forEachMember(_ body: (String, MessageDecoder) throws -> Void) throws {
        try checkIsObject()
        var key = node + 1
        while key < Int(text[node].next) {
            try body(text.string(text[key]), MessageDecoder(text, key + 1))
            key = Int(text[key + 1].next)
        }
    }

    package func array<Element>(_ body: (MessageDecoder) throws -> Element) throws -> [Element] {
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

// MARK: - Errors

extension MessageDecoder {
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
    private var codingPath: [any CodingKey] {
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

    /// The value has the right type, and is nothing that the message may have there.
    package func corrupted(_ reason: String) -> DecodingError {
        .dataCorrupted(.init(codingPath: codingPath, debugDescription: reason))
    }
}
