import Crypto
import Foundation
import Synchronization
import TouchstoneCore

/// The two halves of a row under their keys (KC-10…12), and the tags by which ciphertext is searched.
enum ItemCipher {
    /// Binds both halves to their row: a half of another row, or of an earlier version of this one, does not open.
    struct Binding {
        var itemClass: ItemClass
        var identifier: ItemIdentifier
        /// New with every write of the row.
        var version: Data

        var bytes: Data { bytes(after: "") }

        /// As one piece: every reading of an item makes three.
        fileprivate func bytes(after prefix: String) -> Data {
            var bytes: [UInt8] = []
            bytes.reserveCapacity(64)
            bytes += prefix.utf8
            bytes += itemClass.rawValue.utf8
            bytes += identifier.bytes
            bytes += version
            return Data(bytes)
        }
    }

    // MARK: metadata

    private static let wrappedKeyBytes = 12 + 32 + 16

    /// The item's metadata key wrapped under the class's (60 bytes), then the attributes under it.
    static func sealMetadata(_ attributes: [AttributeKey: AttributeValue], classKey: SymmetricKey, binding: Binding)
        throws
        -> Data
    {
        let key = SymmetricKey(size: .bits256)
        let context = binding.bytes(after: "metadata")
        let wrapped = try unsafe key.withUnsafeBytes {
            unsafe try AES.GCM.seal($0, using: classKey, authenticating: context).combined
        }
        let sealed = try AES.GCM.seal(ItemAttributes.encode(attributes), using: key, authenticating: context).combined
        return (wrapped ?? Data()) + (sealed ?? Data())
    }

    /// The metadata with its key wrapped under the class's current key; unchanged if it does not open.
    static func rewrapMetadata(_ blob: Data, classKey: MetadataKey, binding: Binding) -> Data {
        let context = binding.bytes(after: "metadata")
        guard let key = metadataKey(blob, classKey, context),
            let wrapped = try? AES.GCM.seal(key, using: classKey.current, authenticating: context).combined
        else { return blob }
        return wrapped + blob.dropFirst(wrappedKeyBytes)
    }

    /// The key that is wrapped under the class's current key, or an earlier one.
    private static func metadataKey(_ blob: Data, _ classKey: MetadataKey, _ context: Data) -> Data? {
        guard blob.count > wrappedKeyBytes,
            let wrapped = try? AES.GCM.SealedBox(combined: blob.prefix(wrappedKeyBytes))
        else { return nil }
        if let key = try? AES.GCM.open(wrapped, using: classKey.current, authenticating: context) { return key }
        return classKey.earlier.lazy.compactMap { try? AES.GCM.open(wrapped, using: $0, authenticating: context) }.first
    }

    /// nil where it was not sealed so.
    static func openMetadata(_ blob: Data, classKey: MetadataKey, binding: Binding) -> [AttributeKey: AttributeValue]? {
        let context = binding.bytes(after: "metadata")
        guard let key = metadataKey(blob, classKey, context),
            let sealed = try? AES.GCM.SealedBox(combined: blob.dropFirst(wrappedKeyBytes)),
            let plain = try? AES.GCM.open(sealed, using: SymmetricKey(data: key), authenticating: context)
        else { return nil }
        return ItemAttributes.decode(plain)
    }

    // MARK: secret

    /// Lengths are hidden up to a multiple of this (KC-12).
    private static let padding = 20

    static func sealSecret(_ data: Data, key: SymmetricKey, binding: Binding) throws -> Data {
        var plain = Data(capacity: 4 + data.count + padding)
        for shift in stride(from: 0, to: 32, by: 8) { plain.append(UInt8(truncatingIfNeeded: data.count >> shift)) }
        plain.append(data)
        plain.append(Data(count: (padding - plain.count % padding) % padding))
        defer { plain.resetBytes(in: 0..<plain.count) }
        let context = binding.bytes(after: "secret")
        return try AES.GCM.seal(plain, using: key, authenticating: context).combined ?? Data()
    }

    static func openSecret(_ blob: Data, key: SymmetricKey, binding: Binding) -> Data? {
        guard let box = try? AES.GCM.SealedBox(combined: blob),
            var plain = try? AES.GCM.open(box, using: key, authenticating: binding.bytes(after: "secret"))
        else { return nil }
        defer { plain.resetBytes(in: 0..<plain.count) }
        guard plain.count >= 4 else { return nil }
        let count = (0..<4).reduce(0) { $0 | Int(plain[plain.startIndex + $1]) << (8 * $1) }
        guard count <= plain.count - 4 else { return nil }
        return Data(plain.dropFirst(4).prefix(count))
    }

    // MARK: tags

    /// 16 bytes that are equal for equal values of one attribute of one class, and say nothing of the value.
    static func tag(_ attribute: Attribute, _ value: AttributeValue, in itemClass: ItemClass, key: LookupKey) -> Data {
        let value = attribute.comparable(value)
        var message: [UInt8] = []
        message.reserveCapacity(16 + value.count)
        message += itemClass.rawValue.utf8
        message.append(UInt8(ascii: " "))
        message += attribute.key.rawValue.utf8
        message.append(UInt8(ascii: " "))
        message += value
        return key.code(message, isRepeated: attribute.isRepeated).prefix(tagBytes)
    }

    /// Tags of all attributes that have one.
    static func tags(
        of attributes: [AttributeKey: AttributeValue], in itemClass: ItemClass, key: LookupKey
    ) -> [AttributeKey: Data] {
        var tags: [AttributeKey: Data] = [:]
        for (name, value) in attributes {
            guard let attribute = itemClass.attribute(name), attribute.hasTag else { continue }
            tags[name] = tag(attribute, value, in: itemClass, key: key)
        }
        return tags
    }

