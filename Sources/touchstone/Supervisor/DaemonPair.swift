import Foundation
import Glibc
import TouchstoneCore
import TouchstoneSystem

/// The enclave and touchstoned of one device, with the private socket pairs between them.
struct DaemonPair {
    let enclave: Child
    let daemon: Child
    let started = ContinuousClock.now

    /// Descriptor numbers that both daemons find their ends at.
    static let callsDescriptor: Int32 = 3
    static let eventsDescriptor: Int32 = 4
    /// Where touchstoned finds the socket that systemd made.
    static let listeningDescriptor: Int32 = 5

    static func start(_ paths: DevicePaths, listening: PassedSocket?, programs: Programs) throws -> DaemonPair {
        let calls = try SocketPair()
        let events = try SocketPair()
        // Nobody reads the daemons' standard output, because they write to the log.
        func descriptors(_ calls: Int32, _ events: Int32) -> [(number: Int32, from: Child.Inheritance)] {
            [
                (STDIN_FILENO, .file("/dev/null", flags: O_RDONLY)), (STDOUT_FILENO, .descriptor(STDERR_FILENO)),
                (STDERR_FILENO, .descriptor(STDERR_FILENO)), (callsDescriptor, .descriptor(calls)),
                (eventsDescriptor, .descriptor(events)),
            ]
        }
        // They get their own process group, because the supervisor handles Ctrl-C at the terminal.
        let flags = Int32(POSIX_SPAWN_SETPGROUP)
        let enclave = try Child.start(
            programs.enclave,
            ["run", "--state", paths.enclave.path, "--runtime", paths.runtime.path]
                + (SystemBus.path.map { ["--logind", $0] } ?? []),
            inheriting: descriptors(calls.enclave, events.enclave), flags: flags)
        do {
            let daemon = try Child.start(
                programs.daemon,
                [
                    "--device", paths.name, "--state", paths.state.path, "--socket", paths.socket.path,
                    "--enclave-calls-fd", "\(callsDescriptor)", "--enclave-events-fd", "\(eventsDescriptor)",
                ] + (listening == nil ? [] : ["--listening-fd", "\(listeningDescriptor)"]),
                inheriting: descriptors(calls.daemon, events.daemon)
                    + (listening.map { [(listeningDescriptor, .descriptor($0.descriptor))] } ?? []), flags: flags)
            return DaemonPair(enclave: enclave, daemon: daemon)
        } catch {
            enclave.send(SIGKILL)
            _ = enclave.wait()
            throw error
        }
    }

    struct Programs {
        let enclave: String
        let daemon: String

        static func locate() throws -> Programs {
            Programs(enclave: try Program.enclave.locate(), daemon: try Program.daemon.locate())
        }
    }
}

/// The D-Bus of the system, on which the login service is.
enum SystemBus {
    /// Its socket, where `DBUS_SYSTEM_BUS_ADDRESS` says so, else in the usual place; nil if there is no such socket.
    static var path: String? {
        let path = path(ProcessInfo.processInfo.environment["DBUS_SYSTEM_BUS_ADDRESS"])
        return path.flatMap { unsafe access($0, F_OK) == 0 ? $0 : nil }
    }

    /// nil for an address that is not one socket with a path.
    static func path(_ address: String?) -> String? {
        guard let address, !address.isEmpty else { return "/run/dbus/system_bus_socket" }
        let prefix = "unix:path=/"
        guard address.hasPrefix(prefix), !address.contains(where: { ",;%".contains($0) }) else { return nil }
        return String(address.dropFirst(prefix.count - 1))
    }
}

/// Two connected sockets, closed with this process's last use of them.
private final class SocketPair {
    let enclave: Int32
    let daemon: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw Failure.system("a socket pair")
        }
        defer { for end in ends { close(end) } }
        // With numbers that do not collide with those in the daemons.
        enclave = fcntl(ends[0], F_DUPFD_CLOEXEC, Self.lowest)
        daemon = fcntl(ends[1], F_DUPFD_CLOEXEC, Self.lowest)
        guard enclave >= 0, daemon >= 0 else { throw Failure.system("a socket pair") }
    }

    deinit {
        close(enclave)
        close(daemon)
    }

    private static let lowest: Int32 = 10
}
