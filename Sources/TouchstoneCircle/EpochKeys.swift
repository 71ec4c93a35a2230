package import Crypto
package import Foundation

/// The key of one epoch, 32 bytes, and what comes from it (SY-12).
package struct EpochKey: Sendable {
    /// From 0 on.
    package let number: UInt32
    let key: SymmetricKey

    init(number: UInt32, key: SymmetricKey) {
        self.number = number
        self.key = key
    }

    /// What everybody may know of the key, so that all members can tell that they have the same.
    var commitment: Data { derived(.epochCommitment).copiedBytes }

    func derived(_ purpose: Purpose, _ more: Data = Data()) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: key, info: purpose.text + more, outputByteCount: 32)
    }
}

extension SymmetricKey {
    /// The key in ordinary memory: to be sealed, or of something that is no secret.
    var copiedBytes: Data { unsafe withUnsafeBytes { unsafe Data($0) } }
}

/// What a link that begins an epoch says of its key.
struct EpochStart: Hashable, Sendable {
    static let boxBytes = 32 + 32 + 16
    static let earlierBytes = 12 + 32 + 16

    var commitment: Data
    /// The key of the epoch before, under this one's; nil for the first.
    var earlier: Data?
    /// The key, sealed to each member, in the order of the members.
    var boxes: [(member: MemberID, box: Data)]

    static func == (left: Self, right: Self) -> Bool { left.written == right.written }
    func hash(into hasher: inout Hasher) { hasher.combine(written) }

    private var written: Data {
        var writer = ByteWriter()
        write(to: &writer)
        return writer.bytes
    }

    func write(to writer: inout ByteWriter) {
        writer.add(commitment)
        writer.add(earlier ?? Data(), length: UInt8.self)
        writer.add(UInt8(boxes.count))
        for (member, box) in boxes {
            writer.add(member.bytes)
            writer.add(box)
        }
    }

    init(from reader: inout ByteReader) throws(MalformedBytes) {
        commitment = try reader.bytes(32)
        let earlier = try reader.list(UInt8.self, maximum: Self.earlierBytes)
        guard [0, Self.earlierBytes].contains(earlier.count) else { throw .init() }
        self.earlier = earlier.isEmpty ? nil : earlier
        let count = try reader.integer(UInt8.self)
        guard count <= CircleChain.Limits.members else { throw .init() }
        boxes = []
        for _ in 0..<count {
            boxes.append((MemberID(bytes: try reader.bytes(MemberID.length)), try reader.bytes(Self.boxBytes)))
        }
    }

    /// A new epoch for `members`; `nonce` is the circle's.
    init(
        _ key: EpochKey, after earlier: EpochKey?, for members: [MemberIdentity], nonce: Data, random: (Int) -> Data
    ) throws {
        commitment = key.commitment
        self.earlier = try earlier.map { earlier in
            try AES.GCM.seal(
                earlier.key.copiedBytes, using: key.derived(.earlierEpoch),
                nonce: .init(data: random(12)), authenticating: Self.context(key.number, nonce)
            ).combined ?? Data()
        }
        boxes = try members.sorted { $0.id < $1.id }.map { ($0.id, try Self.seal(key, to: $0, nonce: nonce)) }
    }

    static func seal(_ key: EpochKey, to member: MemberIdentity, nonce: Data) throws -> Data {
        var sender = try HPKE.Sender(
            recipientKey: Curve25519.KeyAgreement.PublicKey(rawRepresentation: member.sealingKey),
            ciphersuite: .Curve25519_SHA256_ChachaPoly, info: Purpose.epochKey.text)
        let box = try sender.seal(
            key.key.copiedBytes,
            authenticating: Self.context(key.number, nonce) + member.id.bytes)
        return sender.encapsulatedKey + box
    }

    static func context(_ epoch: UInt32, _ nonce: Data) -> Data {
        var writer = ByteWriter()
        writer.add(nonce)
        writer.add(epoch)
        return writer.bytes
    }
}

