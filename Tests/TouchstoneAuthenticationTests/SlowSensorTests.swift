import Foundation
import LocalAuthentication
import Security
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTransport

@testable import TouchstoneTesting

/// A sensor that is slow to say who is enrolled keeps nobody waiting but who asked for what it says.
@Suite(.timeLimit(.minutes(10))) struct SlowSensorTests {
    /// One whose looks, from some moment on, take until the test says so.
    private final class SlowSensor: Sensor {
        private let gate = Gate()
        private let state = Mutex((isSlow: false, isWaitedFor: false))

        var isWaitedFor: Bool { state.withLock { $0.isWaitedFor } }
        func start(for owner: any SensorOwner) {}
        func wake() {}

        func refresh(within seconds: Double) {
            let isSlow = state.withLock { state in
                state.isWaitedFor = state.isWaitedFor || state.isSlow
                return state.isSlow
            }
            if isSlow { gate.wait() }
        }

        func becomeSlow() { state.withLock { $0.isSlow = true } }
        func answer() { gate.open() }
    }

    private final class Answer: Sendable {
        private let state = Mutex(false)
        var hasCome: Bool { state.withLock { $0 } }
        func come() { state.withLock { $0 = true } }
    }

    @Test("an agent is answered while a prompt that begins waits for the sensor") func agentIsAnswered() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
        let sensor = SlowSensor()
        device.start(sensor)
        try await device.run {
            let control = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .applicationPassword, nil))
            let (replies, context) = (Replies(), LAContext())
            let agent = try DeviceEndpoint.current().client()
            sensor.becomeSlow()
            context.evaluateAccessControl(control, operation: .useItem, localizedReason: "test") {
                replies.take($0, $1)
            }
            await eventually("the sensor is not looked at") { sensor.isWaitedFor }
            let isAnswered = Answer()
            Thread.detachNewThread {
                // There is no such prompt: that is the answer.
                _ = try? agent.call(AgentInterface.ConfirmShown.self, .init(prompt: "none"))
                isAnswered.come()
            }
            await eventually("the agent waits for the sensor") { isAnswered.hasCome }
            #expect(device.prompts.isEmpty)
            sensor.answer()
            await eventually { device.prompts.last?.asksForApplicationPassword == true }
            context.invalidate()
            #expect(await replies.only() == .appCancel)
        }
    }
}
