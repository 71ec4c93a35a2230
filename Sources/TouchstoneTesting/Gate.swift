import Foundation

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
