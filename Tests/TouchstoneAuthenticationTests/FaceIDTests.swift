import Foundation
import LocalAuthentication
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTesting
import TouchstoneTransport

@Suite(.timeLimit(.minutes(10))) struct FaceIDTests {
    private let device: SimulatedDevice

    init() throws {
        device = try SimulatedDevice(biometry: .faceID, passcode: "1234", fingers: 1, unanswered: .waits)
    }

    private func biometryTypeAfterRefusal(_ code: LAError.Code) -> LABiometryType {
        let context = LAContext()
        #expect(canEvaluate(biometrics, on: context) == code)
        return context.biometryType
    }

    // MARK: the question

    @Test("CE-10: canEvaluatePolicy asks nobody and says yes; the first evaluation asks, and no later one")
    func firstEvaluationAsks() async throws {
        try device.setFaceIDPermission(nil)
        await device.run {
            for policy in [biometrics, deviceOwner] { #expect(canEvaluate(policy) == nil) }
            #expect(device.prompts.isEmpty)
            device.present(.allowFaceID, .finger(1))
            #expect(await evaluate(biometrics) == nil)
            device.present(.finger(1))
            #expect(await evaluate(biometrics) == nil)
            #expect(device.prompts.count == 2, "the question and the look are one prompt, and the next is only a look")
        }
        #expect(try device.faceIDPermission() == true)
    }

    @Test("CE-10, CE-11: the question names the app, says what it wants Face ID for, and has no fallback")
    func question() async throws {
        try device.setFaceIDPermission(nil, app: "org.example.Safe")
        try await device.run(as: "org.example.Safe", faceIDUsageDescription: "open\nthe \u{202E}safe") {
            device.present(.fallback, .passcode("1234"), .finger(1), .cancel)
            #expect(await evaluate(deviceOwner, reason: "not this") == .userCancel)
            let prompt = try #require(device.prompts.last)
            #expect(prompt.asksForPermission)
            #expect(prompt.app == "org.example.Safe")
            #expect(prompt.reason == "open the safe")
            #expect(prompt.fallbackTitle == nil)
        }
    }

    @Test("CE-10: before the question is answered no face counts, and one that is cancelled is asked again")
    func unansweredQuestion() async throws {
        try device.setFaceIDPermission(nil)
        await device.run {
            device.present(.finger(1), .cancel)
            #expect(await evaluate(biometrics) == .userCancel)
            device.present(.cancel)
            #expect(await evaluate(deviceOwner) == .userCancel)
            #expect(device.prompts.map(\.asksForPermission) == [true, true])
            #expect(canEvaluate(biometrics) == nil)
        }
        #expect(try device.faceIDPermission() == nil)
    }

    @Test("CE-10: what needs no prompt asks no question, and what may not ask does not")
    func noQuestion() async throws {
        try device.setFaceIDPermission(nil)
        try await device.run {
            let context = LAContext()
            context.interactionNotAllowed = true
            #expect(await evaluate(biometrics, on: context) == .notInteractive)
            try device.setForeground(false)
            #expect(await evaluate(biometrics) == .notInteractive)
            try device.setForeground(true)
            try device.lockAndUnlock(finger: 1)
            context.touchIDAuthenticationAllowableReuseDuration = 10
            #expect(await evaluate(biometrics, on: context) == nil, "EV-40")
            #expect(device.prompts.isEmpty)
        }
        #expect(try device.faceIDPermission() == nil)
    }

    @Test("CE-10: an app whose policy 2 goes to the passcode anyway is not asked about")
    func noQuestionWithoutFaces() async throws {
        try device.setFaceIDPermission(nil)
        try await device.run {
            try device.removeFinger(1)
            device.present(.passcode("1234"))
            #expect(await evaluate(deviceOwner) == nil)
            #expect(device.prompts.last?.asksForPermission == false)
        }
    }

    @Test(
        "EV-50, EV-52, EV-53: the question is taken down as any prompt is",
        arguments: ["invalidate", "background", "lock", "newer", "agent"])
    func questionTakenDown(by cause: String) async throws {
        try device.setFaceIDPermission(nil)
        try await device.run {
            let (context, newer) = (LAContext(), LAContext())
            let replies = Replies()
            replies.collect(biometrics, on: context)
            await eventually { device.prompts.last?.asksForPermission == true }
            switch cause {
            case "invalidate": context.invalidate()
            case "background": try device.setForeground(false)
            case "lock": try device.lock()
            case "newer": Replies().collect(deviceOwner, on: newer)
            default: device.setAttended(false)
            }
            #expect(await replies.only() == (cause == "invalidate" ? .appCancel : .systemCancel))
        }
        #expect(try device.faceIDPermission() == nil)
    }

    // MARK: the answer

    @Test("CE-09: denied is -6 with the type of the hardware, in the evaluation that asked and ever after")
    func denied() async throws {
        try device.setFaceIDPermission(nil)
        await device.run {
            device.present(.denyFaceID)
            #expect(await evaluate(biometrics) == .biometryNotAvailable)
            let asked = device.prompts.count
            #expect(biometryTypeAfterRefusal(.biometryNotAvailable) == .faceID)
            #expect(await evaluate(biometrics) == .biometryNotAvailable)
            #expect(canEvaluate(biometricsOrCompanion) == .biometryNotAvailable)
            #expect(LAContext().evaluatedPolicyDomainState == nil)
            #expect(device.prompts.count == asked)
        }
        #expect(try device.faceIDPermission() == false)
    }

    @Test("CE-04, EV-19: denied, policy 2 goes to the passcode, in the evaluation that asked and ever after")
    func deniedPolicyTwo() async throws {
        try device.setFaceIDPermission(nil)
        await device.run {
            device.present(.denyFaceID, .passcode("1234"))
            #expect(await evaluate(deviceOwner) == nil)
            #expect(device.prompts.count == 1)
            #expect(canEvaluate(deviceOwner) == nil)
            device.present(.finger(1), .passcode("1234"))
            #expect(await evaluate(deviceOwner) == nil)
            #expect(device.prompts.last?.asksForPasscode == true)
        }
    }

    @Test("CE-09: a denial is one app's; another is asked, and a third that was allowed is not")
    func perApp() async throws {
        try device.setFaceIDPermission(false, app: "org.example.denied")
        try device.setFaceIDPermission(nil, app: "org.example.new")
        device.run(as: "org.example.denied") { #expect(canEvaluate(biometrics) == .biometryNotAvailable) }
        await device.run(as: "org.example.new") {
            #expect(canEvaluate(biometrics) == nil)
            device.present(.cancel)
            #expect(await evaluate(biometrics) == .userCancel)
            #expect(device.prompts.last?.asksForPermission == true)
        }
        await device.run(as: "org.example.allowed") {
            device.present(.finger(1))
            #expect(await evaluate(biometrics) == nil)
        }
    }

    @Test("CE-09: the order of the table: denied comes before not enrolled, lockout and no passcode", arguments: 0..<3)
    func rowTwo(state: Int) async throws {
        try await device.run {
            switch state {
            case 0: try device.removeFinger(1)
            case 1: await device.lockOutBiometry(.faceID)
            default: try device.removePasscode("1234")
            }
            let codes: [LAError.Code] = [.biometryNotEnrolled, .biometryLockout, .passcodeNotSet]
            #expect(canEvaluate(biometrics) == codes[state])
            try device.setFaceIDPermission(false)
            #expect(canEvaluate(biometrics) == .biometryNotAvailable)
        }
    }

    @Test("CE-09: answers outlive a restart", arguments: [true, false])
    func outlivesARestart(isAllowed: Bool) async throws {
        try device.setFaceIDPermission(nil)
        try await device.run {
            device.present(isAllowed ? .allowFaceID : .denyFaceID, .cancel)
            #expect(await evaluate(biometrics) == (isAllowed ? .userCancel : .biometryNotAvailable))
            device.reboot()
            try device.unlock(passcode: "1234")
            #expect(canEvaluate(biometrics) == (isAllowed ? nil : .biometryNotAvailable))
            #expect(try device.faceIDPermission() == isAllowed)
        }
    }

    @Test("CE-09: the owner changes the answer: denied, allowed, asked again")
    func ownerChangesTheAnswer() async throws {
        try await device.run {
            try device.setFaceIDPermission(false)
            #expect(await evaluate(biometrics) == .biometryNotAvailable)
            try device.setFaceIDPermission(true)
            device.present(.finger(1))
            #expect(await evaluate(biometrics) == nil)
            try device.setFaceIDPermission(nil)
            device.present(.allowFaceID, .finger(1))
            #expect(await evaluate(biometrics) == nil)
        }
    }

    @Test("CE-09: denied while Face ID looks, policy 1 ends with -6 and policy 2 asks for the passcode")
    func deniedMeanwhile() async throws {
        try await device.run {
            let (first, second) = (LAContext(), LAContext())
            let one = Replies()
            one.collect(biometrics, on: first)
            await eventually { device.prompts.count == 1 }
            try device.setFaceIDPermission(false)
            #expect(await one.only() == .biometryNotAvailable)
            try device.setFaceIDPermission(true)
            let two = Replies()
            two.collect(deviceOwner, on: second)
            await eventually { device.prompts.count == 2 }
            try device.setFaceIDPermission(false, app: "org.example.other")
            #expect(two.codes.isEmpty, "another app's denial is nothing to this one")
            try device.setFaceIDPermission(false)
            await eventually { device.prompts.last?.asksForPasscode == true }
            device.present(.passcode("1234"))
            #expect(await two.only() == nil)
        }
    }

    @Test("CE-09: allowed elsewhere while the question is up, Face ID looks")
    func allowedMeanwhile() async throws {
        try device.setFaceIDPermission(nil)
        try await device.run {
            let context = LAContext()
            let replies = Replies()
            replies.collect(biometrics, on: context)
            await eventually { device.prompts.last?.asksForPermission == true }
            try device.setFaceIDPermission(true)
            await eventually { device.prompts.last?.asksForPermission == false }
            device.present(.finger(1))
            #expect(await replies.only() == nil)
        }
    }

    @Test(
        "CE-09: a denial takes back what faces have proven to the app, not what the passcode has, and the lock screen's window"
    )
    func denialEndsProofs() async throws {
        try await device.run {
            let (byFace, byPasscode) = (LAContext(), LAContext())
            device.present(.finger(1))
            #expect(await evaluate(biometrics, on: byFace) == nil)
            device.present(.nonMatch, .tryAgain, .nonMatch, .passcode("1234"))
            #expect(await evaluate(deviceOwner, on: byPasscode) == nil)
            try device.setFaceIDPermission(false)
            for context in [byFace, byPasscode] { context.interactionNotAllowed = true }
            #expect(await evaluate(deviceOwner, on: byFace) == .notInteractive)
            #expect(await evaluate(deviceOwner, on: byPasscode) == nil)
            try device.lockAndUnlock(finger: 1)
            let reusing = LAContext()
            reusing.touchIDAuthenticationAllowableReuseDuration = 300
            #expect(await evaluate(biometrics, on: reusing) == .biometryNotAvailable)
            try device.setFaceIDPermission(true)
            #expect(await evaluate(biometrics, on: reusing) == nil, "EV-40")
        }
    }

    @Test(
        "CE-12: a device with Touch ID or none has no such permission",
        arguments: [SimulatedDevice.Biometry.touchID, .none])
    func otherSensors(biometry: SimulatedDevice.Biometry) throws {
        let device = try SimulatedDevice(biometry: biometry, passcode: "1234")
        let error = #expect(throws: SimulatedDeviceError.self) { try device.setFaceIDPermission(false) }
        #expect(error?.description == "refused: noFaceID")
        #expect(try device.faceIDPermission() == nil)
    }

    // MARK: usage description

    @Test(
        "CE-11: without a description policy 1 fails with -6, policy 2 takes the passcode, nobody is asked, and the log says why"
    )
    func withoutADescription() async throws {
        try await device.run(as: "org.example.mute", faceIDUsageDescription: nil) {
            #expect(canEvaluate(biometrics) == nil, "asking whether is no use")
            #expect(device.faults.isEmpty)
            #expect(await evaluate(biometrics) == .biometryNotAvailable)
            #expect(device.prompts.isEmpty)
            device.present(.finger(1), .passcode("1234"))
            #expect(await evaluate(deviceOwner) == nil)
            #expect(device.prompts.map(\.asksForPasscode) == [true])
            try device.lockAndUnlock(finger: 1)
            let context = LAContext()
            context.touchIDAuthenticationAllowableReuseDuration = 10
            #expect(await evaluate(biometrics, on: context) == .biometryNotAvailable)
        }
        #expect(device.faults.count == 1, "once for each app")
        #expect(device.faults.first?.contains("org.example.mute") == true)
        #expect(device.faults.first?.contains("NSFaceIDUsageDescription") == true)
    }

    @Test("CE-11: an empty description does not count; with a real one the same app can use Face ID")
    func withADescription() async {
        await device.run(as: "org.example.app", faceIDUsageDescription: "") {
            #expect(await evaluate(biometrics) == .biometryNotAvailable)
        }
        await device.run(as: "org.example.app", faceIDUsageDescription: "open the safe") {
            device.present(.finger(1))
            #expect(await evaluate(biometrics) == nil)
        }
    }

    @Test("CE-12: Touch ID needs no description")
    func touchIDNeedsNone() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        await device.run(as: "org.example.mute", faceIDUsageDescription: nil) {
            device.present(.finger(1))
            #expect(await evaluate(biometrics) == nil)
        }
        #expect(device.faults.isEmpty)
    }

    @Test("CE-11: strict, the process ends where it would use Face ID without a description, for either policy")
    func strict() async {
        await #expect(processExitsWith: .failure) {
            setenv("TOUCHSTONE_STRICT", "1", 1)
            let device = try SimulatedDevice(biometry: .faceID, passcode: "1234", fingers: 1)
            await device.run(as: "org.example.mute", faceIDUsageDescription: nil) {
                #expect(canEvaluate(biometrics) == nil, "the question does not end it")
                _ = await evaluate(deviceOwner)
            }
            exit(EXIT_SUCCESS)
        }
    }

    @Test("CE-11: strict, an app with a description, and one on a device with Touch ID, go on")
    func strictWithADescription() async {
        await #expect(processExitsWith: .success) {
            setenv("TOUCHSTONE_STRICT", "1", 1)
            let face = try SimulatedDevice(biometry: .faceID, passcode: "1234", fingers: 1)
            face.present(.finger(1))
            await face.run { #expect(await evaluate(biometrics) == nil) }
            let touch = try SimulatedDevice(passcode: "1234", fingers: 1)
            touch.present(.finger(1))
            await touch.run(as: "org.example.mute", faceIDUsageDescription: nil) {
                #expect(await evaluate(biometrics) == nil)
            }
        }
    }

    // MARK: the prompts

    static let titles: [(String?, Bool)] = [(nil, false), ("", false), ("Use PIN", true)]

    @Test(
        "EV-11: Face ID looks without the reason; the dialog after a miss says it only beside a title of the app's own",
        arguments: titles, [biometrics, deviceOwner])
    func reason(title: (set: String?, isShown: Bool), policy: LAPolicy) async {
        await device.run {
            let context = LAContext()
            context.localizedFallbackTitle = title.set
            device.present(.cancel)
            #expect(await evaluate(policy, on: context, reason: "open the safe") == .userCancel)
            #expect(device.prompts.last?.reason == "")
            device.present(.nonMatch, .cancel)
            #expect(await evaluate(policy, on: context, reason: "open the safe") == .userCancel)
            #expect(device.prompts.last?.reason == (title.isShown ? "open the safe" : ""))
        }
    }

    @Test("EV-11: the passcode's prompt says the reason on every device")
    func reasonOfThePasscode() async {
        await device.run {
            device.present(.nonMatch, .tryAgain, .nonMatch, .cancel)
            #expect(await evaluate(deviceOwner, reason: "open the safe") == .userCancel)
            #expect(device.prompts.last?.asksForPasscode == true)
            #expect(device.prompts.last?.reason == "open the safe")
        }
    }

    @Test(
        "EV-16: after the first miss it offers to try again and looks only then, without a fallback; after the second the fallback"
    )
    func retry() async throws {
        try await device.run {
            device.present(.nonMatch, .finger(1), .fallback, .cancel)
            #expect(await evaluate(biometrics) == .userCancel)
            let first = try #require(device.prompts.last)
            #expect(first.offersToTryAgain)
            #expect(first.fallbackTitle == nil)
            #expect(first.failures == 1)
            device.present(.nonMatch, .tryAgain, .nonMatch, .tryAgain, .finger(1), .cancel)
            #expect(await evaluate(biometrics) == .userCancel)
            let second = try #require(device.prompts.last)
            #expect(!second.offersToTryAgain)
            #expect(second.fallbackTitle == "Enter Password")
            #expect(second.failures == 2)
        }
    }

    @Test("EV-16: two misses are an evaluation's; the next may look twice again")
    func attemptsPerEvaluation() async {
        await device.run {
            device.present(.nonMatch, .tryAgain, .nonMatch, .cancel)
            #expect(await evaluate(biometrics) == .userCancel)
            device.present(.nonMatch, .tryAgain, .finger(1))
            #expect(await evaluate(biometrics) == nil)
        }
    }

    @Test("EV-26: the fifth miss ends the evaluation it falls in, the first of it or the second")
    func fifthMiss() async throws {
        await device.run {
            device.present(.nonMatch, .cancel)
            #expect(await evaluate(biometrics) == .userCancel)
            device.present(.nonMatch, .tryAgain, .nonMatch, .cancel)
            #expect(await evaluate(biometrics) == .userCancel)
            device.present(.nonMatch, .tryAgain, .nonMatch)
            #expect(await evaluate(biometrics) == .biometryLockout)
        }
    }

    @Test("PC-20: between the first miss and the second look time may pass; then the passcode is all that helps")
    func retryTooLate() async throws {
        await device.run {
            let context = LAContext()
            let replies = Replies()
            device.present(.nonMatch)
            replies.collect(biometrics, on: context)
            await eventually { device.prompts.last?.offersToTryAgain == true }
            device.advance(by: .hours(49))
            device.present(.tryAgain)
            #expect(await replies.only() == .biometryLockout)
        }
    }

    // MARK: agents

    @Test("CE-10, EV-16: an agent's answer counts only for the question that is up")
    func answersOutOfTurn() async throws {
        device.setAttended(false)
        try device.setFaceIDPermission(nil)
        let endpoint = device.run { DeviceEndpoint.current() }
        let (agent, hand) = (try endpoint.client(), try endpoint.client())
        let shown = Mutex<AgentInterface.Prompt?>(nil)
        let isReady = Mutex(false)
        Thread.detachNewThread {
            try? agent.stream(AgentInterface.Subscribe.self, .init()) { reply in
                if reply.event == .ready { isReady.withLock { $0 = true } }
                shown.withLock { $0 = reply.prompt }
                return true
            }
        }
        defer { agent.close() }
        await eventually { isReady.withLock { $0 } }
        func phase() -> AgentInterface.Phase? { shown.withLock { $0?.phase } }
        func isRefused<M: VarlinkMethod>(_ method: M.Type, _ parameters: M.Parameters) -> Bool {
            do {
                _ = try hand.call(method, parameters)
                return false
            } catch let error as RemoteError {
                return error.as(AgentInterface.NoSuchPrompt.self) != nil
            } catch {
                return false
            }
        }
        let context = device.run { LAContext() }
        let replies = Replies()
        replies.collect(biometrics, on: context)
        await eventually { phase() == .permission }
        let prompt = try #require(shown.withLock { $0 }).identifier
        #expect(isRefused(AgentInterface.AnswerPermission.self, .init(prompt: "other", isAllowed: true)))
        #expect(isRefused(AgentInterface.TryAgain.self, .init(prompt: prompt)))
        #expect(isRefused(AgentInterface.ChooseFallback.self, .init(prompt: prompt)))
        _ = try hand.call(AgentInterface.AnswerPermission.self, .init(prompt: prompt, isAllowed: true))
        await eventually { phase() == .biometry }
        #expect(isRefused(AgentInterface.AnswerPermission.self, .init(prompt: prompt, isAllowed: false)))
        #expect(try device.faceIDPermission() == true)
        #expect(isRefused(AgentInterface.TryAgain.self, .init(prompt: prompt)))
        _ = try hand.call(DeviceInterface.PresentFinger.self, .init(finger: nil))
        await eventually { phase() == .retry }
        _ = try hand.call(AgentInterface.TryAgain.self, .init(prompt: prompt))
        await eventually { phase() == .biometry }
        #expect(isRefused(AgentInterface.TryAgain.self, .init(prompt: prompt)))
        _ = try hand.call(AgentInterface.Cancel.self, .init(prompt: prompt))
        #expect(await replies.only() == .userCancel)
    }
}
