internal import Crypto
package import Foundation

/// What a member says of itself and of the others, signed: how far it has come, and what of it is alive (SY-22, DEC-462).
///
/// Written: version 1 (1 byte), member (32), sequence (8), counter (8), time (8), epoch (4), number of the chain's newest link (4), its hash (32),
/// both sums (32 each), then twice a number of members (1) with for each its identifier (32) and a counter (8), in their order; signature (64).
package struct MemberHead: Hashable, Sendable {
    package static let maximumBytes = 8 << 10
    private static let version: UInt8 = 1

    package var member: MemberID
    /// Of its heads, from 1 on: no two have the same.
    package var sequence: UInt64
    /// Of its newest record.
    package var counter: UInt64
    /// Milliseconds since 1970-01-01 00:00:00 UTC by the member's clock.
    package var time: UInt64
    /// Whose key the sum is made with.
    package var epoch: UInt32
    /// The newest link of the chain that the member has.
    package var link: UInt32
    package var linkHash: Data
    /// Of its records that are alive.
    package var sum: RecordSum
    /// Of its records that are the newest of their names, as far as it has seen: what others dropped does not change it (DEC-566).
    package var newestSum: RecordSum
    /// Up to which counter it has everything of a member.
    package var seen: [MemberID: UInt64]
    /// Up to which counter all members have everything of a member, or had of one that is removed.
    package var stable: [MemberID: UInt64]

    package func bytes(sign: (Data) throws -> Data) throws -> Data {
        let written = self.written
        return written + (try sign(Purpose.head.text + written))
    }

    /// All that is signed.
    package var written: Data {
        var writer = ByteWriter()
        writer.add(Self.version)
        writer.add(member.bytes)
        for number in [sequence, counter, time] { writer.add(number) }
        writer.add(epoch)
        writer.add(link)
        writer.add(linkHash)
        writer.add(sum.bytes)
        writer.add(newestSum.bytes)
        for counters in [seen, stable] {
            writer.add(UInt16(counters.count))
            for (member, counter) in counters.sorted(by: { $0.key < $1.key }) {
                writer.add(member.bytes)
                writer.add(counter)
            }
        }
        return writer.bytes
    }

    /// Reads a head and looks at its signature.
    ///
    /// - Returns: nil for a head that is not by a member of whom `identity` knows the keys.
    /// - Throws: ``MalformedBytes`` for anything that is not exactly one head.
    package init?(_ bytes: Data, identity: (MemberID) -> MemberIdentity?) throws(MalformedBytes) {
        guard bytes.count <= Self.maximumBytes, bytes.count > MemberIdentity.signatureBytes else { throw .init() }
        let signed = Data(bytes.dropLast(MemberIdentity.signatureBytes))
        try self.init(unsigned: signed)
        let signature = Data(bytes.suffix(MemberIdentity.signatureBytes))
        guard let identity = identity(member), identity.id == member,
            identity.isSigned(signed, by: signature, for: .head)
        else { return nil }
    }

    /// Reads a head that nobody has signed yet.
    package init(unsigned bytes: Data) throws(MalformedBytes) {
        var reader = ByteReader(bytes)
        guard try reader.integer(UInt8.self) == Self.version else { throw .init() }
        member = MemberID(bytes: try reader.bytes(MemberID.length))
        sequence = try reader.counter()
        counter = try reader.counter()
        time = try reader.integer(UInt64.self)
        epoch = try reader.integer(UInt32.self)
        link = try reader.integer(UInt32.self)
        linkHash = try reader.bytes(32)
        sum = RecordSum(try reader.bytes(32))
        newestSum = RecordSum(try reader.bytes(32))
        seen = try Self.counters(&reader)
        stable = try Self.counters(&reader)
        try reader.end()
        guard sequence > 0, time <= ClockTime.maximumMilliseconds else { throw .init() }
    }

    /// Each member once, in their order: so there is one way to write it.
    private static func counters(_ reader: inout ByteReader) throws(MalformedBytes) -> [MemberID: UInt64] {
        let count = try reader.integer(UInt16.self)
        var counters: [MemberID: UInt64] = [:]
        var last: MemberID?
        for _ in 0..<count {
            let member = MemberID(bytes: try reader.bytes(MemberID.length))
            if let last, last >= member { throw .init() }
            last = member
            counters[member] = try reader.counter()
        }
        return counters
    }

    package init(
        member: MemberID, sequence: UInt64, counter: UInt64, time: UInt64, epoch: UInt32, link: UInt32, linkHash: Data,
        sum: RecordSum, newestSum: RecordSum, seen: [MemberID: UInt64], stable: [MemberID: UInt64]
    ) {
        self.member = member
        self.sequence = sequence
        self.counter = counter
        self.time = time
        self.epoch = epoch
        self.link = link
        self.linkHash = linkHash
        self.sum = sum
        self.newestSum = newestSum
        self.seen = seen
        self.stable = stable
    }
}

/// A keyed hash of what some of a member's records say of themselves, in the order of their counters.
///
/// Who has no key finds no other set of records with the same sum. Contents are not in it (DEC-462).
package struct RecordSum: Hashable, Sendable {
    let bytes: Data

    /// Before it is made.
    static let none = RecordSum(Data())

    init(_ bytes: Data) { self.bytes = bytes }

    /// - Parameters:
    ///   - versions: In the order of their counters.
    ///   - key: Of the sums of one epoch.
    init(_ versions: [RecordVersion], key: SymmetricKey) {
        var code = HMAC<SHA256>(key: key)
        for version in versions {
            var writer = ByteWriter()
            writer.add(version.name.bytes)
            writer.add(version.counter)
            writer.add(version.clock.bits)
            writer.add(UInt8(version.isTombstone ? 1 : 0))
            code.update(data: writer.bytes)
        }
        bytes = Data(code.finalize())
    }
}
