package import Foundation

/// A class of keychain items, named by the value of its `kSecClass…` constant.
package enum ItemClass: String, Codable, CaseIterable, Sendable {
    case genericPassword = "genp"
    case internetPassword = "inet"

    package static let passwords: [ItemClass] = [.genericPassword, .internetPassword]
}

/// One attribute of a class of items: a row of the table that every layer reads.
package struct Attribute: Sendable {
    /// How a value is checked, compared and kept (section 3 of the primary-key table).
    package enum Kind: Sendable {
        /// A number; a boolean becomes 0 or 1 and a string that prints as an integer that integer; other strings stay (`"http"`).
        case number
        /// Text; bytes are read as UTF-8.
        case string
        /// Bytes, text or a number, each kept as it came and compared by its bytes.
        case blob
        /// Set by the keychain itself; what the caller gives is accepted where it is a date.
        case date
        case accessibility
    }

    /// The value of its `kSecAttr…` constant.
    package let key: String
    package let kind: Kind
    /// Whether it is part of the identity of an item (KC-30).
    package let isPrimaryKey: Bool
    /// What an item gets for it when it is added without; nil: nothing, and then nothing is returned for it.
    package let absent: AttributeValue?
}

extension ItemClass {
    /// All attributes of this class, in the order in which its primary key is written.
    package var attributes: [Attribute] {
        switch self {
        case .genericPassword: Self.genericPasswordAttributes
        case .internetPassword: Self.internetPasswordAttributes
        }
    }

    package func attribute(_ key: String) -> Attribute? {
        switch self {
        case .genericPassword: Self.genericPasswordByKey[key]
        case .internetPassword: Self.internetPasswordByKey[key]
        }
    }

    private static func key(_ key: String, _ kind: Attribute.Kind, absent: AttributeValue) -> Attribute {
        Attribute(key: key, kind: kind, isPrimaryKey: true, absent: absent)
    }
    private static func other(_ key: String, _ kind: Attribute.Kind) -> Attribute {
        Attribute(key: key, kind: kind, isPrimaryKey: false, absent: nil)
    }

    private static let identity = [
        Attribute(key: "agrp", kind: .string, isPrimaryKey: true, absent: nil),
        key("sync", .number, absent: .number(0)),
        Attribute(key: "vwht", kind: .string, isPrimaryKey: true, absent: nil),
        Attribute(key: "tkid", kind: .string, isPrimaryKey: true, absent: nil),
    ]
    private static let password = [
        other("cdat", .date), other("mdat", .date), other("desc", .blob), other("icmt", .blob), other("crtr", .number),
        other("type", .number), other("scrp", .number), other("labl", .blob), other("alis", .blob),
        other("invi", .number), other("nega", .number), other("cusi", .number), other("prot", .blob),
        other("pdmn", .accessibility),
    ]
    private static let genericPasswordAttributes =
        [key("acct", .blob, absent: .string("")), key("svce", .blob, absent: .string(""))]
        + identity + password + [other("gena", .blob)]
    private static let internetPasswordAttributes =
        [
            key("acct", .blob, absent: .string("")), key("sdmn", .blob, absent: .string("")),
            key("srvr", .blob, absent: .string("")), key("ptcl", .number, absent: .number(0)),
            key("atyp", .blob, absent: .string("")), key("port", .number, absent: .number(0)),
            key("path", .blob, absent: .string("")),
        ] + identity + password
    private static let genericPasswordByKey = Dictionary(
        uniqueKeysWithValues: genericPasswordAttributes.map { ($0.key, $0) })
    private static let internetPasswordByKey = Dictionary(
        uniqueKeysWithValues: internetPasswordAttributes.map { ($0.key, $0) })
}

extension Attribute {
    /// The value as it is kept, or `.param` for a type that this attribute cannot have.
    package func kept(_ value: AttributeValue) throws(Status) -> AttributeValue {
        switch (kind, value) {
        case (.number, .number), (.string, .string), (.blob, .string), (.blob, .data), (.blob, .number), (.date, .date):
            return value
        case (.number, .boolean(let boolean)): return .number(boolean ? 1 : 0)
        case (.number, .string(let string)):
            guard let number = Int64(string), String(number) == string else { return value }
            return .number(number)
        case (.number, .real(let real)):
            guard let number = Int64(exactly: real) else { throw .param }
            return .number(number)
        case (.string, .data(let data)):
            guard let string = String(data: data, encoding: .utf8) else { throw .param }
            return .string(string)
        case (.accessibility, .string(let string)):
            guard Accessibility(rawValue: string) != nil else { throw .param }
            return value
        default: throw .param
        }
    }

    /// The bytes by which two kept values are the same: text and data of equal bytes are equal (section 1 of the primary-key table).
    package func comparable(_ value: AttributeValue) -> Data {
        switch value {
        case .string(let string): return Data(string.utf8)
        case .data(let data): return data
        case .number(let number):
            if kind == .blob { return littleEndianBytes(Int32(truncatingIfNeeded: number).littleEndian) }
            return Data(String(number).utf8)
        case .date(let date), .real(let date): return littleEndianBytes(date.bitPattern.littleEndian)
        case .boolean(let boolean): return Data([boolean ? 1 : 0])
        case .accessControl: return Data()
        }
    }

    private func littleEndianBytes<T: FixedWidthInteger>(_ value: T) -> Data {
        Data((0..<(T.bitWidth / 8)).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) })
    }
}
