package import Foundation

/// How a member changes the circle.
///
/// `sign` answers the ECDSA signature of SHA-256 of what it is given: r ‖ s, 64 bytes, big-endian. `random` answers so many bytes that nobody can
/// foresee.
///
/// Each answers the new link, which counts once the store has it in its place: a member that was faster makes it another's, and this
/// one tries again.
extension CircleChain {
    /// Founds a circle.
    ///
    /// - Throws: `ChainError.invalidName`; what the signer throws.
    package static func found(
        by founder: MemberIdentity, named name: String, random: (Int) -> Data, sign: (Data) throws -> Data
    ) throws -> CircleChain {
        guard MemberName.isValid(name) else { throw ChainError.invalidName }
        let nonce = random(32)
        let start = try EpochStart(
            EpochKeys.fresh(0, random: random), after: nil, for: [founder], nonce: nonce, random: random)
        let link = try CircleLink(
            .found(nonce: nonce, founder, name: name, start), number: 0, previous: Data(count: 32), signer: founder.id,
            sign: sign)
        return try CircleChain([link.bytes])
    }

    /// Adds a device that the owner compared the digits of, or a recovery key.
    ///
    /// - Throws: `ChainError.invalidName` and `.nameTaken`; ``UnusableEpoch`` if the newest key is not among the keys; what the signer throws.
    package func adding(
        _ identity: MemberIdentity, named name: String, isRecoveryKey: Bool = false, by signer: MemberID,
        keys: EpochKeys, sign: (Data) throws -> Data
    ) throws -> CircleLink {
        guard MemberName.isValid(name) else { throw ChainError.invalidName }
        guard hasNoMember(named: name) else { throw ChainError.nameTaken }
        guard keys.current.number == epoch else { throw UnusableEpoch() }
        let box = try EpochStart.seal(keys.current, to: identity, nonce: nonce)
        return try next(.add(identity, name: name, isRecoveryKey: isRecoveryKey, box: box), by: signer, sign)
    }

    /// Removes another member and begins an epoch that it has no key of.
    ///
    /// `lastCounter`: what was taken of it so far. The keys may be those of ``EpochKeys/init(remainsOf:of:opening:)``.
    package func removing(
        _ member: MemberID, lastCounter: UInt64, by signer: MemberID, keys: EpochKeys, random: (Int) -> Data,
        sign: (Data) throws -> Data
    ) throws -> CircleLink {
        let start = try epochStart(for: members.values.map(\.identity).filter { $0.id != member }, keys, random)
        return try next(.remove(member, lastCounter: lastCounter, start), by: signer, sign)
    }

    /// The member leaves by itself; the next member that comes by begins an epoch.
    package func leaving(_ member: MemberID, lastCounter: UInt64, sign: (Data) throws -> Data) throws -> CircleLink {
        try next(.remove(member, lastCounter: lastCounter, nil), by: member, sign)
    }

    package func beginningEpoch(
        by signer: MemberID, keys: EpochKeys, random: (Int) -> Data, sign: (Data) throws -> Data
    ) throws -> CircleLink {
        try next(.epoch(epochStart(for: members.values.map(\.identity), keys, random)), by: signer, sign)
    }

    private func epochStart(
        for members: [MemberIdentity], _ keys: EpochKeys, _ random: (Int) -> Data
    ) throws -> EpochStart {
        try EpochStart(
            EpochKeys.fresh(epochs.count, random: random), after: keys.lasting, for: members, nonce: nonce,
            random: random)
    }

    private func next(_ change: CircleLink.Change, by signer: MemberID, _ sign: (Data) throws -> Data) throws
        -> CircleLink
    {
        try CircleLink(change, number: UInt32(links.count), previous: head, signer: signer, sign: sign)
    }
}