    /// The tag of the whole primary key (KC-30).
    static func identityTag(_ attributes: [AttributeKey: AttributeValue], in itemClass: ItemClass, key: LookupKey)
        -> Data
    {
        var identity: [UInt8] = []
        identity.reserveCapacity(256)
        identity += itemClass.rawValue.utf8
        identity += " identity".utf8
        appendPrimaryKey(of: attributes, in: itemClass, to: &identity)
        return key.code(identity, isRepeated: false)
    }

    /// The values of the primary key, each with its length in 4 bytes, little-endian, before it (KC-30).
    static func primaryKey(_ attributes: [AttributeKey: AttributeValue], in itemClass: ItemClass) -> Data {
        var bytes: [UInt8] = []
        appendPrimaryKey(of: attributes, in: itemClass, to: &bytes)
        return Data(bytes)
    }

    private static func appendPrimaryKey(
        of attributes: [AttributeKey: AttributeValue], in itemClass: ItemClass, to bytes: inout [UInt8]
    ) {
        for attribute in itemClass.attributes where attribute.isPrimaryKey {
            let value = attributes[attribute.key].map(attribute.comparable) ?? Data()
            for shift in stride(from: 0, to: 32, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: value.count >> shift))
            }
            bytes += value
        }
    }

    static let tagBytes = 16
}

/// The key of the lookup tags.
final class LookupKey: Sendable {
    /// Has taken the key, and nothing else yet: every tag begins with a copy of it.
    private let start: HMAC<SHA256>
    /// Tags that nearly every query wants: of the app's groups, and of what does not synchronise.
    private let known = Mutex<[[UInt8]: Data]>([:])

    private static let maximumKnown = 1024

    init(_ key: Data) {
        start = HMAC<SHA256>(key: SymmetricKey(data: key))
    }

    /// The HMAC-SHA256 of a message, which is kept if it `isRepeated`.
    fileprivate func code(_ message: [UInt8], isRepeated: Bool) -> Data {
        guard isRepeated else { return code(message) }
        if let code = known.withLock({ $0[message] }) { return code }
        let code = code(message)
        known.withLock { all in
            if all.count >= Self.maximumKnown { all = [:] }
            all[message] = code
        }
        return code
    }

    private func code(_ message: [UInt8]) -> Data {
        var code = start
        code.update(data: message)
        return Data(code.finalize())
    }
}

extension Attribute {
    /// Whether a few values of it are in nearly every query.
    fileprivate var isRepeated: Bool { key == .accessGroup || key == .synchronizable }
}

/// Attributes as bytes: for each, key (length, then UTF-8), kind (1 byte), value (length in 4 bytes little-endian, then bytes).
enum ItemAttributes {
    private enum Kind: UInt8 { case string, data, number, real, boolean, date, accessControl }

    static func encode(_ attributes: [AttributeKey: AttributeValue]) -> Data {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(512)
        func append(_ kind: Kind, _ value: some Collection<UInt8>) {
            bytes.append(kind.rawValue)
            append(fixed: UInt32(value.count))
            bytes.append(contentsOf: value)
        }
        func append(_ kind: Kind, fixed value: UInt64) {
            bytes.append(kind.rawValue)
            append(fixed: UInt32(8))
            append(fixed: value)
        }
        func append(fixed value: some FixedWidthInteger) {
            for shift in stride(from: 0, to: value.bitWidth, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: value >> shift))
            }
        }
        for (key, value) in attributes {
            let code = key.rawValue.utf8
            bytes.append(UInt8(code.count))
            bytes.append(contentsOf: code)
            switch value {
            case .string(let string): append(.string, string.utf8)
            case .data(let data): append(.data, data)
            case .number(let number): append(.number, fixed: UInt64(bitPattern: number))
            case .real(let real): append(.real, fixed: real.bitPattern)
            case .boolean(let boolean): append(.boolean, CollectionOfOne<UInt8>(boolean ? 1 : 0))
            case .date(let date): append(.date, fixed: date.bitPattern)
            case .accessControl(let control):
                let protection = control.protection.rawValue.utf8
                bytes.append(Kind.accessControl.rawValue)
                append(fixed: UInt32(8 + protection.count))
                append(fixed: control.flags.rawValue)
                bytes.append(contentsOf: protection)
            }
        }
        return Data(bytes)
    }

    /// nil for anything that `encode` does not make.
    static func decode(_ bytes: Data) -> [AttributeKey: AttributeValue]? {
        var rest = [UInt8](bytes)[...]
        var attributes: [AttributeKey: AttributeValue] = [:]
        attributes.reserveCapacity(16)
        func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        while !rest.isEmpty {
            guard let keyLength = take(1)?.first, let key = take(Int(keyLength)),
                let kind = take(1)?.first.flatMap(Kind.init), let length = take(4),
                let content = take(Int(number(length)))
            else { return nil }
            switch kind {
            case .number, .real, .date: guard content.count == 8 else { return nil }
            case .boolean: guard content.count == 1 else { return nil }
            case .string, .data, .accessControl: break
            }
            let value: AttributeValue
            switch kind {
            case .string: value = .string(String(decoding: content, as: UTF8.self))
            case .data: value = .data(Data(content))
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
            switch value {
            case .real(let number), .date(let number): guard number.isFinite else { return nil }
            default: break
            }
            attributes[AttributeKey(rawValue: String(decoding: key, as: UTF8.self))] = value
        }
        return attributes
    }

    /// Of at most eight bytes, the lowest first.
    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
