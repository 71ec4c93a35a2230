import Foundation
import Synchronization
import TouchstoneCore
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneTransport

/// What is done to a simulated device beside presenting fingers.
extension Enclave {
    /// Unplugs the sensor, or plugs it in: an evaluation that waits for it goes on without.
    mutating func setSensorConnected(_ isConnected: Bool, now: Double) throws(DeviceInterface.Refused) -> [EnclaveEvent]
    {
        guard sensor != nil else { throw .init(.noSensor) }
        sensor?.problem = isConnected ? nil : .noReader
        return biometryEnded(now: now)
    }
}

/// A clock that can be moved forward, by so much for as long as it lives.
final class AdvancedClock: TimeSource {
    private let clock: any TimeSource
    private let seconds = Mutex(0.0)

    init(_ clock: any TimeSource) { self.clock = clock }

    var now: Double { clock.now + seconds.withLock { $0 } }
    var date: Date { clock.date + seconds.withLock { $0 } }

    /// - Throws: `InvalidParameter` for an invalid duration, or one that is too long.
    func advance(by duration: Double) throws(VarlinkServiceError.InvalidParameter) {
        let isDone = seconds.withLock { seconds in
            guard duration > 0, duration <= DeviceInterface.AdvanceClock.maximum,
                seconds + duration <= DeviceInterface.AdvanceClock.maximumInTotal
            else { return false }
            seconds += duration
            return true
        }
        guard isDone else { throw .init(parameter: "seconds") }
    }
}
