internal import Crypto
package import Foundation

/// What a store may know of a record (SY-4).
package struct RecordHeader: Hashable, Sendable {
    package let name: RecordName
    package let epoch: UInt32
    package let member: MemberID
    /// Of the member's records, from 1 on: no two have the same.
    package let counter: UInt64
    package let clock: ClockTime

    package init(name: RecordName, epoch: UInt32, member: MemberID, counter: UInt64, clock: ClockTime) {
        self.name = name
        self.epoch = epoch
        self.member = member
        self.counter = counter
        self.clock = clock
    }

    func write(to writer: inout ByteWriter) {
        writer.add(name.bytes)
        writer.add(epoch)
        writer.add(member.bytes)
        writer.add(counter)
        writer.add(clock.bits)
    }

    init(from reader: inout ByteReader) throws(MalformedBytes) {
        self.init(
            name: RecordName(bytes: try reader.bytes(RecordName.length)), epoch: try reader.integer(UInt32.self),
            member: MemberID(bytes: try reader.bytes(MemberID.length)), counter: try reader.counter(),
            clock: ClockTime(bits: try reader.integer(UInt64.self)))
        guard counter > 0 else { throw .init() }
    }
}

/// What is sealed in a record.
package enum RecordContent: Hashable, Sendable {
    /// The number of the protection class, the access group, the attributes as the keychain writes them, the binding of the item's row at its
    /// writer, and the key of the secret, 32 bytes.
    case item(protection: UInt8, accessGroup: Data, attributes: Data, binding: Data, key: Data)
    case tombstone

    static let keyBytes = 32
    /// Of the attributes: those that an item can have, and room.
    static let maximumAttributes = 1 << 20
    static let maximumBinding = 256
    static let maximumGroup = 1 << 16 - 1

    /// - Throws: ``MalformedBytes`` for what nobody would read.
    fileprivate func written(paddedTo count: (Int) -> Int) throws(MalformedBytes) -> Data {
        var writer = ByteWriter()
        switch self {
        case .item(let protection, let accessGroup, let attributes, let binding, let key):
            guard accessGroup.count <= Self.maximumGroup, attributes.count <= Self.maximumAttributes,
                binding.count <= Self.maximumBinding, key.count == Self.keyBytes
            else { throw .init() }
            writer.add(UInt8(1))
            writer.add(protection)
            writer.add(accessGroup, length: UInt16.self)
            writer.add(attributes, length: UInt32.self)
            writer.add(binding, length: UInt16.self)
            writer.add(key)
        case .tombstone: writer.add(UInt8(0))
        }
        writer.add(Data(count: count(writer.bytes.count) - writer.bytes.count))
        return writer.bytes
    }

    fileprivate init(_ bytes: Data) throws(MalformedBytes) {
        var reader = ByteReader(bytes)
        switch try reader.integer(UInt8.self) {
        case 0: self = .tombstone
        case 1:
            self = .item(
                protection: try reader.integer(UInt8.self),
                accessGroup: try reader.list(UInt16.self, maximum: Self.maximumGroup),
                attributes: try reader.list(UInt32.self, maximum: Self.maximumAttributes),
                binding: try reader.list(UInt16.self, maximum: Self.maximumBinding),
                key: try reader.bytes(Self.keyBytes))
        default: throw .init()
        }
        guard reader.isAllZero else { throw .init() }
    }
}

