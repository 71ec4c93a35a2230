import Foundation
import Synchronization
import TouchstoneSystem
import TouchstoneTransport

/// Asks a resident program something that shows no prompt.
enum BridgeProbe {
    /// Longest wait for an answer, in seconds.
    private static let patience = 5.0

    private final class Answer: Sendable {
        let isThere = Mutex(false)
    }

    /// Whether it answers at its socket for that device; systemd may start it for this.
    ///
    /// One that is on the bus is active for systemd while it has its name there.
    static func answers(_ resident: Resident, for device: DevicePaths) -> Bool {
        guard !resident.isOnBus else { return UserManager.isRunning && UserManager.isActive(resident.serviceUnit) }
        guard let channel = try? SocketEndpoint(path: resident.socket(for: device)).connect() else { return false }
        // Under a thread that still waits, so that it ends too.
        defer { channel.close() }
        let answer = Answer()
        let isDone = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            defer { isDone.signal() }
            guard (try? channel.send(question(resident))) != nil, (try? channel.receive()) != nil else { return }
            answer.isThere.withLock { $0 = true }
        }
        return isDone.wait(timeout: .now() + patience) == .success && answer.isThere.withLock { $0 }
    }

    /// The list of ssh keys, whose answer begins with a length, so that its first byte ends it as a message here; or a call of Varlink.
    private static func question(_ resident: Resident) -> Data {
        switch resident {
        case .sshAgent: Data([0, 0, 0, 1, 11])
        case .credentials, .secretService: Data(#"{"method":"org.varlink.service.GetInfo","parameters":{}}"#.utf8)
        }
    }
}
