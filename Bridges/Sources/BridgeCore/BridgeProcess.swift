internal import BridgeProcesses
internal import CTouchstoneSystem
internal import Foundation
import Glibc

/// What every resident bridge does with its own process.
public enum BridgeProcess {
    /// Whether other programs of the owner's can neither read this process's memory nor act as it (BR-2, BR-3).
    public enum Protection: Sendable {
        /// A service of the system's: known to touchstoned by its unit, and closed to programs of the same user.
        case systemService
        /// An ordinary program, which touchstoned knows by its path. For that it has to be dumpable.
        case ordinary
    }

    /// Leaves no core dump, and where this is a service of the system's lets nobody look into its memory.
    ///
    /// - Returns: What that protects.
    public static func harden() -> Protection {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        umask(0o077)
        signal(SIGPIPE, SIG_IGN)
        let groups = (try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)) ?? ""
        // touchstoned cannot see what an undumpable program executes, unless it is a service in this slice.
        guard groups.split(separator: "\n").contains(where: { $0.hasPrefix("0::/system.slice/") }) else {
            return .ordinary
        }
        return touchstone_become_undumpable() ? .systemService : .ordinary
    }

    /// Lets the process have as many descriptors as root allows it, because messages that wait can carry some.
    public static func raiseDescriptorLimit() {
        var limit = rlimit()
        let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard unsafe getrlimit(kind, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = unsafe setrlimit(kind, &limit)
    }

    /// Has SIGTERM and SIGINT end the program with status 0.
    ///
    /// To be called before any thread is started.
    ///
    /// - Parameter last: What is done before, such as to remove a socket.
    public static func endsWithSignals(_ last: @escaping @Sendable () -> Void) {
        EndingSignals.wait(for: [SIGTERM, SIGINT]) {
            last()
            exit(0)
        }
    }

    /// Ends this process with status 75 if an upgrade took the file of its program away, so that systemd starts the new one.
    ///
    /// To be called before a connection to the device is made. touchstoned takes such a process for another program, which has kept
    /// nothing.
    ///
    /// - Parameter program: What it is called in the journal.
    public static func endIfReplaced(_ program: String) {
        let executable = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        guard executable?.hasSuffix(" (deleted)") == true else { return }
        log("\(program): an upgrade replaced this program, so it ends")
        exit(EX_TEMPFAIL)
    }

    /// Says one line on standard output, at once.
    public static func say(_ line: String) {
        write(line, FileHandle.standardOutput)
    }

    /// Says one line in the journal: who asked for what, and how it ended.
    ///
    /// No secret, no host's name (BR-53).
    public static func log(_ line: String) {
        write(line, FileHandle.standardError)
    }

    /// A disk that is full or a reader that is gone costs the line, and nothing else.
    static func write(_ line: String, _ file: FileHandle) {
        try? file.write(contentsOf: Data("\(line)\n".utf8))
    }
}
