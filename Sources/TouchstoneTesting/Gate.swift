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
    private let body = Mutex<(@Sendable () -> Void)?>(nil)

    func set(_ body: @escaping @Sendable () -> Void) { self.body.withLock { $0 = body } }

    func pass() {
        let body = body.withLock { body in
            defer { body = nil }
            return body
        }
        body?()
    }
}
