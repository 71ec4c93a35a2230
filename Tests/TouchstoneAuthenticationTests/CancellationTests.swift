import LocalAuthentication
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTesting
import TouchstoneTransport

@Suite(.timeLimit(.minutes(10))) struct CancellationTests {
    private let device: SimulatedDevice

    init() throws {
        device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
    }

    /// The prompt has been taken down: a new one comes up and can be answered.
    private func expectFree() async {
        device.present(.finger(1))
        #expect(await evaluate(biometrics) == nil)
    }

    @Test("2.1: Cancel ends with -2, in biometry and in the passcode")
    func userCancels() async {
        await device.run {
            device.present(.cancel)
            #expect(await evaluate(biometrics) == .userCancel)
            device.present(.nonMatch, .fallback, .cancel)
            #expect(await evaluate(deviceOwner) == .userCancel)
            await expectFree()
        }
    }

    @Test("EV-50: invalidate ends the pending evaluation with -9, later ones with -10, twice is harmless")
    func invalidate() async {
        await device.run {
            let context = LAContext()
            let replies = Replies()
            replies.collect(biometrics, on: context)
            await eventually { device.prompts.count == 1 }
            context.invalidate()
            context.invalidate()
            #expect(await replies.only() == .appCancel)
            #expect(await evaluate(biometrics, on: context) == .invalidContext)
            #expect(canEvaluate(biometrics, on: context) == .invalidContext)
            await expectFree()
            #expect(replies.codes.count == 1)
        }
    }

    @Test("EV-50: invalidating one context leaves another's evaluation alone")
    func invalidateAnother() async {
        await device.run {
            let (context, other) = (LAContext(), LAContext())
            #expect(canEvaluate(biometrics, on: other) == nil)
            let replies = Replies()
            replies.collect(biometrics, on: context)
            await eventually { device.prompts.count == 1 }
            other.invalidate()
            device.present(.finger(1))
            #expect(await replies.only() == nil)
        }
    }

    @Test("EV-04: letting the context go cancels nothing: the prompt stays, and the finger counts")
    func deallocation() async {
        await device.run {
            let replies = Replies()
            do {
                let context = LAContext()
                replies.collect(biometrics, on: context)
                await eventually { device.prompts.count == 1 }
            }
            #expect(replies.codes.isEmpty)
            device.present(.finger(1))
            #expect(await replies.only() == nil)
            await expectFree()
        }
    }

    @Test("EV-52: an app that leaves the foreground loses its prompt with -4, another's stays")
    func leavingTheForeground() async throws {
        try await device.run {
            try device.setForeground(false, app: "org.example.other")
            device.present(.leaveApp)
            let error = await #expect(throws: LAError.self) {
                try await LAContext().evaluatePolicy(biometrics, localizedReason: "test")
            }
            #expect(error?.code == .systemCancel)
            #expect((error as NSError?)?.userInfo["NSDebugDescription"] as? String == "Caller moved to background.")
            try device.setForeground(true)
            let replies = Replies()
            let context = LAContext()
            replies.collect(biometrics, on: context)
            await eventually { device.prompts.count == 2 }
            try device.setForeground(false, app: "org.example.other")
            device.present(.finger(1))
            #expect(await replies.only() == nil)
        }
    }

    @Test("EV-52: locking the device ends the evaluation with -4")
    func locking() async throws {
        try await device.run {
            let context = LAContext()
            let replies = Replies()
            replies.collect(deviceOwner, on: context)
            await eventually { device.prompts.count == 1 }
            try device.lock()
            #expect(await replies.only() == .systemCancel)
            try device.unlock(finger: 1)
            await expectFree()
        }
    }

    @Test("EV-53: the app's newer evaluation ends its older with -4 and goes on")
    func newerEndsOlder() async {
        let (older, newer) = (Replies(), Replies())
        let first = device.run { LAContext() }
        let second = device.run { LAContext() }
        older.collect(biometrics, on: first)
        await eventually { device.prompts.count == 1 }
        newer.collect(biometrics, on: second)
        #expect(await older.only() == .systemCancel)
        await eventually { device.prompts.count == 2 }
        #expect(newer.codes.isEmpty)
        device.present(.finger(1))
        #expect(await newer.only() == nil)
        #expect(older.codes.count == 1)
    }

    @Test("EV-53: of many evaluations at once each gets one reply, and one of them the finger")
    func manyAtOnce() async {
        let contexts = device.run { (0..<12).map { _ in LAContext() } }
        let replies = Replies()
        for context in contexts { replies.collect(biometrics, on: context) }
        await eventually { replies.codes.count == 11 && device.prompts.count == 12 }
        device.present(.finger(1))
        await eventually { replies.codes.count == 12 }
        #expect(replies.codes.filter { $0 == nil }.count == 1)
        #expect(replies.codes.filter { $0 == .systemCancel }.count == 11)
    }

    @Test("EV-52: an agent that dies with the prompt up ends the evaluation with -4")
    func agentDies() async {
        await device.run {
            let context = LAContext()
            let replies = Replies()
            replies.collect(biometrics, on: context)
            await eventually { device.prompts.count == 1 }
            device.setAttended(false)
            #expect(await replies.only() == .systemCancel)
            device.setAttended(true)
            await expectFree()
        }
    }

    @Test("A.5: without an agent an evaluation that needs one fails at once with -1004, one that does not succeeds")
    func noAgent() async throws {
        try await device.run {
            device.setAttended(false)
            #expect(await evaluate(biometrics) == .notInteractive)
            #expect(await evaluate(deviceOwner) == .notInteractive)
            try device.lockAndUnlock(finger: 1)
            let context = LAContext()
            context.touchIDAuthenticationAllowableReuseDuration = 10
            #expect(await evaluate(biometrics, on: context) == nil)
        }
    }

    @Test("EV-54: where interaction is not allowed, what would ask fails with -1004 and what would not succeeds")
    func interactionNotAllowed() async {
        await device.run {
            let context = LAContext()
            context.interactionNotAllowed = true
            #expect(await evaluate(biometrics, on: context) == .notInteractive)
            #expect(device.prompts.isEmpty)
            context.interactionNotAllowed = false
            device.present(.finger(1))
            #expect(await evaluate(biometrics, on: context) == nil)
            context.interactionNotAllowed = true
            #expect(await evaluate(biometrics, on: context) == nil)
            #expect(device.prompts.count == 1)
        }
    }

    @Test("EV-55: no cancel takes back what a context has, nor the right to ask again")
    func cancelsChangeNothing() async {
        await device.run {
            let context = LAContext()
            device.present(.cancel, .leaveApp)
            #expect(await evaluate(biometrics, on: context) == .userCancel)
            #expect(await evaluate(biometrics, on: context) == .systemCancel)
            #expect(canEvaluate(biometrics, on: context) == nil)
        }
    }

    @Test("EV-52: a restart with the prompt up ends the evaluation with -4, and the context may ask again")
    func restart() async throws {
        try await device.run {
            let context = LAContext()
            let replies = Replies()
            replies.collect(biometrics, on: context)
            await eventually { device.prompts.count == 1 }
            device.reboot()
            #expect(await replies.only() == .systemCancel)
            try device.unlock(passcode: "1234")
            device.present(.finger(1))
            #expect(await evaluate(biometrics, on: context) == nil)
        }
    }

    @Test("EV-04: a client that vanishes takes its prompt with it, and nobody else's")
    func clientVanishes() async throws {
        let endpoint = device.run { DeviceEndpoint.current() }
        let lifeline = try endpoint.client()
        let context = try lifeline.call(AuthenticationInterface.CreateContext.self, .init()).context
        let evaluating = try endpoint.client()
        let waiting = Task.detached {
            try evaluating.call(
                AuthenticationInterface.EvaluatePolicy.self,
                .init(context: context, policy: .deviceOwnerAuthentication, options: .init(reason: "test")))
        }
        await eventually { device.prompts.count == 1 }
        evaluating.close()
        lifeline.close()
        await #expect(throws: TransportError.self) { try await waiting.value }
        try await eventually {
            let status = try endpoint.client().call(DeviceInterface.GetStatus.self, Empty()).status
            return !status.hasPrompt
        }
        await device.run { await expectFree() }
    }

    @Test("A.3: another app's context is unknown to this one")
    func foreignContext() async throws {
        let endpoint = device.run { DeviceEndpoint.current() }
        let other = device.run(as: "org.example.other") { DeviceEndpoint.current() }
        let lifeline = try endpoint.client()
        let context = try lifeline.call(AuthenticationInterface.CreateContext.self, .init()).context
        let error = #expect(throws: RemoteError.self) {
            try other.client().call(
                AuthenticationInterface.EvaluatePolicy.self,
                .init(context: context, policy: .deviceOwnerAuthentication, options: .init(reason: "test")))
        }
        #expect(error?.as(AuthenticationInterface.Failed.self)?.code == .invalidContext)
        _ = try other.client().call(AuthenticationInterface.InvalidateContext.self, .init(context: context))
        let answer = try endpoint.client().call(
            AuthenticationInterface.CanEvaluatePolicy.self,
            .init(context: context, policy: .deviceOwnerAuthentication))
        #expect(answer.code == nil, "another app cannot end it either")
    }
}
