import CTouchstoneSystem
import Dispatch
import Synchronization

/// Gives back to the system what was freed, a moment after much was, so that a burst of large messages costs it once.
final class FreedMemory: Sendable {
    private let isDue = Atomic(false)
    private let queue = DispatchQueue(label: "io.touchstone.freed-memory")
    /// Seconds.
    private static let moment = 1.0

    /// Gives back the code that only the start needed.
    func giveBackStart() {
        queue.asyncAfter(deadline: .now() + Self.moment) { touchstone_return_start_code() }
    }

    func giveBack() {
        guard !isDue.exchange(true, ordering: .relaxed) else { return }
        queue.asyncAfter(deadline: .now() + Self.moment) { [self] in
            isDue.store(false, ordering: .relaxed)
            touchstone_return_free_memory()
        }
    }
}
