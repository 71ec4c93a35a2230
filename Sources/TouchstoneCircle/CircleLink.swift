package import Foundation

/// One signed change of a circle (SY-11).
///
/// Written: version 1 (1 byte), kind (1), number (4), hash of the link before (32, zero for the first), signer (32), length of the body (2),
/// body, signature (64). The signature is over all before it. Integers are little-endian.
package struct CircleLink: Hashable, Sendable {
    /// Of a link as it is written.
    package static let maximumBytes = 8 << 10
    private static let version: UInt8 = 1

    enum Change: Hashable, Sendable {
        /// The first member; the nonce makes the circle another than any that the same member founds.
        case found(nonce: Data, MemberIdentity, name: String, EpochStart)
        /// A new member, and the present epoch's key sealed to it.
        case add(MemberIdentity, name: String, isRecoveryKey: Bool, box: Data)
        /// What the member wrote up to this counter stays; nil: it leaves by itself, and another one begins the epoch.
        case remove(MemberID, lastCounter: UInt64, EpochStart?)
        case epoch(EpochStart)
    }

    package let number: UInt32
    let previous: Data
    let signer: MemberID
    let change: Change
    private let signed: Data
    let signature: Data

    /// What the next link has as the hash of this one.
    ///
    /// The signature is not in it: from one valid signature of ECDSA anybody makes a second.
    let hash: Data

    package var bytes: Data { signed + signature }

    /// - Throws: ``MalformedBytes`` for anything that is not exactly one link.
    package init(_ bytes: Data) throws(MalformedBytes) {
        guard bytes.count <= Self.maximumBytes, bytes.count > MemberIdentity.signatureBytes else { throw .init() }
        signed = Data(bytes.dropLast(MemberIdentity.signatureBytes))
        signature = Data(bytes.suffix(MemberIdentity.signatureBytes))
        hash = Purpose.link.hash(signed)
        var reader = ByteReader(signed)
        guard try reader.integer(UInt8.self) == Self.version else { throw .init() }
        let kind = try reader.integer(UInt8.self)
        number = try reader.integer(UInt32.self)
        previous = try reader.bytes(32)
        signer = MemberID(bytes: try reader.bytes(MemberID.length))
        var body = ByteReader(try reader.list(UInt16.self, maximum: Self.maximumBytes))
        try reader.end()
        change = try Change(kind, &body)
        try body.end()
    }

    /// Signs a change.
    ///
    /// - Throws: what the signer throws.
    init(
        _ change: Change, number: UInt32, previous: Data, signer: MemberID, sign: (Data) throws -> Data
    ) throws {
        self.number = number
        self.previous = previous
        self.signer = signer
        self.change = change
        var body = ByteWriter()
        change.write(to: &body)
        var writer = ByteWriter()
        writer.add(Self.version)
        writer.add(change.kind)
        writer.add(number)
        writer.add(previous)
        writer.add(signer.bytes)
        writer.add(body.bytes, length: UInt16.self)
        signed = writer.bytes
        hash = Purpose.link.hash(signed)
        signature = try sign(Purpose.link.text + signed)
    }

    /// Whether its signer leaves the circle by it.
    package func isLeaving(_ member: MemberID) -> Bool {
        if case .remove(member, _, nil) = change { true } else { false }
    }

    func isSigned(by member: MemberIdentity) -> Bool {
        member.id == signer && member.isSigned(signed, by: signature, for: .link)
    }
}

extension CircleLink.Change {
    var kind: UInt8 {
        switch self {
        case .found: 1
        case .add: 2
        case .remove: 3
        case .epoch: 4
        }
    }

    fileprivate init(_ kind: UInt8, _ body: inout ByteReader) throws(MalformedBytes) {
        switch kind {
        case 1:
            self = .found(
                nonce: try body.bytes(32), try MemberIdentity(from: &body), name: try Self.name(&body),
                try EpochStart(from: &body))
        case 2:
            let (identity, name) = (try MemberIdentity(from: &body), try Self.name(&body))
            let isRecoveryKey = try body.integer(UInt8.self)
            guard isRecoveryKey <= 1 else { throw .init() }
            self = .add(
                identity, name: name, isRecoveryKey: isRecoveryKey == 1, box: try body.bytes(EpochStart.boxBytes))
        case 3:
            let member = MemberID(bytes: try body.bytes(MemberID.length))
            let last = try body.counter()
            self = .remove(member, lastCounter: last, body.isAtEnd ? nil : try EpochStart(from: &body))
        case 4: self = .epoch(try EpochStart(from: &body))
        default: throw .init()
        }
    }

    private static func name(_ body: inout ByteReader) throws(MalformedBytes) -> String {
        let bytes = try body.list(UInt8.self, maximum: MemberName.maximumBytes)
        guard let name = String(bytes: bytes, encoding: .utf8), MemberName.isValid(name) else { throw .init() }
        return name
    }

    fileprivate func write(to body: inout ByteWriter) {
        switch self {
        case .found(let nonce, let identity, let name, let start):
            body.add(nonce)
            identity.write(to: &body)
            body.add(Data(name.utf8), length: UInt8.self)
            start.write(to: &body)
        case .add(let identity, let name, let isRecoveryKey, let box):
            identity.write(to: &body)
            body.add(Data(name.utf8), length: UInt8.self)
            body.add(UInt8(isRecoveryKey ? 1 : 0))
            body.add(box)
        case .remove(let member, let last, let start):
            body.add(member.bytes)
            body.add(last)
            start?.write(to: &body)
        case .epoch(let start): start.write(to: &body)
        }
    }
}
