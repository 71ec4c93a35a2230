import Foundation
import Synchronization
import TouchstoneSystem
import TouchstoneTransport

/// Asks a resident program something that shows no prompt.
enum BridgeProbe {
    /// Longest wait for an answer, in seconds.
    private static let patience = 5.0

    private final class Answer: Sendable {
        let message = Mutex<Data?>(nil)
    }

    /// Whether it answers at its socket for that device; systemd may start it for this.
    ///
    /// One that is on the bus is active for systemd while it has its name there.
    static func answers(_ resident: Resident, for device: DevicePaths) -> Bool {
        guard !resident.isOnBus else { return UserManager.isRunning && UserManager.isActive(resident.serviceUnit) }
        return answer(of: resident, to: resident.probe, for: device) != nil
    }

    private struct Grants: Decodable {
        struct Parameters: Decodable {
            struct Grant: Decodable { var program: String }
            var grants: [Grant]?
        }
        var parameters: Parameters
    }

    /// How many programs read passwords without a question (BR-33); nil where nobody says, as while the device is locked.
    static func grantedPrograms(for device: DevicePaths) -> Int? {
        let question = Data(#"{"method":"io.touchstone.Credentials.ListGrants","parameters":{}}"#.utf8)
        guard let message = answer(of: .credentials, to: question, for: device),
            let grants = try? JSONDecoder().decode(Grants.self, from: message).parameters.grants
        else { return nil }
        return Set(grants.map(\.program)).count
    }

    private static func answer(of resident: Resident, to question: Data, for device: DevicePaths) -> Data? {
        guard let channel = try? SocketEndpoint(path: resident.socket(for: device)).connect() else { return nil }
        // Under a thread that still waits, so that it ends too.
        defer { channel.close() }
        let answer = Answer()
        let isDone = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            defer { isDone.signal() }
            guard (try? channel.send(question)) != nil, let message = try? channel.receive() else { return }
            answer.message.withLock { $0 = message }
        }
        guard isDone.wait(timeout: .now() + patience) == .success else { return nil }
        return answer.message.withLock { $0 }
    }
}
