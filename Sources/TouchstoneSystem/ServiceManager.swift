internal import Foundation
internal import Glibc
internal import TouchstoneTransport

/// What systemd, or who stands in for it, gave this process, and what it wants to hear: sd_listen_fds(3) and sd_notify(3), without its
/// library.
package enum ServiceManager {
    /// What systemd tells one process in its environment, and which means nothing to those that it starts.
    package static let variables: Set = [
        "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC",
    ]

    /// Descriptors of listening sockets, in the order of the unit; none where nobody passed any to this process.
    ///
    /// To be asked once: whatever this process starts inherits none of them.
    package static func takeSockets() -> [Int32] {
        let environment = ProcessInfo.processInfo.environment
        guard environment["LISTEN_PID"] == "\(getpid())", let count = environment["LISTEN_FDS"].flatMap(Int32.init),
            (1...maximumSockets).contains(count)
        else { return [] }
        let sockets = firstSocket..<(firstSocket + count)
        for socket in sockets { _ = fcntl(socket, F_SETFD, FD_CLOEXEC) }
        return Array(sockets)
    }

    /// Says `READY=1`, `WATCHDOG=1` and the like; nobody waits for it.
    package static func notify(_ state: String) {
        guard let path = unsafe getenv("NOTIFY_SOCKET").map({ unsafe String(cString: $0) }),
            let socket = DatagramSocket(path: path)
        else { return }
        socket.send(Array(state.utf8))
    }

    /// Tells for as long as `isWell` returns that this process answers; nothing where nobody wants to know.
    package static func keepAlive(isWell: @escaping @Sendable () -> Bool) {
        let environment = ProcessInfo.processInfo.environment
        guard environment["WATCHDOG_PID"].map({ $0 == "\(getpid())" }) ?? true,
            let microseconds = environment["WATCHDOG_USEC"].flatMap(Double.init), microseconds > 0
        else { return }
        let thread = Thread {
            while true {
                if isWell() { notify("WATCHDOG=1") }
                Thread.sleep(forTimeInterval: microseconds / 1e6 / 3)
            }
        }
        thread.name = "watchdog"
        thread.start()
    }

    private static let firstSocket: Int32 = 3
    private static let maximumSockets: Int32 = 16
}
