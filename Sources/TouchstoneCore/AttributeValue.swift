package import Foundation

/// The value of one entry of a keychain dictionary, keeping the type it came with.
package enum AttributeValue: Hashable, Sendable {
    case string(String)
    case data(Data)
    case number(Int64)
    case real(Double)
    case boolean(Bool)
    /// Seconds since 2001-01-01 00:00:00 UTC.
    case date(Double)
    case accessControl(AccessControl)
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
