import Foundation
import Synchronization

@testable import SyncStores

/// Between a member and any store: calls get lost on the way there or back, happen twice, and lists are old.
final class FaultyStore: SyncStore {
    private let store: any SyncStore
    private let state: Mutex<State>

    private struct State {
        var dice: Dice
        var pages: [String: StorePage] = [:]
        var faults = 0
        var isOn = true
    }

    private enum Fault: CaseIterable {
        case none, noneEither, lostBefore, lostAfter, twice, stale
    }

    var faults: Int { state.withLock { $0.faults } }

    init(_ store: any SyncStore, seed: UInt64) {
        self.store = store
        state = Mutex(State(dice: Dice(state: seed)))
    }

    /// From now on everything works.
    func repair() { state.withLock { $0.isOn = false } }

    private func fault() -> Fault {
        state.withLock { state in
            guard state.isOn else { return .none }
            let fault = Fault.allCases.randomElement(using: &state.dice)!
            if fault != .none, fault != .noneEither { state.faults += 1 }
            return fault
        }
    }

    private func through<Answer>(_ call: () async throws(StoreError) -> Answer) async throws(StoreError) -> Answer {
        switch fault() {
        case .none, .noneEither, .stale: return try await call()
        case .lostBefore: throw .unavailable("lost on its way")
        case .lostAfter:
            _ = try await call()
            throw .unavailable("the answer was lost")
        case .twice:
            _ = try await call()
            return try await call()
        }
    }

    func prepare() async throws(StoreError) { try await through(store.prepare) }

    func put(_ name: RecordName, _ bytes: Data) async throws(StoreError) {
        try await through { () async throws(StoreError) in try await store.put(name, bytes) }
    }

    func get(_ name: RecordName) async throws(StoreError) -> Data? {
        try await through { () async throws(StoreError) in try await store.get(name) }
    }

    func list(since cursor: StoreCursor, limit: Int) async throws(StoreError) -> StorePage {
        let key = "\(cursor.text) \(limit)"
        let old = state.withLock { $0.pages[key] }
        // A page as it was before.
        if fault() == .stale, let old { return old }
        let page = try await through { () async throws(StoreError) in try await store.list(since: cursor, limit: limit)
        }
        state.withLock { $0.pages[key] = page }
        return page
    }

    func delete(_ name: RecordName) async throws(StoreError) {
        try await through { () async throws(StoreError) in try await store.delete(name) }
    }

    func head() async throws(StoreError) -> Data? { try await through(store.head) }

    func swapHead(_ expected: Data?, for new: Data) async throws(StoreError) -> Bool {
        try await through { () async throws(StoreError) in try await store.swapHead(expected, for: new) }
    }
}

/// Calls again while the store is unavailable; a thousand times at most.
func persistently<Answer>(_ call: () async throws(StoreError) -> Answer) async throws(StoreError) -> Answer {
    for _ in 0..<1000 {
        do {
            return try await call()
        } catch .unavailable {}
    }
    throw .unavailable("it never worked")
}
