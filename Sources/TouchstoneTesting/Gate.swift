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

/// What is to happen when a time is up: of several the last one set.
final class Deadline: Sendable {
    private struct Plan {
        var body: (@Sendable () -> Void)?
    }

    private let plan = Mutex(Plan())

    func set(_ body: @escaping @Sendable () -> Void) { plan.withLock { $0.body = body } }

    func pass() {
        let body = plan.withLock { plan in
            defer { plan.body = nil }
            return plan.body
        }
        body?()
    }
}
