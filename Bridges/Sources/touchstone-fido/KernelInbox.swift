import CTAPHID
import Foundation
import Glibc
import Synchronization

/// What the kernel's device said, read as it comes by a thread that does nothing else.
final class KernelInbox: Sendable {
    /// So many events may wait here, then nobody reads until they are taken: eight of the longest messages.
    private static let most = 1024

    /// Can be read when there is something to take.
    let wake: Int32
    private let told: Int32
    private let events = Mutex<[UHIDEvent]>([])

    /// - Parameter descriptor: The device, which does not wait.
    init(_ descriptor: Int32) {
        var ends: [Int32] = [-1, -1]
        _ = unsafe pipe(&ends)
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (wake, told) = (ends[0], ends[1])
        let thread = Thread { [self] in while true { wait(descriptor) } }
        thread.stackSize = 128 << 10
        thread.start()
    }

    /// What has come since the last time, the oldest first.
    func take() -> [UHIDEvent] {
        _ = unsafe [UInt8](unsafeUninitializedCapacity: 64) { room, count in
            count = unsafe max(0, Glibc.read(wake, room.baseAddress, room.count))
        }
        return events.withLock { events in
            defer { events = [] }
            return events
        }
    }

    private func wait(_ descriptor: Int32) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&entry, 1, -1)
        while let event = Self.read(descriptor) {
            events.withLock { $0.append(event) }
            _ = unsafe Glibc.write(told, [0], 1)
            // Somebody floods the device.
            while events.withLock({ $0.count }) >= Self.most { usleep(10_000) }
        }
    }

    /// nil: there is nothing now, or the device is gone.
    private static func read(_ descriptor: Int32) -> UHIDEvent? {
        var count = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: UHIDEvent.longest) { room, initialized in
            count = unsafe Glibc.read(descriptor, room.baseAddress, room.count)
            initialized = max(0, count)
        }
        guard count > 0 else { return nil }
        return UHIDEvent(bytes) ?? .other
    }
}
