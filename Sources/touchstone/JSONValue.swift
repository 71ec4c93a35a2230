import Foundation
import TouchstoneCore

/// A message, for printing as JSON.
indirect enum JSONValue: Encodable {
    case null
    case flag(Bool)
    case integer(Int64)
    case number(Double)
    case text(String)
    case list([JSONValue])
    case object([String: JSONValue])

    init(_ message: some MessageCodable) throws {
        try self.init(MessageDecoder(JSONText(JSONOutput.encode(message))))
    }

    private init(_ json: MessageDecoder) throws {
        if json.isNull {
            self = .null
        } else if let flag = try? json.decode(Bool.self) {
            self = .flag(flag)
        } else if let integer = try? json.decode(Int64.self) {
            self = .integer(integer)
        } else if let number = try? json.decode(Double.self) {
            self = .number(number)
        } else if let text = try? json.decode(String.self) {
            self = .text(text)
        } else if let list = try? json.array({ try JSONValue($0) }) {
            self = .list(list)
        } else {
            var members: [String: JSONValue] = [:]
            try json.forEachMember { members[$0] = try JSONValue($1) }
            self = .object(members)
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .flag(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .list(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}
