import Synchronization

/// A value that several tasks of a test change.
final class Guarded<Value: Sendable>: Sendable {
    private let mutex: Mutex<Value>

    init(_ value: Value) { mutex = Mutex(value) }

    func withLock<Answer: Sendable>(_ body: (inout Value) throws -> Answer) rethrows -> Answer {
        try mutex.withLock { value in
            var copy = value
            defer { value = copy }
            return try body(&copy)
        }
    }
}
