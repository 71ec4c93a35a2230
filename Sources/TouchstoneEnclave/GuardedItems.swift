import Foundation
import TouchstoneCore

/// The items with an access control as far as this process knows them: what the keychain has shown, and what it changes (AC-10).
///
/// What they have to fit is in the kept state, see ``RecordedItems``.
struct GuardedItems {
    /// What is there: the last look, with what was recorded since.
    private(set) var shown = ShownItems()
    /// The name of the last look, for the owner's consent to what it found; nil where not all could be read.
    private(set) var look: String?
    /// Those of a look of which more is to come.
    private(set) var compared: ShownItems?
    private var underWay = ItemsUnderWay()
    /// Whether the keychain could not read all of them at the last look.
    private var isPartial = false
    /// When a change of them last raised the state's revision.
    private var countedAt = -Double.infinity
    /// How many are remembered, and how many one change may have.
    var maximum = ShownItems.maximum

    /// Whether it is one of those that are there, in a group that has this sum.
    func opens(_ tag: ItemTag, inGroupOf sum: UInt128) -> Bool {
        if underWay.wrapped.contains(tag.number) { return true }
        return shown.sum(of: tag.group) == sum && (shown.contains(tag) || underWay.leaving.contains(tag.number))
    }

    // MARK: a look

    /// Takes a part of a look, or all of it.
    ///
    /// - Returns: What there is once the look is whole; nil before.
    mutating func compare(
        _ tags: [ItemTag], isFirst: Bool, isLast: Bool, isPartial: Bool
    ) throws(MalformedItems) -> ShownItems? {
        var found = isFirst ? ShownItems() : compared ?? ShownItems()
        compared = nil
        for tag in tags { found.insert(tag) }
        guard found.count <= maximum else { throw .init(parameter: "items") }
        guard isLast else {
            compared = found
            return nil
        }
        shown = found
        underWay = ItemsUnderWay()
        self.isPartial = isPartial
        // What could not be read may be there all the same: nobody can accept it.
        look = nil
        return found
    }

    /// Names the look that was just taken.
    mutating func name(_ look: String) { self.look = look }

    // MARK: a change

    /// Takes a part of a change, or all of it.
    ///
    /// - Returns: The bindings of all of it once it is whole; nil before.
    mutating func collect(_ change: Enclave.ItemsChange) throws(MalformedItems) -> (removed: Data, added: Data)? {
        if change.isFirst { (underWay.removed, underWay.added) = (Data(), Data()) }
        underWay.removed += change.removed
        underWay.added += change.added
        let maximumBytes = maximum * ItemTags.itemBytes
        guard underWay.removed.count <= maximumBytes else { throw .init(parameter: "removed") }
        guard underWay.added.count <= maximumBytes else { throw .init(parameter: "added") }
        guard change.isLast else { return nil }
        return (underWay.removed, underWay.added)
    }

    /// Forgets the bindings that were collected.
    mutating func collected() { (underWay.removed, underWay.added) = (Data(), Data()) }

    /// Takes a change that is recorded.
    mutating func change(removed: [ItemTag], added: [ItemTag]) throws(TooManyItems) {
        // Of changes that nobody settles.
        if underWay.leaving.count >= maximum { underWay.leaving = [] }
        for tag in removed where shown.remove(tag) { underWay.leaving.insert(tag.number) }
        for tag in added { shown.insert(tag) }
        guard added.isEmpty || shown.count <= maximum else { throw .init() }
    }

    /// What was recorded last is on the disk.
    ///
    /// - Returns: Whether it is known of all of them: after a look at a part of the rows nobody knows yet which of both the rest is.
    mutating func settle() -> Bool {
        underWay = ItemsUnderWay()
        return !isPartial
    }

    /// A key was wrapped, for a row that the same change may read again.
    mutating func wrapped(_ tag: ItemTag) {
        if underWay.wrapped.count >= ItemsUnderWay.maximumWrapped { underWay.wrapped = [] }
        underWay.wrapped.insert(tag.number)
    }

    // MARK: revisions

    /// Whether a change is to raise the state's revision: an app writes items as fast as it likes, and a TPM counts slowly.
    func isRevisionDue(now: Double) -> Bool { now - countedAt >= RecordedItems.secondsBetweenRevisions }

    mutating func counted(now: Double) {
        if isRevisionDue(now: now) { countedAt = now }
    }
}
