package import Foundation

/// What stands in a message: read from JSON and written to it, each field by its name.
///
/// For every message `script/interfaces` writes both.
package protocol MessageCodable: Sendable {
    /// - Throws: `DecodingError`, which names the place and never the value, and what the type itself refuses.
    init(from json: MessageDecoder) throws

    /// - Throws: `EncodingError` for a number that is not finite.
    func write(to json: inout JSONOutput) throws
}

/// A message without fields: written as an empty object, and nothing that stands in its place is looked at.
package protocol EmptyMessage: MessageCodable {
    init()
}

extension EmptyMessage {
    package init(from json: MessageDecoder) { self.init() }

    package func write(to json: inout JSONOutput) {
        json.beginObject()
        json.endObject()
    }
}

/// An enumeration that is written by hand: one case for each word of the interface files.
///
/// A test holds the two against each other.
package protocol MessageEnumeration: MessageCodable, CaseIterable, RawRepresentable<String> {
    static var words: [String] { get }
}

extension MessageCodable where Self: RawRepresentable, RawValue: MessageCodable {
    package init(from json: MessageDecoder) throws {
        guard let value = Self(rawValue: try RawValue(from: json)) else { throw json.corrupted("not \(Self.self)") }
        self = value
    }

    package func write(to json: inout JSONOutput) throws { try rawValue.write(to: &json) }
}

extension MessageCodable where Self: FixedWidthInteger {
    package init(from json: MessageDecoder) throws { self = try json.integer() }
    package func write(to json: inout JSONOutput) { json.write(word: String(self)) }
}

extension Int: MessageCodable {}
extension Int32: MessageCodable {}
extension Int64: MessageCodable {}
extension UInt32: MessageCodable {}
extension UInt64: MessageCodable {}

extension Bool: MessageCodable {
    package init(from json: MessageDecoder) throws { self = try json.boolean() }
    package func write(to json: inout JSONOutput) { json.write(word: self ? "true" : "false") }
}

extension Double: MessageCodable {
    package init(from json: MessageDecoder) throws { self = try json.double() }

    package func write(to json: inout JSONOutput) throws {
        guard isFinite else {
            throw EncodingError.invalidValue(self, .init(codingPath: [], debugDescription: "not finite"))
        }
        json.write(word: description)
    }
}

extension String: MessageCodable {
    package init(from json: MessageDecoder) throws { self = try json.string() }
    package func write(to json: inout JSONOutput) { json.write(self) }
}

extension Data: MessageCodable {
    package init(from json: MessageDecoder) throws { self = try json.data() }
    package func write(to json: inout JSONOutput) { json.write(self) }
}

extension Array: MessageCodable where Element: MessageCodable {
    package init(from json: MessageDecoder) throws { self = try json.array { try Element(from: $0) } }

    package func write(to json: inout JSONOutput) throws {
        json.beginArray()
        for element in self {
            json.separate()
            try element.write(to: &json)
        }
        json.endArray()
    }
}

/// What the members of a dictionary are called.
package protocol MessageKey: Hashable, Sendable {
    init(memberName: String)
    var memberName: String { get }
}

extension String: MessageKey {
    package init(memberName: String) { self = memberName }
    package var memberName: String { self }
}

extension Dictionary: MessageCodable where Key: MessageKey, Value: MessageCodable {
    package init(from json: MessageDecoder) throws {
        self.init()
        try json.forEachMember { self[Key(memberName: $0)] = try Value(from: $1) }
    }

    package func write(to json: inout JSONOutput) throws {
        json.beginObject()
        if json.ordersKeys {
            let members = map { ($0.key.memberName, $0.value) }.sorted { $0.0 < $1.0 }
            for (name, value) in members { try json.write(value, for: name) }
        } else {
            for (key, value) in self { try json.write(value, for: key.memberName) }
        }
        json.endObject()
    }
}
