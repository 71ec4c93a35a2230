import LocalAuthentication
import Synchronization
import Testing

@testable import TouchstoneTesting

/// The same for the same seed, everywhere.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Random lives of a device with three apps, against ``DeviceModel`` and against what must hold whatever the model says.
@Suite(.timeLimit(.minutes(10))) struct RandomEventsTests {
    @Test("2.1, EV-01, EV-26, EV-53: no sequence of events leads anywhere but where the rules say", arguments: 0..<150)
    func followsTheRules(seed: Int) async throws {
        var random = SplitMix(state: UInt64(seed))
        let isTouch = Bool.random(using: &random)
        var events: [DeviceModel.Event] = []
        for _ in 0..<40 { events.append(.random(isTouch: isTouch, &random)) }
        guard let first = try await DeviceRun.failure(of: events, isTouch: isTouch, patience: .seconds(300)) else {
            return
        }
        let (shorter, failure) = try await Self.shrunk(events, isTouch: isTouch, first)
        let list = shorter.map { "  \($0)" }.joined(separator: "\n")
        Issue.record("seed \(seed), \(isTouch ? "Touch ID" : "Face ID"): \(failure), after\n\(list)")
    }

    /// Leaves out what the failure does not need, in ever smaller pieces.
    private static func shrunk(
        _ events: [DeviceModel.Event], isTouch: Bool, _ failure: String
    ) async throws -> ([DeviceModel.Event], String) {
        var (events, failure) = (events, failure)
        var size = events.count / 2
        while size > 0 {
            var start = 0
            while start < events.count {
                var fewer = events
                fewer.removeSubrange(start..<min(start + size, events.count))
                if let same = try await DeviceRun.failure(of: fewer, isTouch: isTouch, patience: .seconds(1)) {
                    (events, failure) = (fewer, same)
                } else {
                    start += size
                }
            }
            size /= 2
        }
        return (events, failure)
    }
}

extension DeviceModel.Event {
    static func random(isTouch: Bool, _ random: inout SplitMix) -> Self {
        let app = Int.random(in: 0..<DeviceModel.apps, using: &random)
        let slot = Int.random(in: 0..<DeviceModel.slots, using: &random)
        func one(in count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
        switch Int.random(in: 0..<64, using: &random) {
        case 0..<16:
            return .evaluate(
                app: app, slot: slot, isOwner: one(in: 2), isHidden: one(in: 4), isSilent: one(in: 8),
                reuses: one(in: 4))
        case 16..<24: return .stranger
        case 24..<27: return .enrolled
        case 27: return .removed
        case 28..<31: return .passcode(isRight: true)
        case 31..<33: return .passcode(isRight: false)
        case 33: return .cancel
        case 34..<37: return .fallback
        case 37..<41: return isTouch ? .stranger : .tryAgain
        case 41..<44: return isTouch ? .stranger : .permission(!one(in: 3))
        case 44..<46: return .setPermission(app: app, one(in: 3) ? nil : one(in: 2))
        case 46: return .invalidate(app: app, slot: slot)
        case 47..<49: return .letGo(app: app, slot: slot)
        case 49: return .foreground(app: app, false)
        case 50..<52: return .foreground(app: app, true)
        case 52: return .lock
        case 53..<55: return .lockFinger(isEnrolled: true)
        case 55: return .lockFinger(isEnrolled: false)
        case 56..<58: return .lockPasscode(isRight: true)
        case 58: return .lockPasscode(isRight: false)
        case 59: return one(in: 3) ? .reboot : .lock
        case 60: return .enroll
        case 61: return .remove
        case 62: return .pass(hours: ([0.05, 0.05, 3, 5, 49, 160] as [Double]).randomElement(using: &random) ?? 1)
        default: return .attend(!one(in: 3))
        }
    }
}

/// One life of a device: does what the events say and looks after each.
private final class DeviceRun {
    private let device: SimulatedDevice
    private var model: DeviceModel
    private let patience: Duration
    private var contexts: [[Int: LAContext]]
    private let replies = Ledger()
    private var policies: [Bool] = []

