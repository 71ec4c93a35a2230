import Foundation
import Synchronization

/// An agent and a finger at once: as soon as a prompt is shown, the finger is on the sensor.
///
/// Without a finger it only looks on. It speaks to the device itself, so that no program has to start between the prompt and the finger.
final class OwnerAtHand: Sendable {
    private let agent: VarlinkConnection
    private let touch = Mutex<ContinuousClock.Instant?>(nil)
    private let shown = DispatchSemaphore(value: 0)

    init(finger: String?) throws {
        let device = VarlinkConnection.device
        let agent = try VarlinkConnection(device: device)
        let sensor = try VarlinkConnection(device: device)
        self.agent = agent

        try agent.send("io.touchstone.Agent.Subscribe", more: true)
        guard try agent.receive().event == "ready" else { throw UnixSocket.Closed() }
        Thread.detachNewThread { [weak self] in
            while let reply = try? agent.receive() {
                guard reply.event == "show" else { continue }
                _ = try? sensor.call("io.touchstone.Agent.ConfirmShown", ["prompt": reply.prompt ?? ""])
                guard let finger else {
                    self?.shown.signal()
                    continue
                }
                // The sensor counts half a second after that; what is measured begins with the touch.
                Thread.sleep(forTimeInterval: 0.6)
                self?.touch.withLock { $0 = .now }
                _ = try? sensor.call("io.touchstone.Device.PresentFinger", ["finger": finger])
            }
        }
    }

    /// When the finger last touched the sensor.
    var lastTouch: ContinuousClock.Instant { touch.withLock { $0 } ?? .now }

    /// Returns when a prompt has been shown to somebody without a finger.
    func waitForPrompt() { shown.wait() }

    func leave() { agent.close() }
}
