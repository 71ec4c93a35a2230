/// The name of an app, or of an access group: bytes, as paths are.
///
/// Two are the same if their UTF-8 is. `String` also takes another spelling of the same characters for equal ("é" is one scalar, or
/// two), and two files may be called by two spellings. In messages and files it is a string.
///
/// Not `RawRepresentable`: the library's `!=` for such types would compare the strings.
package struct AppIdentifier: Hashable, Sendable {
    package let rawValue: String

    package init(_ rawValue: String) { self.rawValue = rawValue }

    package var utf8: String.UTF8View { rawValue.utf8 }

    package static func == (one: AppIdentifier, other: AppIdentifier) -> Bool { one.utf8.elementsEqual(other.utf8) }

    package func hash(into hasher: inout Hasher) {
        for byte in utf8 { hasher.combine(byte) }
    }
}

/// The name of an access group.
///
/// The same type: every app has a group of its own name, and its owner limits either by its name.
package typealias AccessGroup = AppIdentifier

/// By their bytes.
extension AppIdentifier: Comparable {
    package static func < (one: AppIdentifier, other: AppIdentifier) -> Bool {
        one.utf8.lexicographicallyPrecedes(other.utf8)
    }
}

extension AppIdentifier: ExpressibleByStringInterpolation {
    package init(stringLiteral value: String) { self.init(value) }
}

extension AppIdentifier: CustomStringConvertible {
    package var description: String { rawValue }
}

extension AppIdentifier: MessageCodable {
    package init(from json: MessageDecoder) throws { self.init(try json.string()) }
    package func write(to json: inout JSONOutput) { json.write(rawValue) }
}

extension AppIdentifier: Codable {
    package init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}
