package import Foundation
package import TouchstoneCore
import TouchstoneLog
import TouchstoneMemory

/// What the keychain says of its rows is not a list of rows.
package struct MalformedItems: Error {
    /// The field of the request.
    package let parameter: String
}

/// More rows than the enclave remembers.
package struct TooManyItems: Error {}

/// The items with an access control are bound to the enclave's state: see ``RecordedItems``.
///
/// The database and the state are two files. A change is recorded in the state first, beside what was before; then the database takes it.
/// Where that is cut off, the next look at the rows tells which of both it is.
extension Enclave {
    /// Whether an item with an access control is one of those that are there, and nothing else of its group was altered from outside.
    func isRecorded(_ binding: Enclave.ItemBinding) -> Bool {
        guard let recorded = state.items else { return true }
        guard let tag = itemTags.tag(of: binding.item) else { return false }
        if itemsUnderWay.wrapped.contains(tag.number) { return true }
        return shownItems.sum(of: tag.group) == recorded.sum(of: tag.group)
            && (shownItems.contains(tag) || itemsUnderWay.leaving.contains(tag.number))
    }

    /// Holds the rows that there are against what was recorded.
    ///
    /// With `takes` they are recorded where none ever were.
    package mutating func compareItems(
        _ items: Data, isFirst: Bool, isLast: Bool, takes: Bool = false, isPartial: Bool = false
    ) throws(MalformedItems) -> ItemsLook {
        guard let tags = itemTags.tags(of: items) else { throw .init(parameter: "items") }
        var found = isFirst ? ShownItems() : comparedItems ?? ShownItems()
        comparedItems = nil
        for tag in tags { found.insert(tag) }
        guard found.count <= maximumItems else { throw .init(parameter: "items") }
        guard isLast else {
            comparedItems = found
            return ItemsLook(isRecorded: state.items != nil)
        }
        shownItems = found
        itemsUnderWay = ItemsUnderWay()
        isItemsLookPartial = isPartial
        guard !isItemsLookPartial else {
            // What could not be read may be there all the same. So this look settles nothing, and nobody can accept it.
            itemsLook = nil
            let altered = (0...UInt8.max).filter { state.items?.canBe($0, at: found.sum(of: $0)) == false }
            return ItemsLook(isRecorded: state.items != nil, altered: altered)
        }
        let look = Self.freshIdentifier()
        itemsLook = look
        let takes = takes && state.items == nil
        guard var recorded = state.items ?? (takes ? RecordedItems() : nil) else {
            return ItemsLook(isRecorded: false)
        }
        var altered: [UInt8] = []
        for group in 0...UInt8.max {
            if takes { recorded.accept(group, at: found.sum(of: group)) }
            if !recorded.settle(group, at: found.sum(of: group)) { altered.append(group) }
        }
        if takes { recorded.settle() }
        state.items = recorded
        return ItemsLook(isRecorded: true, altered: altered, look: look)
    }

    /// Records a change before the keychain makes it.
    ///
    /// - Returns: Whether it is recorded; not where the rows were never compared.
    package mutating func recordItems(_ change: ItemsChange) throws -> Bool {
        if change.isFirst { (itemsUnderWay.removed, itemsUnderWay.added) = (Data(), Data()) }
        itemsUnderWay.removed += change.removed
        itemsUnderWay.added += change.added
        let maximumBytes = maximumItems * ItemTags.itemBytes
        guard itemsUnderWay.removed.count <= maximumBytes else { throw MalformedItems(parameter: "removed") }
        guard itemsUnderWay.added.count <= maximumBytes else { throw MalformedItems(parameter: "added") }
        guard change.isLast else { return state.items != nil }
        guard let removed = itemTags.tags(of: itemsUnderWay.removed),
            let added = itemTags.tags(of: itemsUnderWay.added)
        else { throw MalformedItems(parameter: "removed") }
        (itemsUnderWay.removed, itemsUnderWay.added) = (Data(), Data())
        guard var recorded = state.items else { return false }
        // Of changes that nobody settles.
        if itemsUnderWay.leaving.count >= maximumItems { itemsUnderWay.leaving = [] }
        for group in Set((removed + added).map(\.group)) { recorded.begin(group) }
        // The difference to what was recorded stays what it is: an older row that an app deletes is still one too many.
        for tag in removed {
            recorded.remove(tag)
            if shownItems.remove(tag) { itemsUnderWay.leaving.insert(tag.number) }
        }
        for tag in added {
            recorded.add(tag)
            shownItems.insert(tag)
        }
        guard added.isEmpty || shownItems.count <= maximumItems else { throw TooManyItems() }
        state.items = recorded
        return true
    }

    /// Whether a change of the items is to raise the state's revision: an app writes items as fast as it likes, and a TPM counts slowly.
    package func isItemsRevisionDue(now: Double) -> Bool {
        now - itemsCountedAt >= RecordedItems.secondsBetweenRevisions
    }

    /// A change is recorded whole.
    package mutating func itemsRecorded(now: Double) {
        if isItemsRevisionDue(now: now) { itemsCountedAt = now }
    }

    /// What was recorded last is on the disk.
    package mutating func settleItems() {
        // After a look at a part of the rows, nobody knows yet which of both the rest is.
        if !isItemsLookPartial { state.items?.settle() }
        itemsUnderWay = ItemsUnderWay()
    }

    /// An item's key was wrapped, for a row that the same change may read again.
    package mutating func itemWrapped(_ binding: Enclave.ItemBinding) {
        guard state.items != nil, let tag = itemTags.tag(of: binding.item) else { return }
        if itemsUnderWay.wrapped.count >= ItemsUnderWay.maximumWrapped { itemsUnderWay.wrapped = [] }
        itemsUnderWay.wrapped.insert(tag.number)
    }

    // MARK: the owner

    /// Takes the owner's passcode for accepting what is there: never a finger, and never an app (PC-22).
    package mutating func acceptItems(
        _ look: String, _ sealed: SealedPasscode, connection: Int = 0, now: Double
    ) throws(Refused) -> PasscodeJob {
        // The owner agrees to what was listed, and not to what somebody put there meanwhile.
        guard look == itemsLook else { throw .init(.staleNonce) }
        let opened = try openSetting(sealed, for: .acceptItems(look: look), connection: connection)
        let secret = try Self.passcodes(in: opened, count: 1)[0]
        return PasscodeJob(purpose: .acceptItems(look: look), current: try begin(secret, now: now))
    }

    /// Ends that job: what the keychain showed in this look is what is there, with what was recorded since.
    mutating func finishAccepting(_ look: String, ticket: String, key: SecretBytes, now: Double) -> [EnclaveEvent] {
        guard finish(guess: key, now: now, asked: "accept-items") != nil else { return [rejected(ticket, now: now)] }
        guard look == itemsLook else {
            return [.answered(ticket: ticket, .refused(.staleNonce))]
        }
        if var recorded = state.items {
            for group in 0...UInt8.max { recorded.accept(group, at: shownItems.sum(of: group)) }
            if recorded != state.items { note(LogFact(event: .itemsAccepted, factors: [.passcode])) }
            state.items = recorded
        }
        return [.answered(ticket: ticket, .done)]
    }
}
