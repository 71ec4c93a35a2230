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
        return guardedItems.opens(tag, inGroupOf: recorded.sum(of: tag.group))
    }

    /// Holds the rows that there are against what was recorded.
    ///
    /// With `takes` they are recorded where none ever were.
    package mutating func compareItems(
        _ items: Data, isFirst: Bool, isLast: Bool, takes: Bool = false, isPartial: Bool = false
    ) throws(MalformedItems) -> ItemsLook {
        guard let tags = itemTags.tags(of: items) else { throw .init(parameter: "items") }
        guard
            let found = try guardedItems.compare(tags, isFirst: isFirst, isLast: isLast, isPartial: isPartial)
        else { return ItemsLook(isRecorded: state.items != nil) }
        guard !isPartial else {
            // What could not be read may be there all the same: this look settles nothing.
            let altered = (0...UInt8.max).filter { state.items?.canBe($0, at: found.sum(of: $0)) == false }
            return ItemsLook(isRecorded: state.items != nil, altered: altered)
        }
        let look = random.identifier()
        guardedItems.name(look)
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
        guard let bindings = try guardedItems.collect(change) else { return state.items != nil }
        guard let removed = itemTags.tags(of: bindings.removed), let added = itemTags.tags(of: bindings.added) else {
            throw MalformedItems(parameter: "removed")
        }
        guardedItems.collected()
        guard var recorded = state.items else { return false }
        for group in Set((removed + added).map(\.group)) { recorded.begin(group) }
        // The difference to what was recorded stays what it is: an older row that an app deletes is still one too many.
        for tag in removed { recorded.remove(tag) }
        for tag in added { recorded.add(tag) }
        try guardedItems.change(removed: removed, added: added)
        state.items = recorded
        return true
    }

    /// Whether a change of the items is to raise the state's revision.
    package func isItemsRevisionDue(now: Double) -> Bool { guardedItems.isRevisionDue(now: now) }

    /// A change is recorded whole.
    package mutating func itemsRecorded(now: Double) { guardedItems.counted(now: now) }

    /// What was recorded last is on the disk.
    package mutating func settleItems() {
        if guardedItems.settle() { state.items?.settle() }
    }

    /// An item's key was wrapped, for a row that the same change may read again.
    package mutating func itemWrapped(_ binding: Enclave.ItemBinding) {
        guard state.items != nil, let tag = itemTags.tag(of: binding.item) else { return }
        guardedItems.wrapped(tag)
    }

    // MARK: the owner

    /// Takes the owner's passcode for accepting what is there: never a finger, and never an app (PC-22).
    package mutating func acceptItems(
        _ look: String, _ sealed: SealedPasscode, connection: Int = 0, now: Double
    ) throws(Refused) -> PasscodeJob {
        // The owner agrees to what was listed, and not to what somebody put there meanwhile.
        guard look == guardedItems.look else { throw .init(.staleNonce) }
        let opened = try openSetting(sealed, for: .acceptItems(look: look), connection: connection)
        let secret = try Self.passcodes(in: opened, count: 1)[0]
        return PasscodeJob(purpose: .acceptItems(look: look), current: try begin(secret, now: now))
    }

    /// Ends that job: what the keychain showed in this look is what is there, with what was recorded since.
    mutating func finishAccepting(_ look: String, ticket: String, key: SecretBytes, now: Double) -> [EnclaveEvent] {
        guard finish(guess: key, now: now, asked: "accept-items") != nil else { return [rejected(ticket, now: now)] }
        guard look == guardedItems.look else {
            return [.answered(ticket: ticket, .refused(.staleNonce))]
        }
        if var recorded = state.items {
            for group in 0...UInt8.max { recorded.accept(group, at: guardedItems.shown.sum(of: group)) }
            if recorded != state.items { note(LogFact(event: .itemsAccepted, factors: [.passcode])) }
            state.items = recorded
        }
        return [.answered(ticket: ticket, .done)]
    }
}
