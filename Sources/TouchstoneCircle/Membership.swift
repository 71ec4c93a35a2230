package import Foundation

/// What merging has to know of a circle.
package struct Membership: Hashable, Sendable {
    package struct Removal: Hashable, Sendable {
        package var lastCounter: UInt64
        /// Who writes anew what is left of it; nil: nobody yet.
        package var adopter: MemberID?
        /// The number of the link since which the adopter does so.
        package var since: UInt32

        package init(lastCounter: UInt64, adopter: MemberID?, since: UInt32 = 0) {
            self.lastCounter = lastCounter
            self.adopter = adopter
            self.since = since
        }
    }

    package var members: Set<MemberID>
    /// Of the members: nobody waits for these.
    package var recoveryKeys: Set<MemberID> = []
    package var removed: [MemberID: Removal]
    /// Of the chain, oldest first.
    package var linkHashes: [Data]

    package init(members: Set<MemberID>, removed: [MemberID: Removal] = [:], linkHashes: [Data]) {
        self.members = members
        self.removed = removed
        self.linkHashes = linkHashes
    }
}

extension CircleChain {
    package var membership: Membership {
        var membership = Membership(
            members: Set(members.keys),
            removed: removed.reduce(into: [:]) { removed, gone in
                let duty = duty(for: gone.key)
                removed[gone.key] = .init(
                    lastCounter: gone.value.lastCounter, adopter: duty?.adopter, since: duty?.since ?? 0)
            }, linkHashes: links.map(\.hash))
        membership.recoveryKeys = Set(members.values.filter(\.isRecoveryKey).map(\.identity.id))
        return membership
    }
}
