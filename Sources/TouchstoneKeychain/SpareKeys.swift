import Crypto
import Foundation
import Synchronization
import TouchstoneCore
import TouchstoneEnclaveInterface

/// A fresh key of an item, as the enclave has wrapped it.
struct WrappedItemKey: Sendable {
    let key: SymmetricKey
    let binding: ItemCipher.Binding
    var wrappedKey = Data()

    init(_ itemClass: ItemClass, _ identifier: ItemIdentifier = .random()) {
        key = SymmetricKey(size: .bits256)
        binding = .init(itemClass: itemClass, identifier: identifier, version: ItemIdentifier.random().bytes)
    }

    /// For the enclave; to be wiped by whoever sends it.
    var keyBytes: Data { unsafe key.withUnsafeBytes { unsafe Data($0) } }
}

/// Keys for what is still to be written: who adds many items, or changes one again and again, asks the enclave once for several (DEC-581).
///
/// Only of items without any flag in their access control. They go when the device is locked, unlocked or erased, or its passcode changes.
final class SpareKeys: Sendable {
    /// Past that, the kinds that there are give up theirs.
    let maximumKinds: Int
    /// Keys of one kind.
    let maximumOfKind: Int
    /// Keys of all kinds.
    static let maximum = 1024

    init(maximumKinds: Int, maximumOfKind: Int) {
        self.maximumKinds = maximumKinds
        self.maximumOfKind = min(maximumOfKind, EnclaveInterface.spareKeysPerMessage)
    }

    /// What they are bound to.
    struct Kind: Hashable {
        var accessGroup: AccessGroup
        var itemClass: ItemClass
        var protection: Accessibility
        /// The item that is changed; nil: each is of another that is still to be added.
        var identifier: ItemIdentifier?

        /// nil: with such an access control each item is bound to what is there when it is written.
        init?(
            _ accessGroup: AccessGroup, _ itemClass: ItemClass, _ control: AccessControl,
            of identifier: ItemIdentifier? = nil
        ) {
            guard control.flags.isEmpty else { return nil }
            (self.accessGroup, self.itemClass, protection) = (accessGroup, itemClass, control.protection)
            self.identifier = identifier
        }
    }

    private struct Spares {
        var keys: [WrappedItemKey] = []
        /// How many are asked for next time: nobody who writes once has any.
        var wanted = 0
    }

    private struct State {
        var kinds: [Kind: Spares] = [:]
        var count = 0
        var changes: UInt64 = 0
    }

    private let state = Mutex(State())

    /// A point in time: what was wrapped before the class keys changed is not kept after it.
    struct Moment { fileprivate var changes: UInt64 }

    var count: Int { state.withLock { $0.count } }

    /// A key; nil if there is no key of the kind.
    func take(_ kind: Kind) -> WrappedItemKey? {
        state.withLock { state in
            guard let key = state.kinds[kind]?.keys.popLast() else { return nil }
            state.count -= 1
            return key
        }
    }

    /// Whether there is a key of the kind.
    func has(_ kind: Kind) -> Bool { state.withLock { $0.kinds[kind]?.keys.isEmpty == false } }

    /// How many to ask for beside the one that is needed now, and when that was.
    func ask(for kind: Kind) -> (count: Int, moment: Moment) {
        state.withLock { state in
            if state.kinds[kind] == nil, state.kinds.count >= maximumKinds { (state.kinds, state.count) = ([:], 0) }
            let count = state.kinds[kind]?.wanted ?? 0
            state.kinds[kind, default: .init()].wanted = min(max(4, count * 2), maximumOfKind)
            return (count, Moment(changes: state.changes))
        }
    }

    /// Keeps what the enclave has wrapped, as far as there is room.
    func add(_ keys: [WrappedItemKey], _ kind: Kind, since moment: Moment) {
        state.withLock { state in
            guard state.changes == moment.changes, let spares = state.kinds[kind] else { return }
            let room = min(maximumOfKind - spares.keys.count, Self.maximum - state.count)
            let kept = keys.prefix(max(0, room))
            state.kinds[kind]?.keys += kept
            state.count += kept.count
        }
    }

    func forgetAll() {
        state.withLock { state in
            state.changes += 1
            (state.kinds, state.count) = ([:], 0)
        }
    }
}