/// One version of one item, sealed and signed (SY-13).
///
/// Written: version 1 (1 byte), name (32), epoch (4), member (32), counter (8), clock (8: milliseconds × 2¹⁶ + count), length of the content (4),
/// content (nonce, AES-256-GCM, tag), length of the secret's ciphertext (4), that, signature (64). The whole is a multiple of 256 bytes, and at
/// least 1,024. A tombstone has random bytes for a secret, as many as a short one has, so that it looks like an item (SY-4).
package struct SealedRecord: Sendable {
    /// The longest secret and the longest attributes: 24 MiB of base64 have room for one, and stores take it (DEC-587).
    package static let maximumBytes = 17 << 20
    package static let step = 256
    /// What items with a password mostly need.
    static let minimumBytes = 1024
    private static let version: UInt8 = 1
    /// Where the epoch stands, little-endian, in 4 bytes.
    package static let epochOffset = 1 + RecordName.length
    private static let sealBytes = 12 + 16
    /// Of a record without what is in its content and its secret.
    private static let frameBytes = 1 + 32 + 4 + 32 + 8 + 8 + 4 + sealBytes + 4 + MemberIdentity.signatureBytes

    /// Whether there can be a record of an item.
    ///
    /// - Parameters:
    ///   - attributes: Bytes of them as the keychain writes them, or more.
    ///   - accessGroup: Bytes of it.
    ///   - secret: Bytes of its ciphertext.
    /// - Returns: False as well for what is a few hundred bytes too short to be too long.
    package static func hasRoom(attributes: Int, accessGroup: Int, secret: Int) -> Bool {
        let content =
            1 + 1 + 2 + accessGroup + 4 + attributes + 2 + RecordContent.maximumBinding + RecordContent.keyBytes
        return accessGroup <= RecordContent.maximumGroup && attributes <= RecordContent.maximumAttributes
            && frameBytes + content + secret + step <= maximumBytes
    }

    package let header: RecordHeader
    private let content: Data
    /// The item's secret under the item's key, as the keychain has it; empty for none.
    package let secret: Data
    private let signed: Data
    private let signature: Data

    package var bytes: Data { signed + signature }

    /// - Throws: ``MalformedBytes`` for anything that is not exactly one record.
    package init(_ bytes: Data) throws(MalformedBytes) {
        guard (Self.frameBytes...Self.maximumBytes).contains(bytes.count), bytes.count.isMultiple(of: Self.step) else {
            throw .init()
        }
        signed = Data(bytes.dropLast(MemberIdentity.signatureBytes))
        signature = Data(bytes.suffix(MemberIdentity.signatureBytes))
        var reader = ByteReader(signed)
        guard try reader.integer(UInt8.self) == Self.version else { throw .init() }
        header = try RecordHeader(from: &reader)
        content = try reader.list(UInt32.self, maximum: Self.maximumBytes)
        secret = try reader.list(UInt32.self, maximum: Self.maximumBytes)
        try reader.end()
    }

    /// Seals and signs.
    ///
    /// - Throws: what the signer throws; ``MalformedBytes`` for a record that would be too long.
    package init(
        _ header: RecordHeader, _ record: RecordContent, secret: Data, under key: EpochKey, random: (Int) -> Data,
        sign: (Data) throws -> Data
    ) throws {
        self.header = header
        let secret = record == .tombstone ? Self.noSecret(random) : secret
        self.secret = secret
        let plain = try record.written { count in
            let whole = Self.frameBytes + secret.count + count
            return count + max((Self.step - whole % Self.step) % Self.step, Self.minimumBytes - whole)
        }
        content =
            try AES.GCM.seal(
                plain, using: Self.key(of: header, key), nonce: .init(data: random(12)),
                authenticating: Self.context(header, secret)
            ).combined ?? Data()
        var writer = ByteWriter()
        writer.add(Self.version)
        header.write(to: &writer)
        writer.add(content, length: UInt32.self)
        writer.add(secret, length: UInt32.self)
        signed = writer.bytes
        guard signed.count + MemberIdentity.signatureBytes <= Self.maximumBytes else { throw MalformedBytes() }
        signature = try sign(Purpose.record.text + signed)
    }

    package func isSigned(by member: MemberIdentity) -> Bool {
        member.id == header.member && member.isSigned(signed, by: signature, for: .record)
    }

    /// The content; nil if it was sealed under another key, or something of it was changed.
    package func opened(with keys: EpochKeys) -> RecordContent? {
        guard let key = keys[header.epoch], let box = try? AES.GCM.SealedBox(combined: content),
            let plain = try? AES.GCM.open(
                box, using: Self.key(of: header, key), authenticating: Self.context(header, secret))
        else { return nil }
        return try? RecordContent(plain)
    }

    /// A nonce, 20 or 40 bytes, and a tag, as the keychain writes secrets of up to 40 bytes.
    private static func noSecret(_ random: (Int) -> Data) -> Data {
        random(12 + 20 + 16) + (random(1).first.map { $0 & 1 == 1 } == true ? random(20) : Data())
    }

    /// Each record has its own, so that a counter that comes back after a restore does not use one twice with the same nonce.
    private static func key(of header: RecordHeader, _ epoch: EpochKey) -> SymmetricKey {
        var writer = ByteWriter()
        writer.add(header.member.bytes)
        writer.add(header.counter)
        return epoch.derived(.record, writer.bytes)
    }

    private static func context(_ header: RecordHeader, _ secret: Data) -> Data {
        var writer = ByteWriter()
        header.write(to: &writer)
        writer.add(Data(SHA256.hash(data: secret)))
        return writer.bytes
    }
}
