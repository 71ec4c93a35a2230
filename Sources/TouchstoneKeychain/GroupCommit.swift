import Dispatch
import Synchronization

/// Has the writes of many callers in one transaction, so that one sync of the disk serves all that wait for one.
///
/// Whoever comes while nobody writes carries out their own. All who come meanwhile wait, and the first of them then carries out what waits.
final class GroupCommit: Sendable {
    /// Writes of one transaction.
    static let maximum = 64

    /// One caller's write.
    final class Write: @unchecked Sendable {
        // Unchecked: its caller waits while another thread carries it out, and nobody else touches it before or after.
        /// Whether no other may be in its transaction.
        let isAlone: Bool
        /// nil: it was carried out; its caller may go on, and nothing may hold what belongs to it.
        private(set) var body: ((KeychainStore.KeychainWriter) throws -> Void)?
        /// The rows that it changed.
        let changed = ChangedRows()
        /// nil: it was not carried out yet.
        var outcome: Result<Void, any Error>?
        fileprivate let turn = DispatchSemaphore(value: 0)

        init(isAlone: Bool, _ body: @escaping (KeychainStore.KeychainWriter) throws -> Void) {
            self.isAlone = isAlone
            self.body = body
        }

        /// Lets go of what belongs to its caller: whoever let it begin may hold the rest a moment longer.
        fileprivate func end() { body = nil }
    }

    private struct State {
        /// In the order in which they came.
        var waiting: [Write] = []
        var isBusy = false
    }

    private let state = Mutex(State())

    /// How many wait until it is their turn.
    var waiting: Int { state.withLock { $0.waiting.count } }

    /// Returns once `write` was carried out, by this thread with what else waits, or by another.
    func perform(_ write: Write, _ carryOut: ([Write]) -> Void) {
        let isFirst = state.withLock { state in
            state.waiting.append(write)
            defer { state.isBusy = true }
            return !state.isBusy
        }
        if !isFirst { write.turn.wait() }
        guard write.outcome == nil else { return }
        let group = state.withLock { state in
            let isAlone = state.waiting.first?.isAlone == true
            let group = isAlone ? state.waiting.prefix(1) : state.waiting.prefix(Self.maximum).prefix { !$0.isAlone }
            state.waiting.removeFirst(group.count)
            return Array(group)
        }
        carryOut(group)
        let next = state.withLock { state in
            state.isBusy = !state.waiting.isEmpty
            return state.waiting.first
        }
        next?.turn.signal()
        for carriedOut in group {
            carriedOut.end()
            if carriedOut !== write { carriedOut.turn.signal() }
        }
    }
}
