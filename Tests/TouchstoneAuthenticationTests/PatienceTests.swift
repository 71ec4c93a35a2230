import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneLog
import TouchstoneSystem
import TouchstoneTransport

@testable import TouchstoneAuthentication
@testable import TouchstoneTesting

/// An app whose prompts the owner cancels again and again waits (DEC-073).
@Suite(.timeLimit(.minutes(10))) struct PatienceTests {
    private let device: SimulatedDevice

    init() throws {
        device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
        device.holdBackCancelledApps()
    }

    private func context(of app: String) -> LAContext { device.run(as: app) { LAContext() } }

    private func cancelThree(_ app: String) async {
        for _ in 0..<3 {
            device.present(.cancel)
            #expect(await evaluate(biometrics, on: context(of: app)) == .userCancel)
        }
    }

    @Test("EV-05: cancelled three times within two minutes, an app waits five; others and what needs no prompt go on")
    func waits() async throws {
        let proven = context(of: "org.example.a")
        device.present(.finger(1))
        #expect(await evaluate(biometrics, on: proven) == nil)
        await cancelThree("org.example.a")
        let prompts = device.prompts.count
        #expect(await evaluate(biometrics, on: context(of: "org.example.a")) == .notInteractive)
        #expect(await evaluate(deviceOwner, on: context(of: "org.example.a")) == .notInteractive)
        #expect(device.prompts.count == prompts)
        // EV-30: nobody has to be asked.
        #expect(await evaluate(biometrics, on: proven) == nil)
        #expect(canEvaluate(biometrics, on: context(of: "org.example.a")) == nil)
        device.present(.finger(1))
        #expect(await evaluate(biometrics, on: context(of: "org.example.b")) == nil)
        device.advance(by: .seconds(299))
        #expect(await evaluate(biometrics, on: context(of: "org.example.a")) == .notInteractive)
        device.advance(by: .seconds(1))
        device.present(.finger(1))
        #expect(await evaluate(biometrics, on: context(of: "org.example.a")) == nil)
    }

    @Test("EV-05, KC-42: an app whose name is another spelling of the same characters does not wait with it")
    func spellings() async throws {
        await cancelThree("org.example.caf\u{e9}")
        #expect(await evaluate(biometrics, on: context(of: "org.example.caf\u{e9}")) == .notInteractive)
        device.present(.finger(1))
        #expect(await evaluate(biometrics, on: context(of: "org.example.cafe\u{301}")) == nil)
    }

    @Test("Three cancels in more than two minutes, and ends that are not the owner's, hold nobody back")
    func staysPatient() async throws {
        for _ in 0..<4 {
            device.present(.cancel)
            #expect(await evaluate(biometrics, on: context(of: "org.example.a")) == .userCancel)
            device.advance(by: .minutes(1))
        }
        device.advance(by: .minutes(2))
        // EV-50, EV-53: the app's own.
        for count in 0..<5 {
            let context = context(of: "org.example.a")
            let replies = Replies()
            let shown = device.prompts.count
            replies.collect(biometrics, on: context)
            await eventually { device.prompts.count == shown + 1 }
            context.invalidate()
            #expect(await replies.only() == .appCancel, "\(count)")
        }
        device.present(.finger(1))
        #expect(await evaluate(biometrics, on: context(of: "org.example.a")) == nil)
    }

    @Test("EV-61: prompts for an application password count too, and are held back too") func applicationPasswords()
        async throws
    {
        try await device.run {
            let control = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .applicationPassword, nil))
            for _ in 0..<3 {
                device.present(.cancel)
                let error = await #expect(throws: LAError.self) {
                    try await LAContext().evaluateAccessControl(control, operation: .useItem, localizedReason: "test")
                }
                #expect(error?.code == .userCancel)
            }
            let error = await #expect(throws: LAError.self) {
                try await LAContext().evaluateAccessControl(control, operation: .useItem, localizedReason: "test")
            }
            #expect(error?.code == .notInteractive)
        }
    }

    @Test("The log says why, once the app was refused") func logged() async throws {
        await cancelThree("org.example.a")
        #expect(await evaluate(biometrics, on: context(of: "org.example.a")) == .notInteractive)
        // Told to the enclave a little later.
        await eventually("in the log") {
            _ = try? device.call(DeviceInterface.GetLogHead.self, Empty())
            return device.log.lines.compactMap(LogEntry.init(line:)).contains {
                $0.event == "call-refused" && $0.result == "cancelledTooOften" && $0.app == "org.example.a"
            }
        }
    }

    @Test("What is counted has an end: of many apps the one of longest ago gives way") func bounded() {
        var patience = PromptPatience()
        for number in 0..<PromptPatience.Limits.apps + 10 {
            for _ in 0..<3 { patience.cancelled("app \(number)", now: Double(number) / 100) }
        }
        #expect(patience.mayAsk("app 0", now: 20))
        #expect(!patience.mayAsk("app \(PromptPatience.Limits.apps)", now: 20))
        #expect(patience.mayAsk("another", now: 20))
    }

    @Test("A finger that is laid on before its prompt counts waits for it, and never for the next prompt")
    func earlyFinger() async throws {
        try await device.run {
            device.setAttended(false)
            let (agent, hand, finger) = try (
                DeviceEndpoint.current().client(), DeviceEndpoint.current().client(), DeviceEndpoint.current().client()
            )
            Thread.detachNewThread { try? agent.stream(AgentInterface.Subscribe.self, .init()) { _ in true } }
            defer { agent.close() }
            await eventually { (try? device.status.hasAgent) == true }
            for isConfirmed in [true, false] {
                let context = LAContext()
                let replies = Replies()
                replies.collect(biometrics, on: context)
                await eventually { device.prompt != nil }
                let prompt = try #require(device.prompt)
                async let touch = Task.detached {
                    try finger.call(DeviceInterface.PresentFinger.self, .init(finger: "right-index")).touch
                }.value
                await eventually { device.earlyTouches == 1 }
                if isConfirmed {
                    _ = try hand.call(AgentInterface.ConfirmShown.self, .init(prompt: prompt))
                } else {
                    _ = try hand.call(AgentInterface.Cancel.self, .init(prompt: prompt))
                }
                let outcome = try await touch
                #expect(outcome == (isConfirmed ? .matched : .notWaiting), "confirmed: \(isConfirmed)")
                #expect(await replies.only() == (isConfirmed ? nil : .userCancel))
            }
        }
    }
}
