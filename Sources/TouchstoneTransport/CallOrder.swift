internal import Dispatch
internal import Synchronization

/// Lets one call after the other have a connection, and those that give way after the others.
///
/// After four calls in a row that do not give way, one that does has its turn, so that calls of this kind always go on.
final class CallOrder: Sendable {
    private static let mostInARow = 4

    private struct State {
        var isTaken = false
        /// Calls without the connection.
        var first = 0
        var givingWay = 0
        /// So many calls in a row went before one that waited to give way.
        var passed = 0

        /// Which kind is next, where there is one of it.
        var nextGivesWay: Bool { first == 0 || givingWay > 0 && passed >= CallOrder.mostInARow }

        mutating func take(givingWay givesWay: Bool) -> Bool {
            guard !isTaken, nextGivesWay == givesWay else { return false }
            isTaken = true
            if givesWay {
                givingWay -= 1
                passed = 0
            } else {
                first -= 1
                passed = givingWay > 0 ? passed + 1 : 0
            }
            return true
        }
    }

    private let state = Mutex(State())
    private let firstWake = DispatchSemaphore(value: 0)
    private let givingWayWake = DispatchSemaphore(value: 0)

    /// How many calls wait; for tests.
    var waiting: Int { state.withLock { $0.first + $0.givingWay } }

    /// Runs `body` while nobody else has the connection.
    ///
    /// - Parameters:
    ///   - givesWay: Whether calls that do not give way go before this one.
    ///   - body: Makes the call.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    func call<R>(givingWay givesWay: Bool, _ body: () throws -> R) rethrows -> R {
        var isTaken = state.withLock { state in
            if givesWay { state.givingWay += 1 } else { state.first += 1 }
            return state.take(givingWay: givesWay)
        }
        while !isTaken {
            (givesWay ? givingWayWake : firstWake).wait()
            // A call that came meanwhile may have been faster.
            isTaken = state.withLock { $0.take(givingWay: givesWay) }
        }
        defer { leave() }
        return try body()
    }

    private func leave() {
        let next = state.withLock { state -> DispatchSemaphore? in
            state.isTaken = false
            guard state.first + state.givingWay > 0 else { return nil }
            return state.nextGivesWay ? givingWayWake : firstWake
        }
        next?.signal()
    }
}
