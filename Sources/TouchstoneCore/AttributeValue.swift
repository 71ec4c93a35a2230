package import Foundation

/// The value of one entry of a keychain dictionary, keeping the type it came with.
///
/// Two texts are the same if their UTF-8 is, as in the keychain.
package enum AttributeValue: Sendable {
    case string(String)
    case data(Data)
    case number(Int64)
    case real(Double)
    case boolean(Bool)
    /// Seconds since 2001-01-01 00:00:00 UTC.
    case date(Double)
    case accessControl(AccessControl)
}

extension AttributeValue: Hashable {
    package static func == (one: AttributeValue, other: AttributeValue) -> Bool {
        switch (one, other) {
        case (.string(let one), .string(let other)): one.utf8.elementsEqual(other.utf8)
        case (.data(let one), .data(let other)): one == other
        case (.number(let one), .number(let other)): one == other
        case (.real(let one), .real(let other)), (.date(let one), .date(let other)): one == other
        case (.boolean(let one), .boolean(let other)): one == other
        case (.accessControl(let one), .accessControl(let other)): one == other
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .string(let string): for byte in string.utf8 { hasher.combine(byte) }
        case .data(let data): hasher.combine(data)
        case .number(let number): hasher.combine(number)
        case .real(let number), .date(let number): hasher.combine(number)
        case .boolean(let boolean): hasher.combine(boolean)
        case .accessControl(let control): hasher.combine(control)
        }
    }
}

/// Names the type and never the value: an attribute may be a secret.
extension AttributeValue: CustomStringConvertible {
    package var description: String {
        switch self {
        case .string: "string"
        case .data: "data"
        case .number: "number"
        case .real: "real"
        case .boolean: "boolean"
        case .date: "date"
        case .accessControl: "access control"
        }
    }
}
