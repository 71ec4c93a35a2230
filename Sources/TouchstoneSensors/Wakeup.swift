internal import Glibc

/// Wakes a thread that waits for descriptors.
struct Wakeup {
    let descriptor: Int32
    private let writing: Int32

    init() {
        var ends: [Int32] = [-1, -1]
        // At the start of the process, which is nothing without its sensor's thread.
        guard unsafe pipe(&ends) == 0 else { fatalError("no pipe left") }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (descriptor, writing) = (ends[0], ends[1])
    }

    func wake() {
        // A pipe that is full wakes as well.
        var byte: UInt8 = 0
        _ = unsafe write(writing, &byte, 1)
    }

    /// Forgets what it was woken for; returns at once.
    func clear() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while unsafe read(descriptor, &bytes, bytes.count) == bytes.count {}
    }

    /// Waits until it is woken, or so many seconds; forever where nil.
    func wait(_ seconds: Double?) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&entry, 1, seconds.map { Int32(min(max($0, 0) * 1000, 60_000).rounded(.up)) } ?? -1)
    }
}
