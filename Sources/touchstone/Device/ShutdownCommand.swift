import ArgumentParser
import Glibc
import TouchstoneCore
import TouchstoneSystem

/// `touchstone device shutdown`.
struct ShutdownCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shutdown", abstract: "Shut a device down and wait until it is off.")

    @OptionGroup var device: DeviceArgument

    func run() throws {
        let paths = try DeviceName.own(device.paths, "stops with 'systemctl stop'")
        try DeviceDirectory.check(paths)
        guard try Self.shutDown(paths) else { throw Failure(.no, "\(paths.name) is not booted") }
    }

    /// Returns whether it was booted.
    static func shutDown(_ paths: DevicePaths) throws -> Bool {
        guard let supervisor = SupervisorLock.holder(paths) else { return false }
        if supervisor > 0, kill(supervisor, SIGTERM) != 0, errno != ESRCH {
            throw Failure.system("the supervisor of \(paths.name)")
        }
        guard SupervisorLock.waitUntilFree(paths, seconds: limitSeconds) else {
            throw Failure(
                .unavailable,
                "\(paths.name) did not shut down within \(Int(limitSeconds)) s: its supervisor is process \(supervisor)"
            )
        }
        return true
    }

    /// More than the supervisor gives its daemons.
    private static let limitSeconds = 10.0
}
