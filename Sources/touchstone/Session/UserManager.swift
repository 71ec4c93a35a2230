import Foundation
import Glibc

/// The user's own systemd.
enum UserManager {
    /// Whether it runs for this session.
    static var isRunning: Bool {
        guard let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] else { return false }
        return unsafe access("\(runtime)/systemd/private", F_OK) == 0 && access(systemctl, X_OK) == 0
    }

    /// Where a user's own units are.
    static var unitDirectory: String { "\(ConfigurationFiles.directory)/systemd/user" }

    private static let systemctl = "/usr/bin/systemctl"

    /// Runs `systemctl --user` with these arguments.
    ///
    /// - Throws: `Failure` if it says no.
    static func control(_ arguments: String...) throws { try control(arguments) }

    /// The same.
    static func control(_ arguments: [String]) throws {
        let ending = try run(arguments)
        guard ending == .exited(0) else {
            throw Failure(.unavailable, "systemctl --user \(arguments.joined(separator: " ")) \(ending)")
        }
    }

    /// Whether the unit is active.
    static func isActive(_ unit: String) -> Bool { (try? run(["is-active", unit])) == .exited(0) }

    /// Whether the unit starts with the session.
    static func starts(_ unit: String) -> Bool { (try? run(["is-enabled", unit])) == .exited(0) }

    /// Whether root, or a package, has the unit start with every user's session.
    static func startsForEveryUser(_ unit: String) -> Bool {
        (try? run(["is-enabled", unit], scope: "--global")) == .exited(0)
    }

    /// Whether the unit is active, and starts with the session.
    static func isEnabled(_ unit: String) -> Bool { isActive(unit) && starts(unit) }

    private static func run(_ arguments: [String], scope: String = "--user") throws -> Child.Ending {
        try Child.start(
            systemctl, [scope, "--quiet"] + arguments,
            inheriting: [
                (STDIN_FILENO, .file("/dev/null", flags: O_RDONLY)), (STDOUT_FILENO, .descriptor(STDERR_FILENO)),
                (STDERR_FILENO, .descriptor(STDERR_FILENO)),
            ], flags: 0
        ).wait()
    }
}
