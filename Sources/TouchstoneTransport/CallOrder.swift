internal import Dispatch
internal import Synchronization

/// Lets one call after the other have a connection, and those that give way last.
final class CallOrder: Sendable {
    private struct State {
        var isTaken = false
        /// Calls without the connection: all that do not give way, and of the others those that wait to be woken.
        var first = 0
        var givingWay = 0

        mutating func take(givingWay givesWay: Bool) -> Bool {
            guard !isTaken, !(givesWay && first > 0) else {
                if givesWay { givingWay += 1 }
                return false
            }
            isTaken = true
            if !givesWay { first -= 1 }
            return true
        }
    }

    private enum Next { case first, givingWay, nobody }

    private let state = Mutex(State())
    private let firstWake = DispatchSemaphore(value: 0)
    private let givingWayWake = DispatchSemaphore(value: 0)

    /// How many calls wait; for tests.
    var waiting: Int { state.withLock { $0.first + $0.givingWay } }

    /// Runs `body` while nobody else has the connection.
    ///
    /// - Parameters:
    ///   - givesWay: Whether calls that do not give way go before this one, however long it has waited.
    ///   - body: Makes the call.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    func call<R>(givingWay givesWay: Bool, _ body: () throws -> R) rethrows -> R {
        if !givesWay { state.withLock { $0.first += 1 } }
        // Somebody else may have been faster than the one that was woken.
        while !state.withLock({ $0.take(givingWay: givesWay) }) {
            (givesWay ? givingWayWake : firstWake).wait()
        }
        defer { leave() }
        return try body()
    }

    private func leave() {
        let next: Next = state.withLock { state in
            state.isTaken = false
            if state.first > 0 { return .first }
            guard state.givingWay > 0 else { return .nobody }
            state.givingWay -= 1
            return .givingWay
        }
        switch next {
        case .first: firstWake.signal()
        case .givingWay: givingWayWake.signal()
        case .nobody: break
        }
    }
}
