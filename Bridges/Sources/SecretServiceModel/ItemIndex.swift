internal import Crypto
internal import Foundation

/// Finds items by their attributes, and keeps none of them in clear (SS-21).
///
/// A name and its value are kept as a keyed digest. The key is of this run alone. So locked items are still found, and their attributes
/// cannot be read from it.
public struct ItemIndex: Sendable {
    fileprivate typealias Digest = Data

    /// Attributes as the index looks for them, so that they are digested once for several looks.
    public struct Attributes: Sendable {
        fileprivate let digests: [Digest]
    }

    private struct Entry: Sendable {
        var collection: String
        var digests: Set<Digest>
        /// Greater for what came later.
        var order: UInt64
    }

    /// Has taken the key, and nothing else yet: every digest begins with a copy of it.
    private let start = HMAC<SHA256>(key: SymmetricKey(size: .bits256))
    private var entries: [String: Entry] = [:]
    private var items: [Digest: Set<String>] = [:]
    private var next: UInt64 = 0

    /// An empty one.
    public init() {}

    /// One without items, for which attributes that this one digested are good too.
    public var emptied: ItemIndex {
        var index = self
        (index.entries, index.items, index.next) = ([:], [:], 0)
        return index
    }

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
        put(item, in: collection, digested(attributes))
    }

    /// Adds an item as the newest, or changes its attributes.
    ///
    /// - Parameters:
    ///   - item: Its name.
    ///   - collection: Where it is.
    ///   - attributes: As this index digested them.
    public mutating func put(_ item: String, in collection: String, _ attributes: Attributes) {
        let order = entries[item]?.order
        remove(item)
        let digests = Set(attributes.digests)
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
        search(digested(attributes).digests, in: collection)
    }

    private func search(_ wanted: [Digest], in collection: String?) -> [String] {
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
    public func exactly(_ attributes: Attributes, in collection: String) -> String? {
        search(attributes.digests, in: collection).first { entries[$0]?.digests.count == attributes.digests.count }
    }

    /// Attributes, for looks at this index.
    ///
    /// - Parameter attributes: Names and values.
    /// - Returns: What only this index knows them by.
    public func digested(_ attributes: [String: String]) -> Attributes {
        Attributes(digests: attributes.map { digest($0.key, $0.value) })
    }

    private func digest(_ name: String, _ value: String) -> Digest {
        var text = Array("\(name.utf8.count):".utf8)
        text += name.utf8
        text += value.utf8
        var code = start
        code.update(data: text)
        return Data(code.finalize())
    }
}
