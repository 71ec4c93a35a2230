import Crypto
import Foundation
import TouchstoneCore

/// One item in a backup (docs/storage-format.md, "A backup").
struct BackupRecord {
    var itemClass: ItemClass
    var identifier: ItemIdentifier
    var version: Data
    /// Whether the attributes are sealed under a key of the root of trust (KC-25).
    var isSealed: Bool
    var attributes: Data
    var wrappedKey: Data
    var secret: Data?

    var binding: ItemCipher.Binding {
        ItemCipher.Binding(itemClass: itemClass, identifier: identifier, version: version)
    }

    /// Longest record that is read: of a value of 16 MiB, and twice what all else of an item can be.
    static let maximumBytes = 20 << 20

    private enum Kind: UInt8 { case item = 1, sealedItem = 2 }

    func encoded() -> Data {
        var body = Data([(isSealed ? Kind.sealedItem : .item).rawValue])
        body.append(contentsOf: itemClass.rawValue.utf8)
        body.append(identifier.bytes)
        body.append(version)
        for part in [attributes, wrappedKey] + (secret.map { [$0] } ?? []) {
            body.append(Self.length(part.count))
            body.append(part)
        }
        return Self.length(body.count) + body
    }

    private static func length(_ count: Int) -> Data {
        Data((0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) })
    }

    enum Next {
        case record(BackupRecord)
        /// Whole, and of a kind that this version does not know.
        case unknown
        /// More bytes are needed.
        case partial
    }

    struct Malformed: Error {}

    /// Takes the next record off `bytes`.
    static func next(_ bytes: inout Data) throws(Malformed) -> Next {
        guard let count = length(bytes) else { return .partial }
        guard (1...maximumBytes).contains(count) else { throw Malformed() }
        guard bytes.count - 4 >= count else { return .partial }
        let body = Data(bytes.dropFirst(4).prefix(count))
        bytes = bytes.dropFirst(4 + count)
        return BackupRecord(body).map { .record($0) } ?? .unknown
    }

    private static func length(_ bytes: Data) -> Int? {
        guard bytes.count >= 4 else { return nil }
        return bytes.prefix(4).enumerated().reduce(0) { $0 | Int($1.element) << (8 * $1.offset) }
    }

    private init?(_ body: Data) {
        var rest = body[...]
        func take(_ count: Int) -> Data? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return Data(rest.prefix(count))
        }
        func takePart() -> Data? { take(4).flatMap(Self.length).flatMap(take) }
        guard let kind = take(1)?.first.flatMap(Kind.init),
            let itemClass = take(4).flatMap({ ItemClass(rawValue: String(decoding: $0, as: UTF8.self)) }),
            let identifier = take(ItemIdentifier.length), let version = take(ItemIdentifier.length),
            let attributes = takePart(), let wrappedKey = takePart()
        else { return nil }
        var secret: Data?
        if !rest.isEmpty {
            secret = takePart()
            guard secret != nil, rest.isEmpty else { return nil }
        }
        self.itemClass = itemClass
        self.identifier = ItemIdentifier(bytes: identifier)
        self.version = version
        isSealed = kind == .sealedItem
        self.attributes = attributes
        self.wrappedKey = wrappedKey
        self.secret = secret
    }
}

extension BackupRecord {
    init(
        itemClass: ItemClass, identifier: ItemIdentifier, version: Data, isSealed: Bool, attributes: Data,
        wrappedKey: Data, secret: Data?
    ) {
        self.itemClass = itemClass
        self.identifier = identifier
        self.version = version
        self.isSealed = isSealed
        self.attributes = attributes
        self.wrappedKey = wrappedKey
        self.secret = secret
    }
}

/// The attributes of items that open on this root of trust only: under a key that touchstoned has from boot on, and no other device.
enum BackupAttributes {
    static func key(of lookupKey: Data) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: lookupKey), info: Data("io.touchstone backup attributes".utf8),
            outputByteCount: 32)
    }

    static func seal(_ attributes: Data, key: SymmetricKey, binding: ItemCipher.Binding) throws -> Data {
        let context = Data("backup attributes".utf8) + binding.bytes
        return try AES.GCM.seal(attributes, using: key, authenticating: context).combined ?? Data()
    }

    /// nil where they were sealed on another device.
    static func open(_ sealed: Data, key: SymmetricKey, binding: ItemCipher.Binding) -> Data? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed) else { return nil }
        return try? AES.GCM.open(
            box, using: key, authenticating: Data("backup attributes".utf8) + binding.bytes)
    }
}
