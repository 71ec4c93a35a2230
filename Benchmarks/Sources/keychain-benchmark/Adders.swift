import Foundation
import Synchronization
import Timing

/// Many clients that add items, one after the other, as fast as they are answered; beside it one that does.
enum Adders {
    /// Items that each adds.
    private static let each = 40

    /// Prints a line for one client and another for `count`, whose rate is that of all together; removes what was added.
    static func run(count: Int, placement: String) throws {
        print(try timing(1, each: 5 * each, "add, 1 client", placement).line)
        print(try timing(count, each: each, "add, \(count) clients", placement).line)
    }

    private static func timing(_ count: Int, each: Int, _ operation: String, _ placement: String) throws -> Timing {
        let connections = try (0..<count).map { _ in try VarlinkConnection(device: VarlinkConnection.device) }
        let durations = Mutex<[Duration]>([])
        let failure = Mutex<(any Error)?>(nil)
        let ended = DispatchGroup()
        let start = ContinuousClock.now
        for (number, connection) in connections.enumerated() {
            ended.enter()
            Thread.detachNewThread {
                do {
                    for index in 0..<each {
                        let start = ContinuousClock.now
                        try connection.add(account: "adder-\(number)-\(index)")
                        let duration = ContinuousClock.now - start
                        durations.withLock { $0.append(duration) }
                    }
                } catch {
                    failure.withLock { $0 = error }
                }
                ended.leave()
            }
        }
        ended.wait()
        let wall = ContinuousClock.now - start
        for (number, connection) in connections.enumerated() {
            for index in 0..<each { try? connection.delete(account: "adder-\(number)-\(index)") }
        }
        if let failure = failure.withLock({ $0 }) { throw failure }
        var timing = Timing(.init("touchstone", operation, items: 0, placement), durations: durations.withLock { $0 })
        timing.perSecond = Double(timing.samples) / (wall / .seconds(1))
        return timing
    }
}
