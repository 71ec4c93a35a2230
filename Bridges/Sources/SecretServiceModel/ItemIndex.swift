internal import Crypto
internal import Foundation

/// Finds items by their attributes, and keeps none of them in clear (SS-21).
///
/// A name and its value are kept as a keyed digest. The key is of this run alone. So locked items are still found, and their attributes
/// cannot be read from it.
public struct ItemIndex: Sendable {
    private typealias Digest = Data

    private struct Entry: Sendable {
        var collection: String
        var digests: Set<Digest>
        /// Greater for what came later.
        var order: UInt64
    }

    private let key = SymmetricKey(size: .bits256)
    private var entries: [String: Entry] = [:]
    private var items: [Digest: Set<String>] = [:]
    private var next: UInt64 = 0

    /// An empty one.
    public init() {}

    /// How many items it has.
    public var count: Int { entries.count }

    /// Says where an item is.
    ///
    /// - Parameter item: Its name.
    /// - Returns: Its collection; nil if there is no such item.
    public func collection(of item: String) -> String? { entries[item]?.collection }

    /// Adds an item as the newest, or changes its attributes.
    ///
    /// - Parameters:
    ///   - item: Its name.
    ///   - collection: Where it is.
    ///   - attributes: What it is found by.
    public mutating func put(_ item: String, in collection: String, _ attributes: [String: String]) {
        let order = entries[item]?.order
        remove(item)
        let digests = Set(attributes.map { digest($0.key, $0.value) })
        entries[item] = Entry(collection: collection, digests: digests, order: order ?? next)
        if order == nil { next += 1 }
        for digest in digests { items[digest, default: []].insert(item) }
    }

    /// Removes an item.
    ///
    /// - Parameter item: Its name.
    public mutating func remove(_ item: String) {
        guard let entry = entries.removeValue(forKey: item) else { return }
        for digest in entry.digests {
            items[digest]?.remove(item)
            if items[digest]?.isEmpty == true { items[digest] = nil }
        }
    }

    /// Items that have all these attributes, the newest first.
    ///
    /// - Parameters:
    ///   - attributes: Of an item there may be more. Without any, every item is found.
    ///   - collection: Where to look; nil for everywhere.
    /// - Returns: Their names.
    public func search(_ attributes: [String: String], in collection: String? = nil) -> [String] {
        let wanted = attributes.map { digest($0.key, $0.value) }
        // The rarest first: what it has is all that is looked at.
        let sets = wanted.map { items[$0] ?? [] }
        let candidates: any Sequence<String> = sets.min { $0.count < $1.count } ?? Set(entries.keys)
        var found: [(item: String, order: UInt64)] = []
        for item in candidates {
            guard let entry = entries[item], collection == nil || entry.collection == collection,
                wanted.allSatisfy(entry.digests.contains)
            else { continue }
            found.append((item, entry.order))
        }
        return found.sorted { $0.order > $1.order }.map(\.item)
    }

    /// Looks for the item that has these attributes and no other (SS-22).
    ///
    /// - Parameters:
    ///   - attributes: All that it has.
    ///   - collection: Where to look.
    /// - Returns: The newest such item; nil if there is no such item.
    public func exactly(_ attributes: [String: String], in collection: String) -> String? {
        search(attributes, in: collection).first { entries[$0]?.digests.count == attributes.count }
    }

    private func digest(_ name: String, _ value: String) -> Digest {
        var text = Data("\(name.utf8.count):\(name)".utf8)
        text.append(contentsOf: value.utf8)
        return Data(HMAC<SHA256>.authenticationCode(for: text, using: key))
    }
}
