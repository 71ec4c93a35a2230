package import SyncStores

/// How far synchronizing has come: a cache, without which everything is given once more.
package struct SyncProgress: Codable, Equatable, Sendable {
    /// Which store and circle it is of.
    package let store: String
    /// Up to where the store was listed.
    package internal(set) var cursor = StoreCursor.start
    /// `next` of the last `ListObjects` whose objects are all in the store.
    package internal(set) var own: Int64?
    /// Where to begin again with the next process, because the store did not take an object after this place; nil: it took all.
    var refusedAfter: Int64?
    /// Numbers of each writer that need nothing any more.
    var known: [String: NumberRanges] = [:]
    /// Names of objects that the device wants to be given again.
    package internal(set) var waiting: Set<String> = []

    package init(store: String) { self.store = store }

    func knows(_ name: RecordName) -> Bool { known[name.writer]?.contains(name.number) ?? false }

    mutating func settle(_ name: RecordName) {
        known[name.writer, default: NumberRanges()].insert(name.number)
        waiting.remove(name.description)
    }
}
