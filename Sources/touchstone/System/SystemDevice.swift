import Foundation
import Glibc
import TouchstoneCore
import TouchstoneSystem
import TouchstoneTransport

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
            throw Failure(.refused, "only root can make and remove devices of the system; run it with sudo")
        }
        if let entry = unsafe getpwnam(user) {
            ownerID = unsafe entry.pointee.pw_uid
        } else if let number = UInt32(user),
            // The device of a user who is gone is named by its number.
            unsafe getpwuid(number) != nil || access("\(DevicePaths.systemState)/\(number)", F_OK) == 0
        {
            ownerID = number
        } else {
            throw Failure(.no, "there is no user '\(PlainText.line(user))'")
        }
    }

    /// The device of the user who runs this as root, through sudo; nil if it is not run so.
    ///
    /// - Throws: `Failure` where sudo names nobody.
    static func ofSudo() throws -> SystemDevice? {
        let number = ProcessInfo.processInfo.environment["SUDO_UID"].flatMap(UInt32.init) ?? 0
        return geteuid() == 0 && number != 0 ? try SystemDevice("\(number)") : nil
    }

    /// The owner's name.
    ///
    /// - Throws: `Failure` if it is gone.
    var user: String {
        get throws {
            guard let entry = unsafe getpwuid(ownerID) else { throw Failure(.no, "there is no user \(ownerID)") }
            return unsafe String(cString: entry.pointee.pw_name)
        }
    }

    var paths: DevicePaths { DevicePaths(systemDeviceOf: ownerID) }

    var exists: Bool { unsafe access(directory, F_OK) == 0 }

    /// Makes the directories, which are root's but for those that the daemons keep their files in, and has the enclave make its own.
    func create(_ options: [String]) throws {
        guard !exists else {
            let name = DeviceOwner.recorded(in: URL(fileURLWithPath: directory)).map {
                ", made for \(PlainText.line($0))"
            }
            throw Failure(
                .no,
                "there already is a device in \(directory)\(name ?? ""); 'touchstone system remove \(ownerID)' removes it"
            )
        }
        // Ctrl-C ends the program that is started; what it leaves is cleaned up here.
        for number in [SIGINT, SIGTERM, SIGHUP] { signal(number, SIG_IGN) }
        let enclave = try Self.identifiers(of: User.enclave)
        let daemon = try Self.identifiers(of: User.daemon)
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
            try DeviceOwner.record(ownerID, in: URL(fileURLWithPath: directory))
            // As its own user from the first byte on. What it writes is the recovery key.
            let ending = try runEnclave(
                ["create", "--state", "\(directory)/enclave"] + options)
            guard ending == .exited(0) else {
                throw Failure(.configuration, "no device was made: \(Program.enclave.name) \(ending)")
            }
        } catch {
            try? FileManager.default.removeItem(atPath: directory)
            throw error
        }
    }

    /// Whether its root of trust is a TPM.
    var hasTPM: Bool { unsafe access(EnclaveFiles(enclave).rootTPM.path, F_OK) == 0 }
    private var enclave: URL { URL(fileURLWithPath: directory).appendingPathComponent("enclave") }

    /// Binds the device to another TPM, or to its own after that was cleared; what the enclave asks for comes from standard input.
    ///
    /// Its sockets listen again after that, whether it went well or not.
    ///
    /// - Parameter tcti: Where the TPM is; nil: where the old one was.
    /// - Throws: `Failure` if it is bound to a key file, or was not recovered; it is as it was then.
    func recover(tcti: String?) throws {
        guard hasTPM else {
            throw Failure(
                .no,
                "the device of user \(ownerID) is bound to a key file, not to a TPM, so there is nothing to recover")
        }
        try control(["stop"] + sockets + services)
        defer { try? control(["start"] + sockets) }
        let arguments = ["recover", "--state", enclave.path] + (tcti.map { ["--tpm", $0] } ?? [])
        let ending =
            Terminal.isInput
            ? try Terminal.withoutEcho { try runEnclave(arguments, input: true) }
            : try runEnclave(arguments, input: true)
        guard ending == .exited(0) else {
            throw Failure(.refused, "the device of user \(ownerID) was not recovered; the reason is above")
        }
    }

    /// Has the enclave take away what the device has in its TPM; whether that went well, or there is nothing.
    func forgetTPM() throws -> Bool {
        try !hasTPM || runEnclave(["forget", "--state", enclave.path]) == .exited(0)
    }

    /// Runs touchstone-enclave as its own user.
    private func runEnclave(_ arguments: [String], input: Bool = false) throws -> Child.Ending {
        let user = try Self.identifiers(of: User.enclave)
        return try Child.start(
            "/usr/bin/setpriv",
            [
                "--reuid=\(user.user)", "--regid=\(user.group)", "--init-groups", "--inh-caps=-all", "--",
                try Program.enclave.locate(),
            ] + arguments,
            inheriting: [
                (STDIN_FILENO, input ? .descriptor(STDIN_FILENO) : .file("/dev/null", flags: O_RDONLY)),
                (STDOUT_FILENO, .descriptor(STDOUT_FILENO)), (STDERR_FILENO, .descriptor(STDERR_FILENO)),
            ], flags: 0
        ).wait()
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

    /// Stops it, and the bridges that root has enabled for its owner.
    func disable() throws {
        let bridges = Resident.allCases.filter(\.hasSystemUnits)
            .flatMap { ["\($0.rawValue)@\(ownerID).socket", "\($0.rawValue)@\(ownerID).service"] }
        try control(["disable", "--now"] + bridges + sockets + services)
    }

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