    /// What came back, by the number of the evaluation; nil is success.
    private final class Ledger: Sendable {
        private let received = Mutex<[Int: [LAError.Code?]]>([:])
        var all: [Int: [LAError.Code?]] { received.withLock { $0 } }
        func add(_ code: LAError.Code?, to number: Int) { received.withLock { $0[number, default: []].append(code) } }
    }

    /// What was wrong first, after which event; nil if nothing was.
    static func failure(of events: [DeviceModel.Event], isTouch: Bool, patience: Duration) async throws -> String? {
        try await DeviceRun(isTouch: isTouch, patience: patience).failure(of: events)
    }

    private init(isTouch: Bool, patience: Duration) throws {
        device = try SimulatedDevice(
            biometry: isTouch ? .touchID : .faceID, passcode: "1234", fingers: 1, unanswered: .waits)
        model = DeviceModel(isTouch: isTouch)
        self.patience = patience
        contexts = [[Int: LAContext]](repeating: [:], count: DeviceModel.apps)
        if !isTouch {
            for app in 0..<DeviceModel.apps { try device.setFaceIDPermission(nil, app: Self.name(app)) }
        }
    }

    private static func name(_ app: Int) -> String { "org.example.app\(app)" }

    private func run<R>(as app: Int, _ body: () throws -> R) rethrows -> R {
        try device.run(
            as: Self.name(app), faceIDUsageDescription: DeviceModel.isDescribed(app) ? "test" : nil, body)
    }

    private func failure(of events: [DeviceModel.Event]) async throws -> String? {
        for event in events where model.isPossible(event) {
            let before = model
            model.happens(event)
            try perform(event, before)
            if let wrong = try await difference() { return "\(wrong), at \u{201C}\(event)\u{201D}" }
        }
        // What runs still, and what waits for its turn, is ended by the owner: letting go ends nothing (EV-04).
        for app in contexts.indices { contexts[app] = [:] }
        for app in 0..<DeviceModel.apps {
            for slot in 0..<DeviceModel.slots { model.happens(.letGo(app: app, slot: slot)) }
        }
        while model.isPossible(.cancel) {
            let before = model
            model.happens(.cancel)
            try perform(.cancel, before)
            if let wrong = try await difference() { return "\(wrong), at the end" }
        }
        return unlikeTheRules()
    }

    /// What holds whatever the model says.
    private func unlikeTheRules() -> String? {
        for (number, isOwner) in policies.enumerated() {
            let codes = replies.all[number] ?? []
            guard codes.count == 1, let code = codes.first else {
                return "evaluation \(number) got \(codes.count) replies (EV-01)"
            }
            if isOwner, code == .userFallback || code == .biometryLockout {
                return "evaluation \(number) of policy 2 got \(Self.text(code)) (EV-18, EV-19)"
            }
        }
        return nil
    }

