import Foundation
import Synchronization

/// A place for one connection, which is made when it is needed.
///
/// Who took the place has it alone.
final class PostgreSQLPlace: @unchecked Sendable {
    // One thread at a time: the pool gives a place to one caller, and takes it back before the next.
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
        var id: Int
        var continuation: CheckedContinuation<PostgreSQLPlace, any Error>
        var timer: Task<Void, any Error>
    }

    private struct State {
        var free: [PostgreSQLPlace]
        var waiting: [Waiter] = []
        var nextID = 0
        var isClosed = false
    }

    private let state: Mutex<State>
    private let waitLimit: Duration

    init(places: Int, waitLimit: Duration) {
        state = Mutex(State(free: (0..<places).map { _ in PostgreSQLPlace() }))
        self.waitLimit = waitLimit
    }

    /// - Throws: `StoreError.unavailable` if no place is free within the limit.
    func take() async throws -> PostgreSQLPlace {
        try await withCheckedThrowingContinuation { continuation in
            let answer = state.withLock { state -> Result<PostgreSQLPlace, any Error>? in
                if state.isClosed { return .failure(Self.closed) }
                if let place = state.free.popLast() { return .success(place) }
                guard state.waiting.count < Self.mostWaiting else {
                    return .failure(StoreError.unavailable("more than \(Self.mostWaiting) calls wait for PostgreSQL"))
                }
                state.nextID += 1
                let id = state.nextID
                let timer = Task {
                    try await Task.sleep(for: waitLimit)
                    refuse(id)
                }
                state.waiting.append(Waiter(id: id, continuation: continuation, timer: timer))
                return nil
            }
            if let answer { continuation.resume(with: answer) }
        }
    }

    func giveBack(_ place: PostgreSQLPlace) {
        let next = state.withLock { state in
            if state.isClosed { place.connection = nil }
            guard !state.waiting.isEmpty else {
                // The connection that was used last comes next, so that few connections are busy if few are needed.
                state.free.append(place)
                return nil as Waiter?
            }
            return state.waiting.removeFirst()
        }
        next?.timer.cancel()
        next?.continuation.resume(returning: place)
    }

    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            for place in state.free { place.connection = nil }
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting {
            waiter.timer.cancel()
            waiter.continuation.resume(throwing: Self.closed)
        }
    }

    private static let closed = StoreError.unavailable("the storage is closed")

    private func refuse(_ id: Int) {
        let waiter = state.withLock { state in
            state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0) }
        }
        waiter?.continuation.resume(
            throwing: StoreError.unavailable("no connection to PostgreSQL was free within \(waitLimit)"))
    }
}
