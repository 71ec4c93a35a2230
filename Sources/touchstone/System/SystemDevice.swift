import Foundation
import Glibc
import TouchstoneCore

/// A user's device that the system's services keep: its directories and its units.
struct SystemDevice {
    let ownerID: UInt32
    private var directory: String { "\(DevicePaths.systemState)/\(ownerID)" }

    private enum User {
        static let daemon = "touchstone"
        static let enclave = "touchstone-enclave"
    }

    /// - Throws: `Failure` where this is not root, or nobody has this name.
    init(_ user: String) throws {
        guard geteuid() == 0 else {
            throw Failure(.refused, "only root gives and takes devices of the system's: run it with sudo")
        }
        if let entry = unsafe getpwnam(user) {
            ownerID = unsafe entry.pointee.pw_uid
        } else if let number = UInt32(user), unsafe getpwuid(number) != nil {
            ownerID = number
        } else {
            throw Failure(.no, "there is no user '\(PlainText.line(user))'")
        }
    }

    var exists: Bool { unsafe access(directory, F_OK) == 0 }

    /// Makes the directories, which are root's but for those that the daemons keep their files in, and has the enclave make its own.
    func create(_ options: [String]) throws {
        guard !exists else { throw Failure(.no, "there is a device in \(directory) already") }
        let enclave = try Self.identifiers(of: User.enclave)
        let daemon = try Self.identifiers(of: User.daemon)
        let program = try Program.enclave.locate()
        let isNew = unsafe mkdir(DevicePaths.systemState, 0o700) == 0
        // Whatever root's umask is: its users' programs look there for their device.
        guard isNew ? unsafe chmod(DevicePaths.systemState, 0o711) == 0 : errno == EEXIST else {
            throw Failure.system(DevicePaths.systemState)
        }
        do {
            try Self.make(directory, mode: 0o711, (0, 0))
            try Self.make("\(directory)/enclave", mode: 0o700, enclave)
            try Self.make("\(directory)/public", mode: 0o755, enclave)
            try Self.make("\(directory)/keychain", mode: 0o700, daemon)
            // As its own user from the first byte on.
            let ending = try Self.run(
                "/usr/bin/setpriv",
                [
                    "--reuid=\(enclave.user)", "--regid=\(enclave.group)", "--init-groups", "--inh-caps=-all", "--",
                    program, "create",
                    "--state", "\(directory)/enclave", "--public", "\(directory)/public",
                ] + options)
            guard ending == .exited(0) else {
                throw Failure(.configuration, "no device was made: \(Program.enclave.rawValue) \(ending)")
            }
        } catch {
            try? FileManager.default.removeItem(atPath: directory)
            throw error
        }
    }

    func remove() throws {
        let doomed = "\(DevicePaths.systemState)/.remove-\(ownerID)-\(getpid())"
        guard unsafe rename(directory, doomed) == 0 else { throw Failure.system(directory) }
        do {
            try FileManager.default.removeItem(atPath: doomed)
        } catch {
            throw Failure(.internalError, "\(doomed) is left over: \(error.localizedDescription)")
        }
    }

    /// Has systemd listen for the owner's programs, now and after every boot; nothing where systemd does not run.
    func enable() throws { try control(["enable", "--now", "touchstone-peers.socket"] + sockets) }

    func disable() throws { try control(["disable", "--now"] + sockets + services) }

    private var sockets: [String] { ["touchstone-enclave@\(ownerID).socket", "touchstoned@\(ownerID).socket"] }
    private var services: [String] { ["touchstoned@\(ownerID).service", "touchstone-enclave@\(ownerID).service"] }

    private func control(_ arguments: [String]) throws {
        guard unsafe access("/run/systemd/system", F_OK) == 0 else { return }
        let ending = try Self.run("/usr/bin/systemctl", ["--quiet"] + arguments)
        guard ending == .exited(0) else {
            throw Failure(.unavailable, "systemctl \(arguments.joined(separator: " ")) \(ending)")
        }
    }

    private static func identifiers(of user: String) throws -> (user: uid_t, group: gid_t) {
        guard let entry = unsafe getpwnam(user) else {
            throw Failure(
                .configuration, "there is no user '\(user)': run systemd-sysusers after installing the package")
        }
        return unsafe (entry.pointee.pw_uid, entry.pointee.pw_gid)
    }

    private static func make(_ path: String, mode: mode_t, _ owner: (user: uid_t, group: gid_t)) throws {
        guard unsafe mkdir(path, 0o700) == 0, unsafe chown(path, owner.user, owner.group) == 0,
            unsafe chmod(path, mode) == 0
        else {
            throw Failure.system(path)
        }
    }

    private static func run(_ program: String, _ arguments: [String]) throws -> Child.Ending {
        try Child.start(
            program, arguments,
            inheriting: [
                (STDIN_FILENO, .file("/dev/null", flags: O_RDONLY)), (STDOUT_FILENO, .descriptor(STDERR_FILENO)),
                (STDERR_FILENO, .descriptor(STDERR_FILENO)),
            ], flags: 0
        ).wait()
    }
}
