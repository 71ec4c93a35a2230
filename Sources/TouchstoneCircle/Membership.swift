package import Foundation

/// What merging has to know of a circle.
package struct Membership: Hashable, Sendable {
    package struct Removal: Hashable, Sendable {
        package var lastCounter: UInt64
        /// Who writes anew what is left of it; nil: nobody yet.
        package var adopter: MemberID?

        package init(lastCounter: UInt64, adopter: MemberID?) {
            self.lastCounter = lastCounter
            self.adopter = adopter
        }
    }

    package var members: Set<MemberID>
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
        Membership(
            members: Set(members.keys),
            removed: removed.reduce(into: [:]) { removed, gone in
                removed[gone.key] = .init(lastCounter: gone.value.lastCounter, adopter: adopter(of: gone.key))
            }, linkHashes: links.map(\.hash))
    }
}
