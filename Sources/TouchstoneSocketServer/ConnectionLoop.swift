import CTouchstoneSystem
import Foundation
import Glibc
import Synchronization

/// One thread, which waits for many sockets.
///
/// It is not SwiftNIO's, because that receives what comes with read(2). A descriptor that a peer sends along is closed by that, on the
/// thread that serves everybody, and its sender decides for how long (DEC-593).
@safe final class ConnectionLoop: @unchecked Sendable {
    // Unchecked: what is not behind a lock is used on the loop's own thread alone.
    typealias Events = touchstone_event

    private enum Limits {
        static let events = 64
        static let chunk = 64 << 10
    }

    private struct Jobs {
        var list: [@Sendable () -> Void] = []
        var isStopped = false
    }

    private let epoll: Int32
    /// Readable when there are jobs.
    private let bell: Int32
    private let jobs = Mutex(Jobs())
    private let thread = Atomic<pthread_t>(0)
    /// Empty once the thread has ended.
    private let threads = DispatchGroup()

    private var watched: [UInt64: (Events) -> Void] = [:]
    private var deadlines: [UInt64: (at: ContinuousClock.Instant, run: () -> Void)] = [:]
    /// No deadline is earlier.
    private var earliest: ContinuousClock.Instant?
    private var last: UInt64 = 0
    /// What is received goes through here; each receiver leaves zeros.
    let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: Limits.chunk, alignment: 16)

    /// - Throws: `POSIXError`, where descriptors ran out.
    init(name: String) throws(POSIXError) {
        epoll = touchstone_epoll()
        bell = touchstone_bell()
        guard epoll >= 0, bell >= 0, touchstone_watch(epoll, bell, 0, true, false, true) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        threads.enter()
        let thread = Thread { [self] in
            run()
            threads.leave()
        }
        thread.name = name
        thread.start()
    }

    deinit {
        close(epoll)
        close(bell)
        unsafe chunk.deallocate()
    }

    /// Whether this is the loop's own thread.
    var isHere: Bool { thread.load(ordering: .relaxed) == pthread_self() }

    /// Runs a job on the loop's thread, after those that came before; never once the loop was stopped.
    func execute(_ job: @escaping @Sendable () -> Void) {
        let isFirst = jobs.withLock { jobs in
            guard !jobs.isStopped else { return false }
            jobs.list.append(job)
            return jobs.list.count == 1
        }
        if isFirst { touchstone_ring(bell) }
    }

    /// Runs the jobs that are there, and returns when the thread has ended.
    func stop() {
        jobs.withLock { $0.isStopped = true }
        touchstone_ring(bell)
        threads.wait()
    }

    // MARK: On the loop's thread

    /// A number to watch something under, or to give it a deadline.
    func newNumber() -> UInt64 {
        last += 1
        return last
    }

    /// Watches a descriptor until ``unwatch(_:_:)``: at first for nothing but its end.
    ///
    /// - Returns: Whether the system had room for it.
    func watch(_ descriptor: Int32, _ number: UInt64, _ happened: @escaping (Events) -> Void) -> Bool {
        guard touchstone_watch(epoll, descriptor, number, false, false, true) == 0 else { return false }
        watched[number] = happened
        return true
    }

    /// Forgets a descriptor, before it is closed, and its deadline.
    func unwatch(_ descriptor: Int32, _ number: UInt64) {
        touchstone_unwatch(epoll, descriptor)
        watched[number] = nil
        deadlines[number] = nil
    }

    /// Runs `body` after so many seconds, unless another deadline of this number, or none, is set before.
    func setDeadline(_ number: UInt64, in seconds: TimeInterval?, _ body: @escaping () -> Void = {}) {
        guard let seconds else { return deadlines[number] = nil }
        let instant = ContinuousClock.now + .seconds(seconds)
        deadlines[number] = (instant, body)
        earliest = min(earliest ?? instant, instant)
    }

    private func run() {
        thread.store(pthread_self(), ordering: .relaxed)
        var events = [Events](repeating: .init(), count: Limits.events)
        while true {
            let count = unsafe touchstone_wait(epoll, &events, Int32(Limits.events), milliseconds)
            for event in events.prefix(Int(max(0, count))) {
                guard event.number != 0 else {
                    // Before the jobs are taken: whoever adds one after that wakes the loop again.
                    touchstone_hush(bell)
                    continue
                }
                watched[event.number]?(event)
            }
            runDeadlines()
            guard runJobs() else { return }
        }
    }

    private var milliseconds: Int32 {
        guard let earliest else { return -1 }
        return Int32(min(max(0, (earliest - .now) / .milliseconds(1)), 1e6).rounded(.up))
    }

    private func runDeadlines() {
        guard let earliest, earliest <= .now else { return }
        let now = ContinuousClock.now
        let due = deadlines.filter { $0.value.at <= now }
        for number in due.keys { deadlines[number] = nil }
        self.earliest = deadlines.values.map(\.at).min()
        for one in due.values { one.run() }
    }

    /// Whether the loop goes on.
    private func runJobs() -> Bool {
        let taken = jobs.withLock { jobs in
            defer { jobs.list = [] }
            return jobs
        }
        for job in taken.list { job() }
        return !taken.isStopped
    }
}

extension ConnectionLoop {
    /// Says what a descriptor is watched for.
    ///
    /// > Concurrency: On any thread, but not after ``unwatch(_:_:)``.
    func change(_ descriptor: Int32, _ number: UInt64, reads: Bool, writes: Bool) {
        _ = touchstone_watch(epoll, descriptor, number, reads, writes, false)
    }
}
