import CTouchstoneSystem
import Foundation
import Glibc
import TouchstoneSystem

/// A process this one started, until it is reaped.
struct Child {
    let pid: pid_t

    /// What a process inherits at a descriptor number.
    enum Inheritance {
        /// A copy of this process's descriptor, with a number above the highest one that a child gets.
        case descriptor(Int32)
        case file(String, flags: Int32)
    }

    /// A pipe whose writing end goes to a child, with a number above any that the child gets.
    ///
    /// - Throws: `Failure`.
    static func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        guard unsafe Glibc.pipe(&ends) == 0 else { throw Failure.system("a pipe") }
        _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
        let writing = fcntl(ends[1], F_DUPFD_CLOEXEC, lowestPipe)
        close(ends[1])
        guard writing >= 0 else {
            close(ends[0])
            throw Failure.system("a pipe")
        }
        return (ends[0], writing)
    }

    private static let lowestPipe: Int32 = 10

    /// Starts `path` with exactly the descriptors of `inheriting`, default signals and this process's environment.
    ///
    /// What systemd tells this process in its environment is not passed on.
    ///
    /// Must be called from the main thread: daemons die with the thread that started them (`PR_SET_PDEATHSIG`).
    static func start(
        _ path: String, _ arguments: [String], inheriting: [(number: Int32, from: Inheritance)], flags: Int32
    ) throws -> Child {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (number, source) in inheriting {
            switch source {
            case .descriptor(let descriptor):
                unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, number)
            case .file(let file, let openFlags):
                unsafe posix_spawn_file_actions_addopen(&actions, number, file, openFlags, 0o600)
            }
        }
        let highest = inheriting.map(\.number).max() ?? STDERR_FILENO
        unsafe touchstone_spawn_closes_from(&actions, highest + 1)

        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        unsafe sigemptyset(&none)
        var all = sigset_t()
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        unsafe posix_spawnattr_setflags(
            &attributes, Int16(flags | Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)))

        let words = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
        let environment = ProcessInfo.processInfo.environment.filter { !ServiceManager.variables.contains($0.key) }
        let variables = unsafe environment.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
        defer { unsafe (words + variables).forEach { unsafe free($0) } }
        var pid: pid_t = 0
        let code = unsafe posix_spawn(&pid, path, &actions, &attributes, words, variables)
        guard code == 0 else { throw Failure.system("\(path) cannot be started", code: code) }
        return Child(pid: pid)
    }

    /// Blocks until the process has ended.
    func wait() -> Ending {
        var status: Int32 = 0
        while unsafe waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return Ending(status)
    }

    /// How it ended, nil while it runs.
    func poll() -> Ending? {
        var status: Int32 = 0
        return unsafe waitpid(pid, &status, WNOHANG) == pid ? Ending(status) : nil
    }

    func send(_ number: Int32) { kill(pid, number) }

    /// How a process ended.
    enum Ending: Equatable, CustomStringConvertible {
        case exited(Int32)
        case killed(signal: Int32)

        init(_ status: Int32) {
            self = status & 0x7F == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal: status & 0x7F)
        }

        var description: String {
            switch self {
            case .exited(let status): "ended with status \(status)"
            case .killed(let number): "was ended by signal \(number)"
            }
        }
    }
}
