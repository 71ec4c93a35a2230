import Foundation
import TouchstoneDevice

/// Tells whether the device has a passcode, as long as the program runs: without one nobody can be verified (FD-11).
enum PasscodeWatch {
    private struct Reply: Decodable {
        struct Environment: Decodable { var isPasscodeSet: Bool }
        var environment: Environment
    }

    /// Seconds until a device that is away is looked for again.
    private static let pauses = [0.1, 0.3, 1, 3]

    /// Starts a thread that watches.
    ///
    /// While the device is away, what it said last holds.
    static func start(_ device: Device, _ tell: @escaping @Sendable (Bool) -> Void) {
        Thread.detachNewThread {
            var failures = 0
            while true {
                do throws(DeviceError) {
                    let stream = try device.stream("io.touchstone.Authentication.GetEnvironment")
                    while let answer = try stream.next() {
                        guard let reply = try? JSONDecoder().decode(Reply.self, from: answer) else { break }
                        failures = 0
                        tell(reply.environment.isPasscodeSet)
                    }
                } catch {
                    // It is looked for again.
                }
                Thread.sleep(forTimeInterval: pauses[min(failures, pauses.count - 1)])
                failures += 1
            }
        }
    }
}
