package import Foundation

/// A device asks to join (SY-10): its keys, its name, and a commitment to a number that it keeps for itself.
///
/// Written: version 1 (1 byte), signing key (64), sealing key (32), commitment (32), length of the name (1), name.
package struct JoinApplication: Hashable, Sendable {
    package let identity: MemberIdentity
    package let name: String
    let commitment: Data
    package let bytes: Data

    /// `number`: 32 random bytes, which nobody hears before there is a challenge.
    package init?(_ identity: MemberIdentity, named name: String, number: Data) {
        guard MemberName.isValid(name) else { return nil }
        self.identity = identity
        self.name = name
        commitment = Self.commitment(to: number, of: identity)
        var writer = ByteWriter()
        writer.add(UInt8(1))
        identity.write(to: &writer)
        writer.add(commitment)
        writer.add(Data(name.utf8), length: UInt8.self)
        bytes = writer.bytes
    }

    package init(_ bytes: Data) throws(MalformedBytes) {
        var reader = ByteReader(bytes)
        guard try reader.integer(UInt8.self) == 1 else { throw .init() }
        identity = try MemberIdentity(from: &reader)
        commitment = try reader.bytes(32)
        let name = String(bytes: try reader.list(UInt8.self, maximum: MemberName.maximumBytes), encoding: .utf8)
        try reader.end()
        guard let name, MemberName.isValid(name) else { throw .init() }
        self.name = name
        self.bytes = bytes
    }

    static func commitment(to number: Data, of identity: MemberIdentity) -> Data {
        Purpose.commitment.hash(number + identity.id.bytes)
    }

    package var hash: Data { Purpose.application.hash(bytes) }
}

/// A member answers an application: the circle, itself, and a number that nobody could foresee.
///
/// Written: version 1 (1 byte), hash of the application (32), circle (32), approver (32), number (32).
package struct JoinChallenge: Hashable, Sendable {
    package let application: Data
    package let circle: Data
    package let approver: MemberID
    private let number: Data

    package init(to application: JoinApplication, circle: Data, approver: MemberID, number: Data) {
        self.application = application.hash
        self.circle = circle
        self.approver = approver
        self.number = number
    }

    package init(_ bytes: Data) throws(MalformedBytes) {
        var reader = ByteReader(bytes)
        guard try reader.integer(UInt8.self) == 1 else { throw .init() }
        application = try reader.bytes(32)
        circle = try reader.bytes(32)
        approver = MemberID(bytes: try reader.bytes(MemberID.length))
        number = try reader.bytes(32)
        try reader.end()
    }

    package var bytes: Data { Data([1]) + application + circle + approver.bytes + number }
}

/// What both devices show, if nobody is between them: six digits.
package struct JoinDigits: Hashable, Sendable, CustomStringConvertible {
    /// Six decimal digits.
    package let description: String

    /// `number`: the applicant's own, or what it revealed.
    ///
    /// - Returns: nil if the number is not the one that the application has the commitment of, or the challenge is to another one.
    package init?(_ application: JoinApplication, _ challenge: JoinChallenge, number: Data) {
        guard number.count == 32, challenge.application == application.hash,
            JoinApplication.commitment(to: number, of: application.identity) == application.commitment
        else { return nil }
        let hash = Purpose.digits.hash(challenge.bytes + number)
        // 64 bits of it: the six digits are equally likely but for one part in 10^13.
        let value = hash.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let digits = String(value % 1_000_000)
        description = String(repeating: "0", count: 6 - digits.count) + digits
    }

    /// What the owner's passcode is sealed for, in hexadecimal: this device, these numbers, and no other (DEC-461).
    package static func digest(_ application: JoinApplication, _ challenge: JoinChallenge, number: Data) -> String {
        Purpose.change.hash(application.hash + challenge.bytes + number).map { String(format: "%02x", $0) }.joined()
    }
}

/// The applicant's side: it says its number once, to one challenge.
package struct Applicant: Sendable {
    package let application: JoinApplication
    private let number: Data
    package private(set) var challenge: JoinChallenge?

    package init?(_ identity: MemberIdentity, named name: String, random: (Int) -> Data) {
        number = random(32)
        guard let application = JoinApplication(identity, named: name, number: number) else { return nil }
        self.application = application
    }

    /// The number, and the digits to show.
    ///
    /// - Returns: nil for a challenge to another application, and for a second one: otherwise somebody could try numbers until the digits
    ///   are equal.
    package mutating func reveal(to challenge: JoinChallenge) -> (number: Data, digits: JoinDigits)? {
        guard self.challenge == nil || self.challenge == challenge,
            let digits = JoinDigits(application, challenge, number: number)
        else { return nil }
        self.challenge = challenge
        return (number, digits)
    }

    /// What the owner's passcode is sealed for; nil before there was a challenge.
    package var digest: String? { challenge.map { JoinDigits.digest(application, $0, number: number) } }

    /// Whether this is the circle whose digits the owner compared, and this device's place in it is by the approver of these digits.
    package func isJoined(to chain: CircleChain) -> Bool {
        guard let challenge, chain.circle == challenge.circle, chain.members[application.identity.id] != nil else {
            return false
        }
        return chain.links.contains { link in
            guard case .add(application.identity, application.name, false, _) = link.change else { return false }
            return link.signer == challenge.approver
        }
    }
}
