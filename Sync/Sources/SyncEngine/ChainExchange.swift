package import Foundation
package import SyncStores

/// Brings links of the circle's chain from the store to the device, and back (SY-11).
///
/// Link n has one name in the store, so whoever puts it first has made the change.
/// The device says whether it fits.
package struct ChainExchange: Sendable {
    /// Links of one chain: as many as a device takes.
    static let mostLinks = 4096
    /// Links that are given to the device at once.
    static let page = 100
    /// Most bytes of a link: one epoch's start for all members.
    static let longestLink = 256 << 10

    private let device: any SyncDevice
    private let store: any SyncStore

    package init(_ device: any SyncDevice, _ store: any SyncStore) { (self.device, self.store) = (device, store) }

    /// A link of the store's; nil if it has none of this number.
    package static func link(_ number: Int, in store: any SyncStore) async throws -> Data? {
        guard let bytes = try await store.get(StoredName.link(number).record) else { return nil }
        guard let link = PaddedBytes.content(of: bytes), link.count <= longestLink else {
            throw StoreError.damaged("the store's link \(number) of the circle is not whole")
        }
        return link
    }

    /// All links of the store's, the first one first.
    package static func links(in store: any SyncStore) async throws -> [Data] {
        var links: [Data] = []
        while links.count < mostLinks, let next = try await link(links.count, in: store) { links.append(next) }
        return links
    }

    /// What came of an exchange.
    package struct Outcome: Equatable, Sendable {
        /// How many links both sides have.
        package var count: Int
        /// Whether another member's link is in the place of one that this device proposed.
        package var lost = false
    }

    /// Has both sides know the same links.
    ///
    /// The device's newest link may be one that it only proposes. It counts when it comes back from the store.
    ///
    /// - Throws: `StoreError` or `DeviceFailure`; it can be done again.
    package func run() async throws -> Outcome {
        let mine = try await ownLinks()
        // The first one that the store lacks.
        var missing = mine.count
        while missing > 0 {
            let there = try await Self.link(missing - 1, in: store)
            if there != nil { break }
            missing -= 1
        }
        var next = missing
        while next < mine.count {
            let isPut = try await put(mine[next], next)
            next = isPut ? next + 1 : mine.count
        }
        let first = max(min(missing, mine.count - 1), 0)
        var theirs: [Data] = []
        while first + theirs.count < Self.mostLinks,
            let next = try await Self.link(first + theirs.count, in: store)
        {
            theirs.append(next)
        }
        guard !theirs.isEmpty else { return Outcome(count: mine.count) }
        let lost = zip(mine.dropFirst(first), theirs).contains { $0 != $1 }
        var (count, rest) = (mine.count, theirs[...])
        while !rest.isEmpty {
            count = try await device.addLinks(Array(rest.prefix(Self.page)))
            rest = rest.dropFirst(Self.page)
        }
        return Outcome(count: count, lost: lost)
    }

    /// Why the store's next link does not fit the device's chain; nil if it does, or if there is no other.
    ///
    /// Puts nothing.
    package func problem() async throws -> String? {
        let count = try await ownLinks().count
        do {
            // The newest one of the device's may be one that it only proposes.
            for number in max(count - 1, 0)...count {
                if let link = try await Self.link(number, in: store) { _ = try await device.addLinks([link]) }
            }
            return nil
        } catch {
            guard let problem = Self.problem(error) else { throw error }
            return problem
        }
    }

    /// What an error says of the store's links; nil for an error of another kind.
    static func problem(_ error: any Error) -> String? {
        switch error {
        case DeviceFailure.refused, StoreError.damaged: "\(error)"
        default: nil
        }
    }

    private func ownLinks() async throws -> [Data] {
        var links: [Data] = []
        while links.count < Self.mostLinks {
            let more = try await device.links(after: links.isEmpty ? nil : links.count - 1)
            if more.isEmpty { break }
            links += more
        }
        return links
    }

    /// False if another member was faster.
    private func put(_ link: Data, _ number: Int) async throws -> Bool {
        do {
            try await store.put(StoredName.link(number).record, PaddedBytes.padded(link))
            return true
        } catch StoreError.taken {
            return false
        }
    }
}
