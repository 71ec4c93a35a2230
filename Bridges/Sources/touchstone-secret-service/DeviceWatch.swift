import BridgeCore
import Foundation
import TouchstoneDevice

/// What matters of the device's state here (ND-8).
struct DeviceState: Equatable, Sendable, Decodable {
    var isLocked: Bool
    var hasAgent: Bool
    /// With the passcode goes what it protects, the owner's key too (AC-51).
    var isPasscodeSet: Bool

    /// Of a device that does not answer.
    static let away = DeviceState(isLocked: true, hasAgent: false, isPasscodeSet: false)
}

/// Tells of each change of the device's state, for as long as the program runs.
enum DeviceWatch {
    private struct Reply: Decodable { var status: DeviceState }

    /// Seconds until a device that is away is looked for again.
    private static let pauses = [0.1, 0.3, 1, 3]

    /// Starts a thread that watches.
    ///
    /// - Parameters:
    ///   - device: Which one.
    ///   - tell: Gets each state; ``DeviceState/away`` while nobody answers.
    static func start(_ device: Device, _ tell: @escaping @Sendable (DeviceState) -> Void) {
        Thread.detachNewThread {
            var failures = 0
            while true {
                do throws(DeviceError) {
                    let stream = try device.stream("io.touchstone.Device.WatchStatus")
                    while let answer = try stream.next() {
                        guard let reply = try? JSONDecoder().decode(Reply.self, from: answer) else { break }
                        failures = 0
                        tell(reply.status)
                    }
                } catch {
                    if case .answered(let name, _) = error, failures == 0 {
                        BridgeProcess.log("touchstone-secret-service: the device does not tell its state: \(name)")
                    }
                }
                tell(.away)
                Thread.sleep(forTimeInterval: pauses[min(failures, pauses.count - 1)])
                failures += 1
            }
        }
    }
}
