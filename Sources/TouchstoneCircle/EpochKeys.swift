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
    private static let earlierBytes = 12 + 32 + 16

    /// The key of an epoch before, under this one's.
    struct Earlier: Hashable {
        /// Mostly the one just before.
        ///
        /// If that one's key does not lead to all before it, an older one.
        var epoch: UInt32
        var sealed: Data
    }

    var commitment: Data
    /// nil for the first.
    var earlier: Earlier?
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
        writer.add(UInt8(earlier == nil ? 0 : 1))
        if let earlier {
            writer.add(earlier.epoch)
            writer.add(earlier.sealed)
        }
        writer.add(UInt8(boxes.count))
        for (member, box) in boxes {
            writer.add(member.bytes)
            writer.add(box)
        }
    }

    init(from reader: inout ByteReader) throws(MalformedBytes) {
        commitment = try reader.bytes(32)
        switch try reader.integer(UInt8.self) {
        case 0: break
        case 1: earlier = .init(epoch: try reader.integer(UInt32.self), sealed: try reader.bytes(Self.earlierBytes))
        default: throw .init()
        }
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
            let sealed = try AES.GCM.seal(
                earlier.key.copiedBytes, using: key.derived(.earlierEpoch),
                nonce: .init(data: random(12)),
                authenticating: Self.context(key.number, nonce) + Self.context(earlier.number, nonce)
            ).combined
            return .init(epoch: earlier.number, sealed: sealed ?? Data())
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
    /// Those that open.
    ///
    /// A hostile member can make an epoch whose key some members do not get.
    private var keys: [UInt32: EpochKey] = [:]
    private let newest: UInt32
    /// The newest key that leads a new member to all before it: the next epoch's key leads to this one.
    let lasting: EpochKey

    /// A new key for a circle that has `count` epochs.
    package static func fresh(_ count: Int, random: (Int) -> Data) -> EpochKey {
        EpochKey(number: UInt32(count), key: SymmetricKey(data: random(32)))
    }

    /// What `member` can open of the chain.
    ///
    /// - Throws: ``UnusableEpoch`` if the newest key was not sealed to this member, or is not the one that the others have, or the first
    ///   one does not open.
    package init(
        _ chain: CircleChain, of member: MemberID, opening privateKey: Curve25519.KeyAgreement.PrivateKey
    ) throws(UnusableEpoch) {
        try self.init(remainsOf: chain, of: member, opening: privateKey)
        guard keys[newest] != nil, keys[0] != nil else { throw .init() }
    }

    /// What still opens, where the newest key does not: enough to remove the member that began this epoch, and for nothing else.
    ///
    /// - Throws: ``UnusableEpoch`` if no key opens that leads to the first one.
    package init(
        remainsOf chain: CircleChain, of member: MemberID, opening privateKey: Curve25519.KeyAgreement.PrivateKey
    ) throws(UnusableEpoch) {
        newest = chain.epoch
        var earlier: [UInt32: UInt32] = [:]
        for number in (0...newest).reversed() {
            let epoch = chain.epochs[Int(number)]
            if keys[number] == nil, let box = epoch.boxes[member],
                let key = Self.open(box, number, chain.nonce, of: member, opening: privateKey),
                key.commitment == epoch.commitment
            {
                keys[number] = key
            }
            guard let key = keys[number], let link = epoch.earlier,
                let before = Self.open(link, under: key, chain.nonce),
                before.commitment == chain.epochs[Int(link.epoch)].commitment
            else { continue }
            keys[link.epoch] = before
            earlier[number] = link.epoch
        }
        var leading: Set<UInt32> = []
        for number in 0...newest where keys[number] != nil {
            if number == 0 || earlier[number].map(leading.contains) == true { leading.insert(number) }
        }
        guard let last = leading.max(), let key = keys[last] else { throw .init() }
        lasting = key
    }

    private static func open(
        _ box: Data, _ epoch: UInt32, _ nonce: Data, of member: MemberID,
        opening privateKey: Curve25519.KeyAgreement.PrivateKey
    ) -> EpochKey? {
        guard
            var recipient = try? HPKE.Recipient(
                privateKey: privateKey, ciphersuite: .Curve25519_SHA256_ChachaPoly, info: Purpose.epochKey.text,
                encapsulatedKey: box.prefix(32)),
            let opened = try? recipient.open(
                box.dropFirst(32), authenticating: EpochStart.context(epoch, nonce) + member.bytes)
        else { return nil }
        return EpochKey(number: epoch, key: SymmetricKey(data: opened))
    }

    private static func open(_ earlier: EpochStart.Earlier, under key: EpochKey, _ nonce: Data) -> EpochKey? {
        guard let sealed = try? AES.GCM.SealedBox(combined: earlier.sealed),
            let opened = try? AES.GCM.open(
                sealed, using: key.derived(.earlierEpoch),
                authenticating: EpochStart.context(key.number, nonce) + EpochStart.context(earlier.epoch, nonce))
        else { return nil }
        return EpochKey(number: earlier.epoch, key: SymmetricKey(data: opened))
    }

    /// The newest epoch's key; of what remains, an older one, which nothing new may be sealed with.
    package var current: EpochKey { keys[newest] ?? lasting }

    package subscript(epoch: UInt32) -> EpochKey? { keys[epoch] }

    /// What the sums of heads are made with in an epoch; it opens nothing.
    ///
    /// nil: there is no such epoch.
    package func sumKey(of epoch: UInt32) -> SymmetricKey? {
        guard epoch <= newest else { return nil }
        // With a key that this member did not get no sum fits.
        return keys[epoch]?.derived(.sum) ?? SymmetricKey(size: .bits256)
    }

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
    package var nameKey: SymmetricKey { (keys[0] ?? lasting).derived(.name) }

    /// As many as there are epochs.
    package var count: Int { Int(newest) + 1 }
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
