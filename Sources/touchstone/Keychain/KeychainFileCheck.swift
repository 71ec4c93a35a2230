import Foundation
import TouchstoneCore
import TouchstoneSystem

/// Checks the database file of a device that is off, by touchstoned, which alone reads such files.
struct KeychainFileCheck {
    private let paths: DevicePaths
    private let repairs: Bool
    private let lock: SupervisorLock

    /// Keeps the device from being booted meanwhile.
    init(_ paths: DevicePaths, repairs: Bool) throws {
        self.paths = paths
        self.repairs = repairs
        try RuntimeDirectory.make(paths)
        lock = try SupervisorLock.take(paths)
    }

    /// - Returns: Whether nothing is damaged (any more).
    func run() throws -> Bool {
        defer { lock.release() }
        let arguments = ["check", "--keychain", paths.keychain.path] + (repairs ? ["--repair"] : [])
        let ending = try Child.start(
            Program.daemon.locate(), arguments,
            inheriting: [(0, .file("/dev/null", flags: 0)), (1, .descriptor(1)), (2, .descriptor(2))], flags: 0
        ).wait()
        switch ending {
        case .exited(0): return true
        case .exited(ExitStatus.no.rawValue): return false
        case .exited(let status):
            throw Failure(
                ExitStatus(rawValue: status) ?? .internalError, "touchstoned could not check \(paths.keychain.path)")
        case .killed: throw Failure(.internalError, "touchstoned \(ending)")
        }
    }
}
