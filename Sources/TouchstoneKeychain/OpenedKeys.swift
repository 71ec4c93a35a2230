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

    private struct Entry {
        var slot: Int
        /// Of the row, see `digest(of:)`.
        var digest: SHA256Digest
        var version: Data
        var accessibility: Accessibility
    }

    /// Of all that the enclave has held a key against: a row that differs in anything is asked for again.
    private static func digest(of item: OpenItem) -> SHA256Digest {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256)
        for part in [item.row.wrappedKey, item.row.binding.bytes] {
            bytes.append(UInt8(truncatingIfNeeded: part.count))
            bytes += part
        }
        bytes += item.row.accessibility.rawValue.utf8
        bytes.append(0)
        bytes += item.attributes.accessGroup.rawValue.utf8
        return SHA256.hash(data: bytes)
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
            guard let entry = state.entries[rowID], entry.version == item.row.version,
                entry.digest == Self.digest(of: item)
            else { return nil }
            return unsafe state.slots.withUnsafeBytes(of: entry.slot) { unsafe SymmetricKey(data: $0) }
        }
    }

    /// Keeps a key that the enclave has given without a context, and so without a proof, or of what an app has just given; not one of an item
    /// with a constraint.
    func keep(_ key: SymmetricKey, of item: OpenItem, since moment: Moment) {
        guard let rowID = item.row.rowID, !item.control.isConstrained else { return }
        let digest = Self.digest(of: item)
        state.withLock { state in
            guard state.changes == moment.changes else { return }
            state.remove(rowID)
            let slot = state.next
            if let oldest = state.owners[slot] { state.remove(oldest) }
            guard unsafe key.withUnsafeBytes({ unsafe state.slots.fill(slot, with: $0) }) else { return }
            state.next = (slot + 1) % Self.maximum
            state.owners[slot] = rowID
            state.entries[rowID] = Entry(
                slot: slot, digest: digest, version: item.row.version, accessibility: item.row.accessibility)
        }
    }

    /// Forgets the keys of rows that were changed or deleted, but of those that are kept as they are now.
    func forget(_ rowIDs: some Sequence<Int64>, butThose kept: [Int64: ItemCipher.Binding] = [:]) {
        state.withLock { state in
            state.changes += 1
            for rowID in rowIDs {
                if let binding = kept[rowID], state.entries[rowID]?.version == binding.version { continue }
                state.remove(rowID)
            }
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
