import Foundation
import Synchronization

/// Holds threads until it is opened, once.
final class Gate: @unchecked Sendable {
    // Unchecked: `isOpen` is touched only under `condition`.
    private let condition = NSCondition()
    private var isOpen = false

    func open() {
        condition.withLock {
            isOpen = true
            condition.broadcast()
        }
    }

    func wait() {
        condition.withLock {
            while !isOpen { condition.wait() }
        }
    }
}

/// What is to happen when times are up.
final class Deadlines: Sendable {
    private struct Deadline {
        var seconds: Double
        var body: @Sendable () -> Void
    }

    private let waiting = Mutex<[Deadline]>([])

    func add(_ seconds: Double, _ body: @escaping @Sendable () -> Void) {
        waiting.withLock { waiting in
            waiting.append(Deadline(seconds: seconds, body: body))
            // What is so old is over: nobody takes back a deadline that was met.
            if waiting.count > Self.maximum { waiting.removeFirst() }
        }
    }

    /// Has all of them pass that are so many seconds long.
    func pass(_ seconds: Double) {
        let passed = waiting.withLock { waiting in
            defer { waiting.removeAll { $0.seconds == seconds } }
            return waiting.filter { $0.seconds == seconds }
        }
        for deadline in passed { deadline.body() }
    }

    private static let maximum = 256
}
