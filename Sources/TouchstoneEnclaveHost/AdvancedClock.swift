import Foundation
import Synchronization
import TouchstoneEnclave

/// A clock that can be moved forward, by so much for as long as it lives.
final class AdvancedClock: TimeSource {
    /// Not a duration, or one that is too long.
    struct InvalidDuration: Error {}

    /// Of one call, in seconds: 366 days.
    static let longest: Double = 366 * 86400
    /// Of all calls.
    static let longestInTotal: Double = 10 * longest

    private let clock: any TimeSource
    private let seconds = Mutex(0.0)

    init(_ clock: any TimeSource) { self.clock = clock }

    var now: Double { clock.now + seconds.withLock { $0 } }
    var date: Date { clock.date + seconds.withLock { $0 } }

    func advance(by duration: Double) throws(InvalidDuration) {
        let isDone = seconds.withLock { seconds in
            guard duration > 0, duration <= Self.longest, seconds + duration <= Self.longestInTotal else {
                return false
            }
            seconds += duration
            return true
        }
        guard isDone else { throw InvalidDuration() }
    }
}
