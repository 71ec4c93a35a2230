import Crypto
import Foundation
import TouchstoneCore

/// The two halves of a row under their keys (KC-10…12), and the tags by which ciphertext is searched.
enum ItemCipher {
    /// Binds both halves to their row: a half of another row, or of an earlier version of this one, does not open.
    struct Binding {
        var itemClass: ItemClass
        var identifier: ItemIdentifier
        /// New with every write of the row.
        var version: Data

        var bytes: Data { Data(itemClass.rawValue.utf8) + identifier.bytes + version }
    }

    // MARK: metadata

    private static let wrappedKeyBytes = 12 + 32 + 16

    /// The item's metadata key wrapped under the class's (60 bytes), then the attributes under it.
    static func sealMetadata(_ attributes: [String: AttributeValue], classKey: SymmetricKey, binding: Binding) throws
        -> Data
    {
        let key = SymmetricKey(size: .bits256)
        let context = Data("metadata".utf8) + binding.bytes
        let wrapped = try unsafe key.withUnsafeBytes {
            unsafe try AES.GCM.seal($0, using: classKey, authenticating: context).combined
        }
        let sealed = try AES.GCM.seal(ItemAttributes.encode(attributes), using: key, authenticating: context).combined
        return (wrapped ?? Data()) + (sealed ?? Data())
    }

    /// nil where it was not sealed so.
    static func openMetadata(_ blob: Data, classKey: SymmetricKey, binding: Binding) -> [String: AttributeValue]? {
        let context = Data("metadata".utf8) + binding.bytes
        guard blob.count > wrappedKeyBytes,
            let wrapped = try? AES.GCM.SealedBox(combined: blob.prefix(wrappedKeyBytes)),
            let key = try? AES.GCM.open(wrapped, using: classKey, authenticating: context),
            let sealed = try? AES.GCM.SealedBox(combined: blob.dropFirst(wrappedKeyBytes)),
            let plain = try? AES.GCM.open(sealed, using: SymmetricKey(data: key), authenticating: context)
        else { return nil }
        return ItemAttributes.decode(plain)
    }

    // MARK: secret

    /// Lengths are hidden up to a multiple of this (KC-12).
    private static let padding = 20

    static func sealSecret(_ data: Data, key: SymmetricKey, binding: Binding) throws -> Data {
        var plain = withLittleEndian(UInt32(data.count))
        plain.append(data)
        plain.append(Data(count: (padding - plain.count % padding) % padding))
        defer { plain.resetBytes(in: 0..<plain.count) }
        let context = Data("secret".utf8) + binding.bytes
        return try AES.GCM.seal(plain, using: key, authenticating: context).combined ?? Data()
    }

    static func openSecret(_ blob: Data, key: SymmetricKey, binding: Binding) -> Data? {
        guard let box = try? AES.GCM.SealedBox(combined: blob),
            let plain = try? AES.GCM.open(box, using: key, authenticating: Data("secret".utf8) + binding.bytes),
            plain.count >= 4
        else { return nil }
        let count = (0..<4).reduce(0) { $0 | Int(plain[plain.startIndex + $1]) << (8 * $1) }
        guard count <= plain.count - 4 else { return nil }
        return Data(plain.dropFirst(4).prefix(count))
    }

    // MARK: tags

    /// 16 bytes that are equal for equal values of one attribute of one class, and say nothing of the value.
    static func tag(_ attribute: Attribute, _ value: AttributeValue, in itemClass: ItemClass, key: SymmetricKey) -> Data
    {
        var code = HMAC<SHA256>(key: key)
        code.update(data: Data("\(itemClass.rawValue) \(attribute.key) ".utf8))
        code.update(data: attribute.comparable(value))
        return Data(code.finalize().prefix(tagBytes))
    }

    /// The tag of the whole primary key (KC-30).
    static func identityTag(_ attributes: [String: AttributeValue], in itemClass: ItemClass, key: SymmetricKey) -> Data
    {
        var code = HMAC<SHA256>(key: key)
        code.update(data: Data("\(itemClass.rawValue) identity".utf8))
        for attribute in itemClass.attributes where attribute.isPrimaryKey {
            let value = attributes[attribute.key].map(attribute.comparable) ?? Data()
            code.update(data: withLittleEndian(UInt32(value.count)))
            code.update(data: value)
        }
        return Data(code.finalize())
    }

    static let tagBytes = 16

    private static func withLittleEndian(_ value: UInt32) -> Data {
        Data((0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) })
    }
}

/// Attributes as bytes: for each, key (length, then UTF-8), kind (1 byte), value (length in 4 bytes little-endian, then bytes).
enum ItemAttributes {
    private enum Kind: UInt8 { case string, data, number, real, boolean, date, accessControl }

    static func encode(_ attributes: [String: AttributeValue]) -> Data {
        var bytes = Data()
        for (key, value) in attributes {
            bytes.append(UInt8(key.utf8.count))
            bytes.append(contentsOf: key.utf8)
            let (kind, content): (Kind, Data) =
                switch value {
                case .string(let string): (.string, Data(string.utf8))
                case .data(let data): (.data, data)
                case .number(let number): (.number, fixed(UInt64(bitPattern: number)))
                case .real(let real): (.real, fixed(real.bitPattern))
                case .boolean(let boolean): (.boolean, Data([boolean ? 1 : 0]))
                case .date(let date): (.date, fixed(date.bitPattern))
                case .accessControl(let control):
                    (.accessControl, fixed(control.flags.rawValue) + Data(control.protection.rawValue.utf8))
                }
            bytes.append(kind.rawValue)
            bytes.append(fixed(UInt32(content.count)))
            bytes.append(content)
        }
        return bytes
    }

    /// nil for anything that `encode` does not make.
    static func decode(_ bytes: Data) -> [String: AttributeValue]? {
        var rest = bytes[...]
        var attributes: [String: AttributeValue] = [:]
        func take(_ count: Int) -> Data? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return Data(rest.prefix(count))
        }
        while !rest.isEmpty {
            guard let keyLength = take(1)?.first, let key = take(Int(keyLength)),
                let kind = take(1)?.first.flatMap(Kind.init), let length = take(4),
                let content = take(Int(number(length)))
            else { return nil }
            let value: AttributeValue
            switch kind {
            case .string: value = .string(String(decoding: content, as: UTF8.self))
            case .data: value = .data(content)
            case .number: value = .number(Int64(bitPattern: number(content)))
            case .real: value = .real(Double(bitPattern: number(content)))
            case .boolean: value = .boolean(content.first == 1)
            case .date: value = .date(Double(bitPattern: number(content)))
            case .accessControl:
                guard content.count > 8,
                    let protection = Accessibility(rawValue: String(decoding: content.dropFirst(8), as: UTF8.self)),
                    let control = try? AccessControl(
                        protection: protection, flags: .init(rawValue: number(content.prefix(8))))
                else { return nil }
                value = .accessControl(control)
            }
            attributes[String(decoding: key, as: UTF8.self)] = value
        }
        return attributes
    }

    private static func fixed<T: FixedWidthInteger>(_ value: T) -> Data {
        Data((0..<(T.bitWidth / 8)).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) })
    }

    private static func number(_ bytes: Data) -> UInt64 {
        bytes.enumerated().reduce(0) { $0 | UInt64($1.element) << UInt64(8 * min($1.offset, 7)) }
    }
}
