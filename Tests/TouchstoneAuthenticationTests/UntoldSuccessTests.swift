import LocalAuthentication
import Security
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTesting
import TouchstoneTransport

/// An evaluation that ends with an error for its app leaves nothing to the context, also where the touch came first.
@Suite(.timeLimit(.minutes(10))) struct UntoldSuccessTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits) }

    /// Whether the context opens what asks for biometry, without anybody being asked.
    nonisolated(nonsending) private func opens(_ context: LAContext) async -> Bool {
        context.interactionNotAllowed = true
        defer { context.interactionNotAllowed = false }
        let code = await evaluate(biometrics, on: context)
        #expect(code == nil || code == .notInteractive)
        return code == nil
    }

    @Test("EV-31, EV-55: cancelled and touched in one moment, the app hears what its context does; 100 times")
    func races() async throws {
        try await device.run {
            let (finger, cancel) = try (DeviceEndpoint.current().client(), DeviceEndpoint.current().client())
            var outcomes: [Bool: Int] = [:]
            for _ in 0..<100 {
                // No three cancels within two minutes.
                device.advance(by: .minutes(2))
                let context = LAContext()
                let replies = Replies()
                replies.collect(biometrics, on: context)
                let prompt = try await shownPrompt()
                await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        _ = try? finger.call(DeviceInterface.PresentFinger.self, .init(finger: "right-index"))
                    }
                    group.addTask { _ = try? cancel.call(AgentInterface.Cancel.self, .init(prompt: prompt)) }
                }
                let code = await replies.only()
                #expect(code == nil || code == .userCancel)
                #expect(await opens(context) == (code == nil), "the app heard \(String(describing: code))")
                outcomes[code == nil, default: 0] += 1
            }
            #expect(outcomes.values.reduce(0, +) == 100)
        }
    }

    /// The identifier of the prompt that is up, once the sensor counts for it.
    private func shownPrompt() async throws -> String {
        await eventually("a prompt") { device.prompt != nil }
        let prompt = try #require(device.prompt)
        // Whoever says so first: the person does as well.
        let agent = try DeviceEndpoint.current().client()
        _ = try agent.call(AgentInterface.ConfirmShown.self, .init(prompt: prompt))
        return prompt
    }

    @Test("AC-04: what the finger proved goes where the owner cancels the application password that comes after it")
    func cancelledAfterTheFinger() async throws {
        try await device.run {
            let control = try #require(
                SecAccessControlCreateWithFlags(
                    nil, kSecAttrAccessibleWhenUnlocked, [.biometryAny, .applicationPassword], nil))
            let context = LAContext()
            device.present(.finger(1), .cancel)
            await #expect(throws: LAError.self) {
                try await context.evaluateAccessControl(control, operation: .useItem, localizedReason: "test")
            }
            #expect(device.prompts.last?.asksForApplicationPassword == true)
            #expect(await opens(context) == false)
            // The twin: with the password all of it is the context's.
            device.present(.finger(1), .applicationPassword("x"))
            try await context.evaluateAccessControl(control, operation: .useItem, localizedReason: "test")
            #expect(await opens(context))
        }
    }

    @Test("EV-53: an app's newer evaluation leaves nothing of its older one, whose success was not reported")
    func replaced() async throws {
        try await device.run {
            let control = try #require(
                SecAccessControlCreateWithFlags(
                    nil, kSecAttrAccessibleWhenUnlocked, [.biometryAny, .applicationPassword], nil))
            let (older, newer) = (LAContext(), LAContext())
            let replies = Replies()
            device.present(.finger(1))
            older.evaluateAccessControl(control, operation: .useItem, localizedReason: "test") { replies.take($0, $1) }
            await eventually { device.prompts.last?.asksForApplicationPassword == true }
            let second = Replies()
            second.collect(biometrics, on: newer)
            #expect(await replies.only() == .systemCancel)
            await eventually { device.prompts.count == 2 }
            device.present(.finger(1))
            #expect(await second.only() == nil)
            #expect(await opens(older) == false)
            #expect(await opens(newer))
        }
    }
}
