import Foundation
import Synchronization

/// A place for one connection, which is made when it is needed.
///
/// Who took the place has it alone.
final class PostgreSQLPlace: @unchecked Sendable {
    // One caller at a time: the pool gives a place to one, and takes it back before the next.
    var connection: PostgreSQLConnection?

    /// The connection, made again if the server hung up since it was last used.
    func connected(to target: String) throws -> PostgreSQLConnection {
        if let connection, connection.isAlive { return connection }
        connection = nil
        let new = try PostgreSQLConnection(target)
        connection = new
        return new
    }
}

/// Who waits for a connection, and for how long.
final class PostgreSQLPool: Sendable {
    /// Of the calls that wait for a place; more are refused at once.
    static let mostWaiting = 2048

    private struct Waiter {
        var deadline: ContinuousClock.Instant
        var continuation: CheckedContinuation<PostgreSQLPlace, any Error>
    }

    private struct State {
        var free: [PostgreSQLPlace]
        /// In the order of their deadlines, because all wait equally long.
        var waiting: [Waiter] = []
        /// One for all who wait: a timer for each costs as much as a statement.
        var hasTimer = false
        var isClosed = false
        /// Who wait until all places are back.
        var closing: [CheckedContinuation<Void, Never>] = []
    }

    private let places: Int

    private let state: Mutex<State>
    private let waitLimit: Duration

    init(places: Int, waitLimit: Duration) {
        self.places = places
        state = Mutex(State(free: (0..<places).map { _ in PostgreSQLPlace() }))
        self.waitLimit = waitLimit
    }

    /// - Throws: `StoreError.unavailable` if no place is free within the limit.
    func take() async throws -> PostgreSQLPlace {
        // Most of the time there is one, and nobody has to wait.
        let free = state.withLock { $0.isClosed ? nil : $0.free.popLast() }
        if let free { return free }
        return try await withCheckedThrowingContinuation { continuation in
            let answer = state.withLock { state -> Result<PostgreSQLPlace, any Error>? in
                if state.isClosed { return .failure(Self.closed) }
                if let place = state.free.popLast() { return .success(place) }
                guard state.waiting.count < Self.mostWaiting else {
                    return .failure(StoreError.unavailable("more than \(Self.mostWaiting) calls wait for PostgreSQL"))
                }
                state.waiting.append(Waiter(deadline: .now + waitLimit, continuation: continuation))
                if !state.hasTimer {
                    state.hasTimer = true
                    Task { await refuseLate() }
                }
                return nil
            }
            if let answer { continuation.resume(with: answer) }
        }
    }

    func giveBack(_ place: PostgreSQLPlace) {
        let (next, closing) = state.withLock { state -> (Waiter?, [CheckedContinuation<Void, Never>]) in
            if state.isClosed { place.connection = nil }
            guard state.waiting.isEmpty else { return (state.waiting.removeFirst(), []) }
            // The connection that was used last comes next, so that few connections are busy if few are needed.
            state.free.append(place)
            guard state.isClosed, state.free.count == places else { return (nil, []) }
            defer { state.closing = [] }
            return (nil, state.closing)
        }
        next?.continuation.resume(returning: place)
        for one in closing { one.resume() }
    }

    /// Refuses who waits and who comes, and ends when all places are back.
    func close() async {
        let waiting = state.withLock { state in
            state.isClosed = true
            for place in state.free { place.connection = nil }
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.continuation.resume(throwing: Self.closed) }
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.free.count < places { state.closing.append(continuation) }
                return state.free.count == places
            }
            if isOver { continuation.resume() }
        }
    }

    private static let closed = StoreError.unavailable("the storage is closed")

    /// Until nobody waits.
    private func refuseLate() async {
        while true {
            let now = ContinuousClock.now
            let (late, next) = state.withLock { state in
                let late = state.waiting.prefix { $0.deadline <= now }
                state.waiting.removeFirst(late.count)
                state.hasTimer = !state.waiting.isEmpty
                return (Array(late), state.waiting.first?.deadline)
            }
            for waiter in late {
                waiter.continuation.resume(
                    throwing: StoreError.unavailable("no connection to PostgreSQL was free within \(waitLimit)"))
            }
            guard let next else { return }
            try? await Task.sleep(until: next)
        }
    }
}
