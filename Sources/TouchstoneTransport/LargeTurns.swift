internal import Dispatch
internal import Synchronization

/// Lets a few large messages be read, answered and written at a time; whoever has another waits.
///
/// A large message takes several times its size of memory while it is worked on. So this bounds the memory of a service, however
/// many of its peers have one at once.
package final class LargeTurns: Sendable {
    private struct State {
        var taken: [Int32] = []
        var waiting: [(process: Int32, begin: @Sendable (LargeTurn) -> Void)] = []
        var waitingThreads = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// Calls `begin` with a turn, at once or when it is the turn of `process`, on whichever thread ended the one before.
    ///
    /// First come, first served; but one process has one turn at a time, so that it cannot keep the others waiting.
    ///
    /// - Returns: Whether it may wait; a process has so many that wait, and no more.
    @discardableResult
    package func take(for process: Int32, _ begin: @escaping @Sendable (LargeTurn) -> Void) -> Bool {
        let mayWait = state.withLock { state in
            guard
                state.waiting.count(where: { $0.process == process }) < VarlinkLimits.maximumLargeMessagesThatWait
            else { return false }
            state.waiting.append((process, begin))
            return true
        }
        if mayWait { beginNext() }
        return mayWait
    }

    /// Waits for a turn, on a thread that may.
    ///
    /// - Returns: nil where the process may not wait, and where so many threads wait that one more could take our last one.
    func wait(for process: Int32) -> LargeTurn? {
        let mayWait = state.withLock { state in
            guard state.waitingThreads < VarlinkLimits.maximumThreadsWaitingForTurns else { return false }
            state.waitingThreads += 1
            return true
        }
        guard mayWait else { return nil }
        defer { state.withLock { $0.waitingThreads -= 1 } }
        let semaphore = DispatchSemaphore(value: 0)
        let taken = Mutex<LargeTurn?>(nil)
        let isTaken = take(for: process) { turn in
            taken.withLock { $0 = turn }
            semaphore.signal()
        }
        guard isTaken else { return nil }
        semaphore.wait()
        return taken.withLock { $0 }
    }

    /// Threads that are in `wait`.
    var waitingThreads: Int { state.withLock { $0.waitingThreads } }

    fileprivate func end(_ process: Int32) {
        state.withLock { state in
            if let index = state.taken.firstIndex(of: process) { state.taken.remove(at: index) }
        }
        beginNext()
    }

    private func beginNext() {
        let next = state.withLock { state -> (process: Int32, begin: @Sendable (LargeTurn) -> Void)? in
            guard state.taken.count < VarlinkLimits.maximumLargeMessages,
                let index = state.waiting.firstIndex(where: { !state.taken.contains($0.process) })
            else { return nil }
            let next = state.waiting.remove(at: index)
            state.taken.append(next.process)
            return next
        }
        guard let next else { return }
        next.begin(LargeTurn(self, next.process))
    }
}

/// The turn of one large message: it ends with the object.
package final class LargeTurn: Sendable {
    private let turns: LargeTurns
    private let process: Int32

    fileprivate init(_ turns: LargeTurns, _ process: Int32) {
        self.turns = turns
        self.process = process
    }

    deinit { turns.end(process) }
}
