package import Foundation

/// The verified state of a circle: what its links so far say (SY-11).
///
/// Each link is held against the state before it. What does not fit changes nothing.
package struct CircleChain: Sendable {
    package enum Limits {
        package static let members = 32
        /// Of a chain: a circle that changes every day comes to its end after eleven years.
        package static let links = 4096
        /// The last ones are for removals, so that nobody can fill the chain and stay: each member may leave, and an epoch begin.
        static let linksForRemovals = 2 * members
        /// Bytes of a chain from which on nothing is added.
        ///
        /// The enclave's file takes 1 MiB. The removals of all members, each with the keys of those that stay, have 240 KiB.
        static let bytesForAdding = 256 << 10
    }

    package struct Member: Hashable, Sendable {
        package let identity: MemberIdentity
        package let name: String
        /// It has no device: nobody waits for it, and it writes nothing.
        package let isRecoveryKey: Bool
    }

    package struct Removed: Hashable, Sendable {
        package let identity: MemberIdentity
        /// What it wrote up to this counter counts, and nothing after.
        package let lastCounter: UInt64
        /// Who writes what counts of it anew; nil: it left by itself, and nobody has begun an epoch yet.
        package internal(set) var remover: MemberID?
        /// The number of the link since which that member does so.
        package internal(set) var link: UInt32
    }

    struct Epoch: Hashable, Sendable {
        let commitment: Data
        let earlier: EpochStart.Earlier?
        /// The key, sealed to each member.
        var boxes: [MemberID: Data]
    }

    package private(set) var links: [CircleLink] = []
    /// Bytes of all links.
    private var bytes = 0
    package private(set) var members: [MemberID: Member] = [:]
    package private(set) var removed: [MemberID: Removed] = [:]
    /// A member left by itself, and knows the present key: nothing but a new epoch may follow.
    package private(set) var needsEpoch = false
    private(set) var epochs: [Epoch] = []
    private(set) var nonce = Data()

    /// Names the circle: the hash of its first link, 32 bytes.
    package var circle: Data { links[0].hash }
    package var head: Data { links[links.count - 1].hash }
    package var epoch: UInt32 { UInt32(epochs.count - 1) }

    /// The keys of a member, or of one that was removed.
    package func identity(of member: MemberID) -> MemberIdentity? {
        members[member]?.identity ?? removed[member]?.identity
    }

    /// The hash of a link's number; nil for one that is not there.
    package func hash(of link: UInt32) -> Data? { Int(link) < links.count ? links[Int(link)].hash : nil }

    /// Reads a whole chain.
    package init(_ links: [Data]) throws(ChainError) {
        guard let first = links.first else { throw .malformed }
        try self.init(Self.link(first))
        for bytes in links.dropFirst() { try append(Self.link(bytes)) }
    }

    private init(_ first: CircleLink) throws(ChainError) {
        guard case .found(let nonce, let identity, let name, let start) = first.change, first.number == 0,
            first.previous == Data(count: 32)
        else { throw .malformed }
        guard first.isSigned(by: identity) else { throw .badSignature }
        guard start.earlier == nil else { throw .wrongEpoch }
        self.nonce = nonce
        members[identity.id] = Member(identity: identity, name: name, isRecoveryKey: false)
        try begin(start)
        links = [first]
        bytes = first.bytes.count
    }

    /// Takes what a store, or another member, says is the whole chain.
    ///
    /// - Throws: `.rolledBack` if it is shorter than what is known, `.forked` if it is another.
    package mutating func accept(whole chain: [Data]) throws(ChainError) {
        let known = min(chain.count, links.count)
        for (link, bytes) in zip(links[..<known], chain[..<known]) {
            guard try Self.link(bytes).hash == link.hash else { throw .forked }
        }
        guard chain.count >= links.count else { throw .rolledBack }
        try accept(Array(chain[known...]))
    }

    /// Takes links in their order; those that are known already are only compared.
    ///
    /// - Throws: After which none of them is taken.
    package mutating func accept(_ more: [Data]) throws(ChainError) {
        var extended = self
        for bytes in more {
            let link = try Self.link(bytes)
            if Int(link.number) < extended.links.count {
                guard extended.links[Int(link.number)].hash == link.hash else { throw .forked }
            } else {
                try extended.append(link)
            }
        }
        self = extended
    }

    private static func link(_ bytes: Data) throws(ChainError) -> CircleLink {
        do { return try CircleLink(bytes) } catch { throw .malformed }
    }

    private mutating func append(_ link: CircleLink) throws(ChainError) {
        guard Int(link.number) == links.count, links.count < Limits.links else { throw .missingLinks }
        guard link.previous == head else { throw .forked }
        guard let signer = members[link.signer] else { throw .notMember }
        guard link.isSigned(by: signer.identity) else { throw .badSignature }
        switch link.change {
        // An epoch without a reason would only make the chain longer.
        case .epoch: guard needsEpoch, !signer.isRecoveryKey else { throw .wrongEpoch }
        // Nobody else may be left to begin one: the device that is added does so.
        case .add(_, _, isRecoveryKey: false, _) where signer.isRecoveryKey: break
        default: guard !needsEpoch else { throw .wrongEpoch }
        }
        // It only brings a device back: for everything else there is that device.
        if signer.isRecoveryKey {
            guard case .add(_, _, isRecoveryKey: false, _) = link.change else { throw .notMember }
        }
        switch link.change {
        case .found: throw .malformed
        case .add(let identity, let name, let isRecoveryKey, let box):
            guard removed[identity.id] == nil else { throw .wasRemoved }
            guard members[identity.id] == nil else { throw .notMember }
            guard hasRoomToAdd else { throw .full }
            guard hasNoMember(named: name) else { throw .nameTaken }
            members[identity.id] = Member(identity: identity, name: name, isRecoveryKey: isRecoveryKey)
            epochs[epochs.count - 1].boxes[identity.id] = box
        case .remove(let member, let last, let start):
            guard let leaving = members[member] else { throw .notMember }
            // Who leaves must not know the next key, and the last member has nobody to go on.
            guard (member == link.signer) == (start == nil), members.count > 1 else { throw .wrongEpoch }
            members[member] = nil
            epochs[epochs.count - 1].boxes[member] = nil
            removed[member] = Removed(
                identity: leaving.identity, lastCounter: last, remover: start.map { _ in link.signer },
                link: link.number)
            if let start { try begin(start) } else { needsEpoch = true }
        case .epoch(let start):
            try begin(start)
            for member in removed.keys where removed[member]?.remover == nil {
                removed[member]?.remover = link.signer
                removed[member]?.link = link.number
            }
        }
        links.append(link)
        bytes += link.bytes.count
    }

    /// The owner removes a device by its name, so each has its own.
    package func hasNoMember(named name: String) -> Bool { !members.values.contains { $0.name == name } }

    package var hasRoomToAdd: Bool {
        Self.hasRoomToAdd(members: members.count, links: links.count, bytes: bytes)
    }

    static func hasRoomToAdd(members: Int, links: Int, bytes: Int) -> Bool {
        members < Limits.members && links < Limits.links - Limits.linksForRemovals && bytes < Limits.bytesForAdding
    }

    private mutating func begin(_ start: EpochStart) throws(ChainError) {
        guard start.boxes.map(\.member) == members.keys.sorted() else { throw .wrongEpoch }
        if let earlier = start.earlier {
            guard Int(earlier.epoch) < epochs.count else { throw .wrongEpoch }
        } else {
            guard epochs.isEmpty else { throw .wrongEpoch }
        }
        epochs.append(
            Epoch(
                commitment: start.commitment, earlier: start.earlier,
                boxes: Dictionary(uniqueKeysWithValues: start.boxes.map { ($0.member, $0.box) })))
        needsEpoch = false
    }

    /// Whether there are other devices than `member`: a recovery key does not count.
    package func hasDevices(but member: MemberID) -> Bool {
        members.contains { $0.key != member && !$0.value.isRecoveryKey }
    }

    /// The member that answers for what `member` wrote: its remover, or who removed that one; nil if nobody does.
    package func adopter(of member: MemberID) -> MemberID? { duty(for: member)?.adopter }

    /// Who answers for a removed member, and since which link.
    func duty(for member: MemberID) -> (adopter: MemberID, since: UInt32)? {
        var (adopter, since) = (member, UInt32(0))
        // Nobody is removed twice, so that this ends.
        while let gone = removed[adopter] {
            guard let remover = gone.remover else { return nil }
            (adopter, since) = (remover, max(since, gone.link))
        }
        return members[adopter] == nil ? nil : (adopter, since)
    }
}

/// Why a link, or a chain, is refused.
package enum ChainError: Error, Hashable {
    case malformed, badSignature
    /// The signer or the one to remove is not a member, or the one to add is a member already.
    case notMember
    /// There are too many members, or the chain has room for removals only.
    case full
    /// Another member has this name.
    case nameTaken
    /// What shows itself is no name: see ``MemberName``.
    case invalidName
    /// An identity never comes back: its device makes new keys.
    case wasRemoved
    /// The key was sealed to others than the members, or a new epoch is missing.
    case wrongEpoch
    /// Another history than the one that is known.
    case forked
    /// Fewer links than are known.
    case rolledBack
    /// Links in between have not come.
    case missingLinks
}