    private func perform(_ event: DeviceModel.Event, _ before: DeviceModel) throws {
        switch event {
        case .evaluate(let app, let slot, let isOwner, let isHidden, let isSilent, let reuses):
            let context = contexts[app][slot] ?? run(as: app) { LAContext() }
            contexts[app][slot] = context
            context.localizedFallbackTitle = isHidden ? "" : nil
            context.interactionNotAllowed = isSilent
            context.touchIDAuthenticationAllowableReuseDuration = reuses ? 300 : 0
            policies.append(isOwner)
            let (replies, number) = (replies, policies.count - 1)
            context.evaluatePolicy(isOwner ? deviceOwner : biometrics, localizedReason: "test") { isSuccess, error in
                replies.add(isSuccess ? nil : code(of: error), to: number)
            }
        case .invalidate(let app, let slot):
            let context = contexts[app][slot] ?? run(as: app) { LAContext() }
            contexts[app][slot] = context
            context.invalidate()
        case .letGo(let app, let slot): contexts[app][slot] = nil
        case .enrolled: device.present(before.fingers.first.map { .finger($0) } ?? .nonMatch)
        case .stranger: device.present(.nonMatch)
        case .removed: device.person.present([.finger(5)])
        case .passcode(let isRight): device.present(.passcode(isRight ? "1234" : "9999"))
        case .cancel: device.present(.cancel)
        case .fallback: device.present(.fallback)
        case .tryAgain: device.present(.tryAgain)
        case .permission(let isAllowed): device.present(isAllowed ? .allowFaceID : .denyFaceID)
        case .setPermission(let app, let isAllowed): try device.setFaceIDPermission(isAllowed, app: Self.name(app))
        case .foreground(let app, let isForeground): try device.setForeground(isForeground, app: Self.name(app))
        case .lock: try device.lock()
        case .lockFinger(let isEnrolled): try device.unlock(finger: isEnrolled ? before.fingers.first : nil)
        case .lockPasscode(true): try device.unlock(passcode: "1234")
        case .lockPasscode(false): _ = try? device.unlock(passcode: "9999")
        case .reboot: device.reboot()
        case .enroll: try device.enrollFinger()
        case .remove: try device.removeFinger(before.fingers.last ?? 0)
        case .pass(let hours): device.advance(by: .hours(hours))
        case .attend(let isAttended): device.setAttended(isAttended)
        }
    }

    /// Gives the device time to become what the model is, and says what it is not.
    private func difference() async throws -> String? {
        let clock = ContinuousClock()
        let end = clock.now + patience
        while let wrong = try differenceNow() {
            guard clock.now < end else { return wrong }
            try await Task.sleep(for: .milliseconds(1))
        }
        return nil
    }

    private func differenceNow() throws -> String? {
        let received = replies.all
        for (number, expected) in model.replies.sorted(by: { $0.key < $1.key }) where received[number] != [expected] {
            let got = received[number].map { $0.map(Self.text).joined(separator: ", ") } ?? "no reply"
            return "evaluation \(number) got \(got) instead of \(Self.text(expected))"
        }
        if let early = received.keys.first(where: { model.replies[$0] == nil }) {
            return "evaluation \(early) got \((received[early] ?? []).map(Self.text)) too early"
        }
        guard device.prompts.count == model.prompts else {
            return "\(device.prompts.count) prompts instead of \(model.prompts)"
        }
        guard device.waitingEvaluations == model.waiting.count else {
            return "\(device.waitingEvaluations) wait for their turn instead of \(model.waiting.count)"
        }
        guard !device.isPersonActing else { return "what the person did leads nowhere" }
        let status = try device.status
        guard status.hasPrompt == (model.running != nil) else { return "hasPrompt is \(status.hasPrompt)" }
        guard status.hasAgent == model.isAttended else { return "hasAgent is \(status.hasAgent)" }
        guard status.isLocked == model.isLocked else { return "isLocked is \(status.isLocked)" }
        if let running = model.running, let prompt = device.prompts.last {
            guard prompt.asksForPermission == (running.phase == .permission),
                prompt.asksForPasscode == (running.phase == .passcode),
                prompt.offersToTryAgain == (running.phase == .retry), prompt.failures == running.misses,
                (prompt.fallbackTitle != nil) == model.isFallbackOffered
            else { return "the prompt is \(prompt) instead of in \(running.phase) with \(running.misses) misses" }
        }
        for app in 0..<DeviceModel.apps {
            let (one, two) = run(as: app) { (canEvaluate(biometrics), canEvaluate(deviceOwner)) }
            guard one == model.canEvaluate(app), two == nil else {
                return
                    "app \(app) is told \(Self.text(one)) of policy 1, instead of \(Self.text(model.canEvaluate(app))), and \(Self.text(two)) of policy 2"
            }
        }
        return nil
    }

    private static func text(_ code: LAError.Code?) -> String { code.map { "\($0.rawValue)" } ?? "success" }
}
