import Crypto
import Foundation
import Synchronization
import TouchstoneCore
import TouchstoneMemory

/// Keys of items that the enclave has opened in this unlocked period: such an item is read again without a call of the enclave.
///
/// Only keys are here that the enclave gives to whoever asks, without a proof of the owner. They lie in locked memory, and go when their
/// class is locked, when the device is erased, when the item is changed or deleted, and with the process.
final class OpenedKeys: Sendable {
    /// Past that, the key that was kept first goes.
    static let maximum = 4096

    private static let keyBytes = 32

    /// All that the enclave has held a key against: a row that differs in anything is asked for again.
    private struct Entry {
        var slot: Int
        var wrappedKey: Data
        var binding: Data
        var accessGroup: AccessGroup
        var accessibility: Accessibility

        func isKey(of item: OpenItem) -> Bool {
            wrappedKey == item.row.wrappedKey && binding == item.row.binding.bytes
                && accessibility == item.row.accessibility
                && accessGroup == item.attributes.accessGroup
        }
    }

    private struct State {
        let slots = SecretSlots(count: OpenedKeys.maximum, length: OpenedKeys.keyBytes)
        /// By the row's number.
        var entries: [Int64: Entry] = [:]
        /// Whose key is in each slot.
        var owners = [Int64?](repeating: nil, count: OpenedKeys.maximum)
        /// The slot that is filled next, in turns.
        var next = 0
        /// How often keys went for another reason than room.
        var changes: UInt64 = 0
        /// How often the class keys were made anew.
        var generation = 0

        mutating func remove(_ rowID: Int64) {
            guard let entry = entries.removeValue(forKey: rowID) else { return }
            slots.wipe(entry.slot)
            owners[entry.slot] = nil
        }
    }

    private let state = Mutex(State())

    /// A point in time: what was opened before a key went is not kept after it.
    struct Moment { fileprivate var changes: UInt64 }

    /// To be taken before a row is read whose key may be kept.
    var moment: Moment { Moment(changes: state.withLock { $0.changes }) }

    var count: Int { state.withLock { $0.entries.count } }

    /// The item's key, if it is kept.
    func key(of item: OpenItem) -> SymmetricKey? {
        guard let rowID = item.row.rowID, !item.control.isConstrained else { return nil }
        return state.withLock { state in
            guard let entry = state.entries[rowID], entry.isKey(of: item) else { return nil }
            return unsafe state.slots.withUnsafeBytes(of: entry.slot) { unsafe SymmetricKey(data: $0) }
        }
    }

    /// Keeps a key that the enclave has given without a context, and so without a proof; not one of an item with a constraint.
    func keep(_ key: Data, of item: OpenItem, since moment: Moment) {
        guard let rowID = item.row.rowID, !item.control.isConstrained else { return }
        state.withLock { state in
            guard state.changes == moment.changes else { return }
            state.remove(rowID)
            let slot = state.next
            if let oldest = state.owners[slot] { state.remove(oldest) }
            guard state.slots.fill(slot, with: key) else { return }
            state.next = (slot + 1) % Self.maximum
            state.owners[slot] = rowID
            state.entries[rowID] = Entry(
                slot: slot, wrappedKey: item.row.wrappedKey, binding: item.row.binding.bytes,
                accessGroup: item.attributes.accessGroup, accessibility: item.row.accessibility)
        }
    }

    /// Forgets the keys of rows that were changed or deleted.
    func forget(_ rowIDs: some Sequence<Int64>) {
        state.withLock { state in
            state.changes += 1
            for rowID in rowIDs { state.remove(rowID) }
        }
    }

    /// Forgets the keys of all classes but those that are open, and every key once class keys were made anew.
    func forgetAll(but open: Set<Accessibility> = [], generation: Int = 0) {
        state.withLock { state in
            state.changes += 1
            let isSame = state.generation == generation
            state.generation = generation
            for (rowID, entry) in state.entries where !isSame || !open.contains(entry.accessibility) {
                state.remove(rowID)
            }
        }
    }

    /// Whether there is anything but zeros in the memory of the keys; for tests.
    var isWiped: Bool {
        state.withLock { state in
            (0..<Self.maximum).allSatisfy { slot in
                unsafe state.slots.withUnsafeBytes(of: slot) { bytes in unsafe bytes.allSatisfy { $0 == 0 } }
            }
        }
    }
}