/// The keys of all epochs of a circle so far: a member's newest box opens the last, and each has the one before.
package struct EpochKeys: Sendable {
    private var keys: [EpochKey]

    /// A new key for a circle that has `count` epochs.
    package static func fresh(_ count: Int, random: (Int) -> Data) -> EpochKey {
        EpochKey(number: UInt32(count), key: SymmetricKey(data: random(32)))
    }

    /// What `member` can open of the chain.
    ///
    /// - Throws: ``UnusableEpoch`` if the newest key was not sealed to this member, or is not the one that the others have.
    package init(
        _ chain: CircleChain, of member: MemberID, opening privateKey: Curve25519.KeyAgreement.PrivateKey
    ) throws(UnusableEpoch) {
        guard let box = chain.boxes[member], let last = chain.epochs.indices.last,
            var recipient = try? HPKE.Recipient(
                privateKey: privateKey, ciphersuite: .Curve25519_SHA256_ChachaPoly, info: Purpose.epochKey.text,
                encapsulatedKey: box.prefix(32)),
            let opened = try? recipient.open(
                box.dropFirst(32),
                authenticating: EpochStart.context(UInt32(last), chain.nonce) + member.bytes)
        else { throw .init() }
        var key = EpochKey(number: UInt32(last), key: SymmetricKey(data: opened))
        guard key.commitment == chain.epochs[last].commitment else { throw .init() }
        keys = [key]
        for number in chain.epochs.indices.dropLast().reversed() {
            guard let earlier = chain.epochs[number + 1].earlier,
                let sealed = try? AES.GCM.SealedBox(combined: earlier),
                let opened = try? AES.GCM.open(
                    sealed, using: key.derived(.earlierEpoch),
                    authenticating: EpochStart.context(key.number, chain.nonce))
            else { throw .init() }
            key = EpochKey(number: UInt32(number), key: SymmetricKey(data: opened))
            guard key.commitment == chain.epochs[number].commitment else { throw .init() }
            keys.append(key)
        }
        keys.reverse()
    }

    package var current: EpochKey { keys[keys.count - 1] }

    package subscript(epoch: UInt32) -> EpochKey? { Int(epoch) < keys.count ? keys[Int(epoch)] : nil }

    /// What the sums of heads are made with in an epoch; it opens nothing.
    package func sumKey(of epoch: UInt32) -> SymmetricKey? { self[epoch]?.derived(.sum) }

    /// The name of an item's records: the same in all epochs (SY-13).
    ///
    /// - Parameters:
    ///   - itemClass: Four letters.
    ///   - primaryKey: The values of the primary key, as the keychain writes them for its tag.
    /// - Returns: The name, which tells nothing to who has no key.
    package func recordName(itemClass: String, primaryKey: Data) -> RecordName {
        RecordName(itemClass: itemClass, primaryKey: primaryKey, key: nameKey)
    }

    /// What names are made with, in all epochs; it opens nothing.
    package var nameKey: SymmetricKey { keys[0].derived(.name) }

    /// As many as there are epochs.
    package var count: Int { keys.count }
}

/// The newest epoch's key was not sealed to this member, or its signer gave this member another key than the others.
package struct UnusableEpoch: Error, Hashable {
    package init() {}
}

/// A keyed tag of an item's class and primary key: 32 bytes.
package struct RecordName: Hashable, Sendable {
    package static let length = 32
    package let bytes: Data

    package init(bytes: Data) { self.bytes = bytes }

    init(itemClass: String, primaryKey: Data, key: SymmetricKey) {
        var writer = ByteWriter()
        writer.add(Data(itemClass.utf8), length: UInt8.self)
        writer.add(primaryKey)
        bytes = Data(HMAC<SHA256>.authenticationCode(for: writer.bytes, using: key))
    }
}

/// The keys of a circle that open nothing: what names and sums are made with.
package struct TagKeys: Sendable {
    private let names: SymmetricKey
    /// By epoch.
    private let sums: [SymmetricKey]

    /// Keys of 32 bytes each.
    package init(names: Data, sums: [Data]) {
        self.names = SymmetricKey(data: names)
        self.sums = sums.map { SymmetricKey(data: $0) }
    }

    /// The key of the sums of an epoch's heads; nil for an epoch that is not known.
    package func sum(of epoch: UInt32) -> SymmetricKey? { Int(epoch) < sums.count ? sums[Int(epoch)] : nil }

    /// The name of an item's records, as ``EpochKeys/recordName(itemClass:primaryKey:)`` gives it.
    package func name(itemClass: String, primaryKey: Data) -> RecordName {
        RecordName(itemClass: itemClass, primaryKey: primaryKey, key: names)
    }
}
