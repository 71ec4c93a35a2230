internal import CTouchstoneSystem
internal import Foundation
internal import Glibc

/// One run of touchstone-pam-verify, in a session and with a socket of its own; it is killed with the value, and so is what stayed in its
/// session.
final class PAMLook {
    enum Result {
        case match
        case noMatch
        /// It ended without one: a hang, a crash, an exit, or a service that does not work.
        case nothing
        /// Nobody waits for it any more.
        case abandoned
    }

    private static let environment = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"]

    private let pid: pid_t
    private let reading: Int32

    /// Starts it; nil if that cannot be.
    init?(program: String, arguments: [String]) {
        var ends: [Int32] = [-1, -1]
        // No pipe, because a program that may look at a process's descriptors in /proc can open the end of a pipe again.
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else { return nil }
        defer { close(ends[1]) }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)

        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        // To itself a descriptor is given without its flag, so that 3 is inherited whatever number it had.
        unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 3)
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        for output in [STDOUT_FILENO, STDERR_FILENO] {
            unsafe posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0)
        }
        unsafe touchstone_spawn_closes_from(&actions, 4)
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        unsafe sigemptyset(&none)
        var all = sigset_t()
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        let flags =
            Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF) | touchstone_spawn_flag_new_session()
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
        let words = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
        let environment = unsafe Self.environment.map { unsafe strdup($0) } + [nil]
        defer { unsafe (words + environment).forEach { unsafe free($0) } }
        var pid: pid_t = 0
        guard unsafe posix_spawn(&pid, program, &actions, &attributes, words, environment) == 0 else {
            close(ends[0])
            return nil
        }
        self.pid = pid
        reading = ends[0]
    }

    deinit {
        // And whatever the modules started.
        kill(-pid, SIGKILL)
        kill(pid, SIGKILL)
        close(reading)
        // One that waits for a camera's driver ends when the driver lets it; nobody waits with it.
        let pid = pid
        Thread.detachNewThread {
            var status: Int32 = 0
            while unsafe waitpid(pid, &status, 0) < 0, errno == EINTR {}
        }
    }

    /// Waits for the result; `retry` is told of each message that it was not so good.
    func result(
        before deadline: Double, wakeup: Wakeup, isAwaited: () -> Bool, retry: () -> Void
    ) -> Result {
        var lines = PAMLines()
        while true {
            guard isAwaited() else { return .abandoned }
            let left = deadline - MonotonicClock.now
            guard left > 0 else { return .nothing }
            var entries = [
                pollfd(fd: reading, events: Int16(POLLIN), revents: 0),
                pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            _ = unsafe poll(&entries, 2, Int32((left * 1000).rounded(.up)))
            if entries[1].revents != 0 { wakeup.clear() }
            guard entries[0].revents != 0 else { continue }
            var bytes = [UInt8](repeating: 0, count: 256)
            let read = unsafe Glibc.read(reading, &bytes, bytes.count)
            if read < 0, [EINTR, EAGAIN].contains(errno) { continue }
            guard read > 0 else { return .nothing }
            if let result = lines.take(bytes.prefix(read), retry: retry) { return result }
        }
    }
}

/// What it says: a line `retry` for each message that it was not so good, then one with its result.
struct PAMLines {
    /// The codes of security/_pam_types.h that count.
    private enum Code {
        static let success = 0
        static let authenticationError = 7
        static let userUnknown = 10
        static let maximumTries = 11
    }

    /// More than a result and the messages before it.
    static let mostBytes = 4096

    private var rest: [UInt8] = []
    private var count = 0

    /// Takes what came next.
    ///
    /// - Returns: The result, once it is there; `.nothing` for what is not such a line, and for more than there can be of them.
    mutating func take(_ bytes: some Collection<UInt8>, retry: () -> Void) -> PAMLook.Result? {
        count += bytes.count
        guard count <= Self.mostBytes else { return .nothing }
        rest += bytes
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = String(decoding: rest[..<end], as: UTF8.self)
            rest.removeFirst(end + 1)
            if line == "retry" {
                retry()
                continue
            }
            guard line.hasPrefix("result "), let code = Int(line.dropFirst(7)) else { return .nothing }
            switch code {
            case Code.success: return .match
            case Code.authenticationError, Code.userUnknown, Code.maximumTries: return .noMatch
            default: return .nothing
            }
        }
        return nil
    }
}
