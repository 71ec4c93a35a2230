public import Glibc

/// A program that this one started, until it was waited for.
public struct StartedProgram: Sendable {
    /// Why a program was not started: a number of errno.
    public struct Failure: Error, Hashable, Sendable {
        /// The number.
        public var code: Int32
    }

    /// What a program does about signals before it says so itself.
    public enum Signals {
        /// It blocks none, and ignores none.
        case fresh
        /// It blocks these, and ignores those that this program ignores.
        case blocked(sigset_t)
    }

    /// Its number.
    public let processID: pid_t

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - path: Of the program.
    ///   - arguments: The first is what it is called.
    ///   - environment: Each `NAME=VALUE`.
    ///   - descriptors: Which of ours it has as which of its own. The others are this program's, but for those that close on execution.
    ///   - signals: What it does about signals.
    /// - Throws: `Failure`. Nothing was started then.
    public init(
        _ path: String, _ arguments: [String], environment: [String], descriptors: [(ours: Int32, its: Int32)],
        signals: Signals
    ) throws(Failure) {
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawnattr_init(&attributes)
        defer {
            unsafe posix_spawn_file_actions_destroy(&actions)
            unsafe posix_spawnattr_destroy(&attributes)
        }
        for (ours, its) in descriptors { unsafe posix_spawn_file_actions_adddup2(&actions, ours, its) }
        var mask = sigset_t()
        var flags = Int32(POSIX_SPAWN_SETSIGMASK)
        switch signals {
        case .fresh:
            var all = sigset_t()
            unsafe sigemptyset(&mask)
            unsafe sigfillset(&all)
            unsafe posix_spawnattr_setsigdefault(&attributes, &all)
            flags |= Int32(POSIX_SPAWN_SETSIGDEF)
        case .blocked(let blocked): mask = blocked
        }
        unsafe posix_spawnattr_setsigmask(&attributes, &mask)
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
        let words = unsafe arguments.map { unsafe strdup($0) } + [nil]
        let variables = unsafe environment.map { unsafe strdup($0) } + [nil]
        // A variable may have a secret.
        defer {
            unsafe (words + variables).forEach { word in
                guard let word = unsafe word else { return }
                unsafe explicit_bzero(word, strlen(word))
                unsafe free(word)
            }
        }
        var child: pid_t = 0
        let code = unsafe posix_spawn(&child, path, &actions, &attributes, words, variables)
        guard code == 0 else { throw Failure(code: code) }
        processID = child
    }

    /// Waits for its end.
    ///
    /// - Returns: Its exit status; 128 and the signal's number if a signal ended it.
    @discardableResult public func wait() -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(processID, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }
}
