package import Foundation
import TouchstoneCircle
package import TouchstoneCore
import TouchstoneMemory

/// A circle that a recovery key opens, and the name that this device is to have in it.
package struct RecoveredCircle: Sendable {
    var chain: CircleChain
    var name: String
    /// The recovery key's.
    var keys: CircleKeys

    var purpose: SealedPasscode.Purpose { Self.purpose(chain, name) }

    static func purpose(_ chain: CircleChain, _ name: String) -> SealedPasscode.Purpose {
        .recoverCircle(head: chain.head.map { String(format: "%02x", $0) }.joined(), name: name)
    }
}

/// A recovery key is a member without a device: words on paper, whose keys exist here while they are used (SY-14, DEC-551).
extension Enclave {
    /// Whether a recovery key may be added, whose secret is sealed with the passcode.
    ///
    /// - Throws: `CircleRefused`, and `Refused` for what does not open.
    package func checkAddingRecoveryKey(
        named name: String, _ sealed: SealedPasscode, connection: Int = 0
    ) throws -> CircleChange {
        try checkCanChangeCircle()
        let access = try circleAccess()
        let keys = try recoveryKeys(
            in: sealed, for: .addRecoveryKey(name: name), circle: access.chain.circle, connection: connection)
        try checkAdding(keys.identity, named: name, to: access.chain)
        return .addRecoveryKey(keys.identity, name: name)
    }

    mutating func addRecoveryKey(_ identity: MemberIdentity, named name: String) throws {
        let access = try circleAccess()
        guard let epochs = access.epochs else { throw CircleRefused(.locked) }
        let link = try access.chain.adding(
            identity, named: name, isRecoveryKey: true, by: access.me, keys: epochs, sign: access.keys.sign)
        try propose(link, access)
    }

    /// Whether this device may come into a circle by a recovery key, whose secret is sealed with the passcode.
    ///
    /// It may be on its way into one in the same manner: then this takes its place.
    ///
    /// - Parameters:
    ///   - links: The whole chain. Whether the store gave the newest one cannot be known here.
    ///   - name: What the other members are to call this device.
    ///   - sealed: The passcode, and the recovery key's secret of 16 bytes.
    ///   - connection: The one of touchstoned's whose nonce it was sealed with.
    /// - Returns: The change, for ``authorize(_:_:connection:now:)``.
    /// - Throws: `CircleRefused`, and `Refused` for what does not open.
    package func checkRecovering(
        _ links: [Data], named name: String, _ sealed: SealedPasscode, connection: Int = 0
    ) throws -> CircleChange {
        try checkCanChangeCircle()
        guard state.circle == nil || isRecovering else { throw CircleRefused(.inCircle) }
        guard let chain = try? CircleChain(links) else { throw CircleRefused(.invalidLink) }
        let keys = try recoveryKeys(
            in: sealed, for: RecoveredCircle.purpose(chain, name), circle: chain.circle, connection: connection)
        guard chain.removed[keys.identity.id] == nil else { throw CircleRefused(.removedRecoveryKey) }
        guard chain.members[keys.identity.id]?.isRecoveryKey == true else { throw CircleRefused(.wrongRecoveryKey) }
        try checkAdding(nil, named: name, to: chain)
        return .recover(RecoveredCircle(chain: chain, name: name, keys: keys))
    }

    /// Whether this device waits for the link that a recovery key signed for it.
    var isRecovering: Bool {
        guard let circle = state.circle, let chain = try? CircleChain(circle.links) else { return false }
        return chain.members[MemberID(bytes: circle.member)] == nil
    }

    mutating func recover(_ circle: RecoveredCircle) throws {
        guard state.circle == nil || isRecovering, let mine = CircleKeys(random) else { throw CircleRefused(.inCircle) }
        let epochs = try EpochKeys(circle.chain, of: circle.keys.identity.id, opening: circle.keys.sealing)
        let link = try circle.chain.adding(
            mine.identity, named: circle.name, by: circle.keys.identity.id, keys: epochs, sign: circle.keys.sign)
        leaveCircle()
        // It is a member once the link came back from the store, as with every change.
        try enter(mine, circle.chain)
        state.circle?.proposed = link.bytes
    }

    private func checkAdding(
        _ identity: MemberIdentity?, named name: String, to chain: CircleChain
    ) throws(CircleRefused) {
        guard MemberName.isValid(name) else { throw .init(.invalidName) }
        guard chain.hasNoMember(named: name) else { throw .init(.nameTaken) }
        guard chain.hasRoomToAdd else { throw .init(.full) }
        if let identity, chain.identity(of: identity.id) != nil { throw .init(.wrongRecoveryKey) }
    }

    /// The keys of the secret that is sealed behind the passcode; the nonce stays good, because the passcode is looked at later.
    private func recoveryKeys(
        in sealed: SealedPasscode, for purpose: SealedPasscode.Purpose, circle: Data, connection: Int
    ) throws -> CircleKeys {
        let (payload, _) = try open(sealed, for: purpose, nonces: nonces.of(connection))
        let secret = try Self.passcodes(in: payload, count: 2)[1]
        guard let keys = CircleKeys(recoverySecret: secret, circle: circle) else {
            throw CircleRefused(.wrongRecoveryKey)
        }
        return keys
    }
}
