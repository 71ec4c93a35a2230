package import Foundation
import Glibc
import Synchronization

/// The time by which touchstoned goes: the machine's, which on a simulated device can be moved forward.
package final class DeviceClock: Sendable {
    private let machineTime: @Sendable () -> Double
    private let machineDate: @Sendable () -> Date
    private let advanced = Mutex(0.0)

    /// - Parameters:
    ///   - time: Seconds from any beginning, which only go forward.
    ///   - date: The wall clock.
    package init(
        time: @escaping @Sendable () -> Double = { DeviceClock.sinceBoot() },
        date: @escaping @Sendable () -> Date = { Date() }
    ) {
        machineTime = time
        machineDate = date
    }

    /// Also while the machine slept, as the enclave counts.
    private static func sinceBoot() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    package var now: Double { machineTime() + advanced.withLock { $0 } }
    package var date: Date { machineDate() + advanced.withLock { $0 } }

    /// Seconds by which it is ahead of the machine's, since the boot.
    package var ahead: Double { advanced.withLock { $0 } }

    /// Goes forward by what the enclave has agreed to.
    func advance(by seconds: Double) { advanced.withLock { $0 += seconds } }
}
