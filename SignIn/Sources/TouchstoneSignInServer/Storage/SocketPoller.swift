import CEpoll
import Glibc
import NIOPosix
import Synchronization

/// Waits for sockets that libpq has, on one thread for all of them.
///
/// NIO has no way to wait for a socket that it does not read itself. So a statement that PostgreSQL works on holds no
/// thread, and a task goes on where its executor says, which is the event loop of its client.
final class SocketPoller: Sendable {
    /// What a socket may be waited for.
    struct Events: OptionSet {
        let rawValue: UInt32
        static let readable = Events(rawValue: EPOLLIN.rawValue)
        static let writable = Events(rawValue: EPOLLOUT.rawValue)
    }

    private struct Waiter {
        let deadline: ContinuousClock.Instant
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        /// By socket: a connection waits for one thing at a time.
        var waiters: [Int32: Waiter] = [:]
        /// When the thread looks for deadlines next; nil: not before somebody waits.
        var alarm: ContinuousClock.Instant?
        var isClosed = false
    }

    /// How many sockets one turn of the thread takes; more are there for the next.
    private static let mostEvents = 64

    private let epoll: Int32
    /// An eventfd that has the thread look at the deadlines again.
    private let bell: Int32
    private let state = Mutex(State())
    private let thread = NIOThreadPool(numberOfThreads: 1)

    /// - Throws: `StoreError.unavailable` if this process has no descriptors left.
    init() throws {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        bell = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        var event = unsafe epoll_event(events: EPOLLIN.rawValue, data: epoll_data(fd: bell))
        guard epoll >= 0, bell >= 0, unsafe epoll_ctl(epoll, EPOLL_CTL_ADD, bell, &event) == 0 else {
            throw StoreError.unavailable(
                unsafe "no descriptor to wait for PostgreSQL: \(String(cString: strerror(errno)))")
        }
        thread.start()
        thread.submit { [self] _ in while turn() {} }
    }

    deinit {
        Glibc.close(bell)
        Glibc.close(epoll)
    }

    /// Ends when nobody waits any more, and refuses who comes.
    func close() async throws {
        state.withLock { state in
            state.isClosed = true
            ring()
        }
        try await thread.shutdownGracefully()
    }

    /// Whether one of `events` came before `deadline`, or the socket's end did.
    ///
    /// Whether the task is cancelled does not matter.
    func wait(for events: Events, of socket: Int32, until deadline: ContinuousClock.Instant) async -> Bool {
        await withCheckedContinuation { continuation in
            let isWatched = state.withLock { state in
                guard !state.isClosed && watch(socket, events) else { return false }
                state.waiters[socket] = Waiter(deadline: deadline, continuation: continuation)
                // Seldom: of deadlines that are all as far away, the first one comes first.
                if state.alarm.map({ deadline < $0 }) ?? true {
                    state.alarm = deadline
                    ring()
                }
                return true
            }
            if !isWatched { continuation.resume(returning: false) }
        }
    }

    /// One event, once.
    ///
    /// libpq closes its sockets itself, and the kernel forgets them then.
    private func watch(_ socket: Int32, _ events: Events) -> Bool {
        var event = unsafe epoll_event(
            events: events.rawValue | EPOLLRDHUP.rawValue | EPOLLONESHOT.rawValue, data: epoll_data(fd: socket))
        if unsafe epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) == 0 { return true }
        guard errno == ENOENT else { return false }
        return unsafe epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) == 0
    }

    private func ring() { eventfd_write(bell, 1) }

    /// False: closed, and nobody waits any more.
    private func turn() -> Bool {
        var events = unsafe [epoll_event](repeating: epoll_event(), count: Self.mostEvents)
        let alarm = state.withLock { $0.alarm }
        let wait = alarm.map { max(0, ContinuousClock.now.duration(to: $0) / .milliseconds(1)).rounded(.up) }
        let count = unsafe epoll_wait(epoll, &events, Int32(events.count), wait.map { Int32(min($0, 1e9)) } ?? -1)
        let ready = unsafe events.prefix(max(0, Int(count))).map { unsafe $0.data.fd }
        if ready.contains(bell) {
            var rings: eventfd_t = 0
            unsafe eventfd_read(bell, &rings)
        }
        let (waiters, late, isOver) = state.withLock { state in
            let waiters = ready.compactMap { state.waiters.removeValue(forKey: $0) }
            return (waiters, takeLate(&state), state.isClosed && state.waiters.isEmpty)
        }
        for waiter in waiters { waiter.continuation.resume(returning: true) }
        for waiter in late { waiter.continuation.resume(returning: false) }
        return !isOver
    }

    private func takeLate(_ state: inout State) -> [Waiter] {
        let now = ContinuousClock.now
        guard let alarm = state.alarm, alarm <= now else { return [] }
        let late = state.waiters.filter { $0.value.deadline <= now }
        for socket in late.keys { state.waiters[socket] = nil }
        state.alarm = state.waiters.values.map(\.deadline).min()
        return Array(late.values)
    }
}
