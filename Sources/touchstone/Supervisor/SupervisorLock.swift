import Foundation
import Glibc
import TouchstoneCore
import TouchstoneSystem

/// The lock that says a device is booted: its supervisor holds it, and the kernel releases it however the supervisor ends.
struct SupervisorLock {
    private let descriptor: Int32
    private let path: String

    /// Takes the lock and writes this process's id into it.
    ///
    /// - Throws: `Failure` (`no`) where another supervisor has it.
    static func take(_ paths: DevicePaths) throws -> SupervisorLock {
        let path = paths.supervisorLock.path
        while true {
            let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else { throw Failure.system(path) }
            // Those who only look hold it for a moment.
            guard lock(descriptor, LOCK_EX, within: momentSeconds) else {
                close(descriptor)
                throw Failure(.no, "\(paths.name) is already booted")
            }
            var mine = stat()
            var named = stat()
            guard unsafe fstat(descriptor, &mine) == 0, unsafe stat(path, &named) == 0, mine.st_ino == named.st_ino
            else {
                // The one before us removed the file between our opening and our locking it.
                close(descriptor)
                continue
            }
            let text = "\(getpid())\n"
            guard ftruncate(descriptor, 0) == 0, unsafe pwrite(descriptor, text, text.utf8.count, 0) == text.utf8.count
            else {
                close(descriptor)
                throw Failure.system(path)
            }
            return SupervisorLock(descriptor: descriptor, path: path)
        }
    }

    func release() {
        unsafe unlink(path)
        close(descriptor)
    }

    /// The supervisor's process id; nil: the device is off.
    static func holder(_ paths: DevicePaths) -> pid_t? {
        let descriptor = unsafe open(paths.supervisorLock.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_SH | LOCK_NB) != 0 else { return nil }
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: maximumLength) { buffer, count in
            count = max(0, unsafe pread(descriptor, buffer.baseAddress!, buffer.count, 0))
        }
        // 0 stands for a supervisor that has the lock and has not written yet.
        return pid_t(String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .newlines)) ?? 0
    }

    /// Waits until nobody holds the lock.
    ///
    /// Returns whether that came in time.
    static func waitUntilFree(_ paths: DevicePaths, seconds: Double) -> Bool {
        let descriptor = unsafe open(paths.supervisorLock.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        return lock(descriptor, LOCK_SH, within: seconds)
    }

    /// `flock` with a deadline: an alarm interrupts it.
    ///
    /// Repeats, so that a signal that comes too early for the call does no harm.
    private static func lock(_ descriptor: Int32, _ operation: Int32, within seconds: Double) -> Bool {
        if flock(descriptor, operation | LOCK_NB) == 0 { return true }
        let deadline = ContinuousClock.now + .seconds(seconds)
        var action = sigaction()
        unsafe action.__sigaction_handler.sa_handler = { _ in }
        var before = sigaction()
        unsafe sigaction(SIGALRM, &action, &before)
        var timer = itimerval(
            it_interval: timeval(tv_sec: 0, tv_usec: alarmMicroseconds),
            it_value: timeval(tv_sec: 0, tv_usec: alarmMicroseconds))
        unsafe setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &timer, nil)
        defer {
            timer = itimerval()
            unsafe setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &timer, nil)
            unsafe sigaction(SIGALRM, &before, nil)
        }
        while ContinuousClock.now < deadline {
            if flock(descriptor, operation) == 0 { return true }
            guard errno == EINTR else { return false }
        }
        return false
    }

    /// Longest file that is read, in bytes.
    private static let maximumLength = 32
    private static let momentSeconds = 0.1
    private static let alarmMicroseconds = 50_000
}
