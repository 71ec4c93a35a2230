/// Lets a number of callers through at once, lets a number wait in order, and turns all others away.
actor Turnstile {
    private var free: Int
    private let maximumWaiting: Int
    private var queue: [CheckedContinuation<Void, Never>] = []

    init(running: Int, waiting: Int) {
        free = running
        maximumWaiting = waiting
    }

    var waiting: Int { queue.count }

    /// False if too many wait.
    ///
    /// Whoever gets true calls ``leave()`` once.
    func enter() async -> Bool {
        if free > 0 {
            free -= 1
            return true
        }
        guard queue.count < maximumWaiting else { return false }
        await withCheckedContinuation { queue.append($0) }
        return true
    }

    func leave() {
        if queue.isEmpty { free += 1 } else { queue.removeFirst().resume() }
    }
}
