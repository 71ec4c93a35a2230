package import Foundation

/// A class of keychain items, named by the value of its `kSecClass…` constant.
package enum ItemClass: String, Codable, CaseIterable, Sendable {
    case genericPassword = "genp"
    case internetPassword = "inet"
    case certificate = "cert"
    case key = "keys"
    /// A private key and a certificate of its public key, found together; nothing is stored under this class.
    case identity = "idnt"

    /// The classes of which there are rows.
    package static let stored: [ItemClass] = [.genericPassword, .internetPassword, .certificate, .key]

    /// What an item gets that says nothing of its protection (KC-21).
    package var defaultAccessibility: Accessibility { self == .certificate ? .always : .whenUnlocked }
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
        /// Bytes; text becomes its UTF-8, a number its four bytes.
        case data
        /// What is set by the keychain itself is accepted where it is a date.
        case date
        case accessibility
    }

    package let key: AttributeKey
    package let kind: Kind
    /// Whether it is part of the identity of an item (KC-30).
    package let isPrimaryKey: Bool
    /// Whether a row carries a keyed tag of it, by which it is searched; what has none is compared once it is decrypted.
    package let hasTag: Bool
    /// What an item gets for it when it is added without; nil: nothing, and then nothing is returned for it.
    package let absent: AttributeValue?
}

extension ItemClass {
    /// All attributes of this class, in the order in which its primary key is written.
    package var attributes: [Attribute] { table.attributes }

    package func attribute(_ key: AttributeKey) -> Attribute? { table.byKey[key] }

    private struct Table: Sendable {
        let attributes: [Attribute]
        let byKey: [AttributeKey: Attribute]

        init(_ attributes: [Attribute]) {
            self.attributes = attributes
            byKey = Dictionary(attributes.map { ($0.key, $0) }) { first, _ in first }
        }
    }

    private var table: Table {
        switch self {
        case .genericPassword: Self.genericPasswordTable
        case .internetPassword: Self.internetPasswordTable
        case .certificate: Self.certificateTable
        case .key: Self.keyTable
        case .identity: Self.identityTable
        }
    }

    private static func key(_ key: AttributeKey, _ kind: Attribute.Kind, absent: AttributeValue?) -> Attribute {
        Attribute(key: key, kind: kind, isPrimaryKey: true, hasTag: kind != .date, absent: absent)
    }
    private static func other(_ key: AttributeKey, _ kind: Attribute.Kind) -> Attribute {
        Attribute(
            key: key, kind: kind, isPrimaryKey: false, hasTag: kind != .date && kind != .accessibility, absent: nil)
    }
    /// One that nobody searches by alone.
    private static func untagged(_ key: AttributeKey, _ kind: Attribute.Kind) -> Attribute {
        Attribute(key: key, kind: kind, isPrimaryKey: false, hasTag: false, absent: nil)
    }

    private static let empty = AttributeValue.string("")
    private static let place = [
        key(.accessGroup, .string, absent: nil), key(.synchronizable, .number, absent: .number(0)),
        key(.syncViewHint, .string, absent: nil),
        key(.tokenID, .string, absent: nil),
    ]
    private static let common = [
        other(.creationDate, .date), other(.modificationDate, .date), other(.label, .blob), other(.alias, .blob),
        other(.accessible, .accessibility),
    ]
    private static let password =
        common + [
            other(.description, .blob), other(.comment, .blob), other(.creator, .number), other(.type, .number),
            other(.scriptCode, .number), other(.isInvisible, .number), other(.isNegative, .number),
            other(.hasCustomIcon, .number),
            other(.protectedData, .blob),
        ]
    private static let genericPasswordTable = Table(
        [key(.account, .blob, absent: empty), key(.service, .blob, absent: empty)] + place + password
            + [other(.generic, .blob)])
    private static let internetPasswordTable = Table(
        [
            key(.account, .blob, absent: empty), key(.securityDomain, .blob, absent: empty),
            key(.server, .blob, absent: empty),
            key(.protocol, .number, absent: .number(0)), key(.authenticationType, .blob, absent: empty),
            key(.port, .number, absent: .number(0)), key(.path, .blob, absent: empty),
        ] + place + password)
    private static let certificateTable = Table(
        [
            key(.certificateType, .number, absent: .number(0)), key(.issuer, .data, absent: .data(Data())),
            key(.serialNumber, .data, absent: .data(Data())),
        ] + place + common + [
            untagged(.certificateEncoding, .number), other(.subject, .data), other(.subjectKeyID, .data),
            other(.publicKeyHash, .data),
        ])
    private static let keyTable = Table(
        [
            key(.keyClass, .number, absent: .number(0)), key(.applicationLabel, .data, absent: .data(Data())),
            key(.applicationTag, .blob, absent: empty), key(.creator, .number, absent: .number(0)),
            key(.keyType, .number, absent: .number(0)), key(.keySizeInBits, .number, absent: .number(0)),
            key(.effectiveKeySize, .number, absent: .number(0)), key(.startDate, .date, absent: .date(0)),
            key(.endDate, .date, absent: .date(0)),
        ] + place + common
            + ([
                .isPermanent, .isPrivate, .isModifiable, .isSensitive, .wasAlwaysSensitive, .isExtractable,
                .wasNeverExtractable, .canEncrypt, .canDecrypt, .canDerive, .canSign, .canVerify, .canSignRecover,
                .canVerifyRecover, .canWrap, .canUnwrap,
            ] as [AttributeKey]).map { untagged($0, .number) })
    /// A certificate's attributes, then those that only a key has (section 4 of the table).
    private static let identityTable = Table(
        certificateTable.attributes + keyTable.attributes.filter { certificateTable.byKey[$0.key] == nil })
}

extension Attribute {
    /// The value as it is kept, or `.param` for a type that this attribute cannot have.
    package func kept(_ value: AttributeValue) throws(Status) -> AttributeValue {
        switch (kind, value) {
        case (.number, .number), (.string, .string), (.blob, .string), (.blob, .data), (.blob, .number), (.data, .data),
            (.date, .date):
            return value
        case (.data, .string(let string)): return .data(Data(string.utf8))
        case (.data, .number(let number)): return .data(fourBytes(number))
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
            if kind == .blob { return fourBytes(number) }
            return Data(String(number).utf8)
        case .date(let date), .real(let date): return littleEndianBytes(date.bitPattern)
        case .boolean(let boolean): return Data([boolean ? 1 : 0])
        case .accessControl: return Data()
        }
    }

    private func fourBytes(_ number: Int64) -> Data {
        littleEndianBytes(Int32(truncatingIfNeeded: number))
    }

    private func littleEndianBytes<T: FixedWidthInteger>(_ value: T) -> Data {
        Data((0..<(T.bitWidth / 8)).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) })
    }
}
