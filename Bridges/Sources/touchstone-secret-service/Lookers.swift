import Foundation
import Synchronization

/// Looks at programs on threads of their own, so that the service goes on meanwhile.
///
/// > Concurrency: Callable from any thread.
final class Lookers: Sendable {
    /// Seconds that a call waits for it.
    private static let longest = 10.0
    /// Programs that are looked at at a time; others wait for their turn.
    private static let threads = 8

    private let queue = OperationQueue()
    private let waiting = Mutex<[Sighting: [First<SeenProgram?>]]>([:])

    init() { queue.maxConcurrentOperationCount = Self.threads }

    /// Looks at a program; calls of one process are one look.
    ///
    /// - Returns: What was seen; nil after 10 seconds. The look goes on then, for the next call.
    func look(at sighting: Sighting) async -> SeenProgram? {
        let first = First<SeenProgram?>()
        let isRunning = waiting.withLock { waiting in
            defer { waiting[sighting, default: []].append(first) }
            return waiting[sighting] != nil
        }
        if !isRunning {
            queue.addOperation { [self] in
                let seen = SeenProgram(sighting)
                let all = waiting.withLock { $0.removeValue(forKey: sighting) ?? [] }
                for one in all { one.set(seen) }
            }
        }
        let timer = Task {
            try? await Task.sleep(for: .seconds(Self.longest))
            first.set(nil)
        }
        defer { timer.cancel() }
        return await first.value
    }
}
