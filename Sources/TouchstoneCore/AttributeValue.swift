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

extension AttributeValue: Codable {
    private enum CodingKeys: String, CodingKey { case string, data, number, real, boolean, date, accessControl }

    package init(from decoder: any Decoder) throws {
        let value = try decoder.container(keyedBy: CodingKeys.self)
        if let string = try value.decodeIfPresent(String.self, forKey: .string) {
            self = .string(string)
        } else if let data = try value.decodeIfPresent(Data.self, forKey: .data) {
            self = .data(data)
        } else if let number = try value.decodeIfPresent(Int64.self, forKey: .number) {
            self = .number(number)
        } else if let boolean = try value.decodeIfPresent(Bool.self, forKey: .boolean) {
            self = .boolean(boolean)
        } else if let date = try value.decodeIfPresent(Double.self, forKey: .date) {
            self = .date(date)
        } else if let real = try value.decodeIfPresent(Double.self, forKey: .real) {
            self = .real(real)
        } else if let control = try value.decodeIfPresent(AccessControl.self, forKey: .accessControl) {
            self = .accessControl(control)
        } else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "empty value"))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var value = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .string(let string): try value.encode(string, forKey: .string)
        case .data(let data): try value.encode(data, forKey: .data)
        case .number(let number): try value.encode(number, forKey: .number)
        case .real(let real): try value.encode(real, forKey: .real)
        case .boolean(let boolean): try value.encode(boolean, forKey: .boolean)
        case .date(let date): try value.encode(date, forKey: .date)
        case .accessControl(let control): try value.encode(control, forKey: .accessControl)
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
