import CTouchstoneSystem
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneSystem

/// The listening socket of a device that systemd starts when it is first used.
///
/// Whoever connects while the device reboots waits in it.
struct PassedSocket {
    let descriptor: Int32

    /// The socket that systemd passed to this process; nil without one.
    ///
    /// - Throws: `Failure` (`configuration`) for a socket that is not where apps look for the device.
    static func take(_ paths: DevicePaths) throws -> PassedSocket? {
        guard let passed = ServiceManager.takeSockets().first else { return nil }
        guard address(passed) == paths.socket.path else {
            throw Failure(
                .configuration,
                "systemd listens at another place than apps of \(paths.name) use: its socket has to be \(paths.socket.path)"
            )
        }
        // With a number that does not collide with those in the daemons.
        let descriptor = fcntl(passed, F_DUPFD_CLOEXEC, lowest)
        guard descriptor >= 0 else { throw Failure.system("the socket of \(paths.name)") }
        close(passed)
        return PassedSocket(descriptor: descriptor)
    }

    /// The user's unit that makes such a socket for a device.
    static func unit(_ paths: DevicePaths) -> String { "touchstone@\(paths.name).socket" }

    /// Whether systemd boots the device as soon as somebody connects.
    static func isWaiting(_ paths: DevicePaths) -> Bool {
        SupervisorLock.holder(paths) == nil && isActive(paths)
    }

    /// Whether systemd listens at the device's socket, also while the device runs.
    static func isActive(_ paths: DevicePaths) -> Bool { UserManager.isRunning && UserManager.isActive(unit(paths)) }

    /// Ends the connections that nobody took, because systemd would boot the device again for them.
    func refuseWaiting() {
        guard fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else { return }
        while true {
            let connection = accept(descriptor, nil, nil)
            guard connection >= 0 else { return }
            touchstone_close_peer(connection, nil, nil)
        }
    }

    private static func address(_ descriptor: Int32) -> String? {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        guard code == 0, address.sun_family == sa_family_t(AF_UNIX) else { return nil }
        return unsafe withUnsafeBytes(of: address.sun_path) { path in
            unsafe String(decoding: path.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    private static let lowest: Int32 = 10
}
