import Dispatch
import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneTransport

/// Whoever sits before a simulated device: sees its prompts, and does what the test has them do.
final class Person: Sendable {
    /// A prompt as far as a standing answer cares: where it comes back like this, the answer was of no use.
    private struct Question: Equatable {
        let identifier: String
        let phase: AgentInterface.Phase
        let failures: Int

        init(_ prompt: AgentInterface.Prompt) {
            identifier = prompt.identifier
            phase = prompt.phase
            failures = prompt.failures
        }
    }

    private struct State {
        var device: BootedDevice?
        var agent: VarlinkClient?
        var planned: [SimulatedDevice.Action] = []
        /// What is done about every prompt for which nothing is planned: the first of these that it has a use for.
        var standing: [SimulatedDevice.Action] = []
        /// How many of those were tried, and on what.
        var tried: (question: Question, count: Int)?
        var shown: AgentInterface.Prompt?
        /// An action was taken and what it led to has not been seen yet.
        var isActing = false
        /// The prompt that had no use for something.
        var useless: String?
        var seen: [(identifier: String, prompt: SimulatedDevice.Prompt)] = []
        var unanswered: SimulatedDevice.Unanswered = .waits
        /// Whom to tell of a prompt that is left alone.
        var test: (test: TestInScope, place: SourcePlace)?
        /// Counts what has happened: what stands still at one number is left alone.
        var turn = 0
        /// A thread looks at what stands still.
        var isWatched = false

        /// How long a prompt may be left alone; nil where that may be for ever, or there is none.
        var limit: Duration? {
            guard case .fails(let limit) = unanswered, shown != nil else { return nil }
            return limit
        }
    }

    private let state = Mutex(State())

    var prompts: [SimulatedDevice.Prompt] { state.withLock { $0.seen.map(\.prompt) } }

    /// What becomes of a prompt about which nothing is done; somebody who was not told waits.
    var unanswered: SimulatedDevice.Unanswered {
        get { state.withLock { $0.unanswered } }
        set {
            state.withLock { state in
                state.unanswered = newValue
                state.turn += 1
            }
            watch()
        }
    }

    /// From now on it is the test that calls this which is told of what is left alone.
    ///
    /// On a thread that is no test's, as those of a context, the one before stays.
    func noteTest(at place: SourcePlace? = nil) {
        let isTest = Test.current != nil
        // The one before goes outside the lock: it runs code when it does.
        let before = state.withLock { state in
            let before = state.test
            guard let place = place ?? before?.place else { return before }
            state.test = (isTest ? TestInScope() : before?.test ?? TestInScope(), place)
            return before
        }
        _ = before
    }

    /// Fails the test that uses the device now.
    func fail(_ words: String, at place: SourcePlace? = nil) {
        guard let (test, latest) = state.withLock({ $0.test }) else { return }
        test.fail(words, at: place, or: latest)
    }

    /// Whether something was done of which nothing has come yet, or is still to be done.
    var isActing: Bool { state.withLock { $0.isActing || !$0.planned.isEmpty } }

    /// Sits down before the device, until `leave()`; ready when this returns.
    func attend(_ device: BootedDevice) {
        leave()
        guard let agent = try? device.client() else { return }
        state.withLock { state in
            state.device = device
            state.agent = agent
        }
        let ready = NSCondition()
        let isReady = Mutex(false)
        Thread.detachNewThread { [weak self] in
            try? agent.stream(AgentInterface.Subscribe.self, .init(version: AgentInterface.version)) { reply in
                if reply.event == .ready {
                    ready.withLock {
                        isReady.withLock { $0 = true }
                        ready.signal()
                    }
                }
                self?.see(reply)
                return true
            }
            ready.withLock {
                isReady.withLock { $0 = true }
                ready.signal()
            }
        }
        ready.withLock {
            while !isReady.withLock({ $0 }) { ready.wait() }
        }
    }

    func leave() {
        let agent = state.withLock { state in
            defer {
                state.agent = nil
                state.device = nil
                state.shown = nil
                state.isActing = false
                state.turn += 1
            }
            return state.agent
        }
        agent?.close()
    }

    func present(_ actions: [SimulatedDevice.Action]) {
        state.withLock { state in
            state.planned += actions
            state.turn += 1
        }
        act()
    }

    /// Does the first of these that a prompt has a use for, whenever nothing is planned.
    func always(_ actions: [SimulatedDevice.Action]) {
        state.withLock { state in
            state.standing = actions
            state.tried = nil
            state.turn += 1
        }
        act()
    }

    private func see(_ reply: AgentInterface.Subscribe.Reply) {
        let seen = state.withLock { state -> (identifier: String, device: BootedDevice)? in
            state.turn += 1
            switch reply.event {
            case .ready: break
            case .show:
                guard let prompt = reply.prompt else { return nil }
                let isNew = state.shown?.identifier != prompt.identifier
                state.shown = prompt
                state.isActing = isNew && state.device != nil
                state.seen.removeAll { $0.identifier == prompt.identifier }
                state.seen.append((prompt.identifier, SimulatedDevice.Prompt(prompt)))
                return isNew ? state.device.map { (prompt.identifier, $0) } : nil
            case .succeeded, .dismissed:
                guard reply.prompt?.identifier == state.shown?.identifier else { return nil }
                state.shown = nil
                state.isActing = false
            }
            return nil
        }
        if let seen {
            // From then on the sensor counts. One that is gone by now needs none.
            let confirmed = try? seen.device.client().call(
                AgentInterface.ConfirmShown.self, .init(prompt: seen.identifier))
            // A finger would wait for the next prompt here, and nobody would see that prompt meanwhile.
            let isGone = confirmed == nil && seen.device.prompt != seen.identifier
            state.withLock { state in
                guard state.shown?.identifier == seen.identifier else { return }
                state.isActing = false
                if isGone { state.shown = nil }
            }
        }
        act()
    }

    /// Takes actions until one of them changes what is shown.
    private func act() {
        while true {
            let next = state.withLock { state -> (SimulatedDevice.Action, Bool, AgentInterface.Prompt, BootedDevice)? in
                guard !state.isActing, let shown = state.shown, let device = state.device else { return nil }
                let isPlanned = !state.planned.isEmpty
                guard let action = isPlanned ? state.planned.removeFirst() : Self.standingAction(&state, shown)
                else { return nil }
                state.isActing = true
                return (action, isPlanned, shown, device)
            }
            guard let (action, isPlanned, prompt, device) = next else { break }
            if (try? Self.perform(action, prompt, device)) == true { break }
            let isShown = device.prompt == prompt.identifier
            state.withLock { state in
                state.isActing = false
                if isShown { state.useless = prompt.identifier }
                guard !isShown, state.device === device else { return }
                // Gone in the meantime, which nobody has told yet: the action waits for the next prompt.
                if isPlanned { state.planned.insert(action, at: 0) }
                if state.shown?.identifier == prompt.identifier { state.shown = nil }
            }
        }
        watch()
    }

    private static func standingAction(_ state: inout State, _ prompt: AgentInterface.Prompt)
        -> SimulatedDevice.Action?
    {
        let question = Question(prompt)
        let count = state.tried.flatMap { $0.question == question ? $0.count : nil } ?? 0
        guard state.standing.indices.contains(count) else { return nil }
        state.tried = (question, count + 1)
        return state.standing[count]
    }

    // MARK: a prompt that is left alone

    /// Has one thread look at the prompts for as long as there are any.
    private func watch() {
        let begins = state.withLock { state in
            guard state.limit != nil, !state.isWatched else { return false }
            state.isWatched = true
            return true
        }
        guard begins else { return }
        Thread.detachNewThread { [weak self] in
            var seen = (turn: 0, looks: 0)
            while let limit = self?.look(&seen) { Self.pass(limit / Self.looks) }
        }
    }

    /// Looks at the prompt, and gives it up where nothing has happened for too long.
    ///
    /// - Parameter seen: For how many looks nothing has happened.
    /// - Returns: How long a prompt may be left alone; nil where there is nothing more to look at.
    private func look(_ seen: inout (turn: Int, looks: Int)) -> Duration? {
        let (limit, left) = state.withLock { state -> (Duration?, AgentInterface.Prompt?) in
            guard let limit = state.limit else {
                state.isWatched = false
                return (nil, nil)
            }
            seen = state.turn == seen.turn ? (seen.turn, seen.looks + 1) : (state.turn, 0)
            // What is being done takes its time too, on a machine with much to do.
            let isLeft = seen.looks >= (state.isActing ? Self.looks * Self.patienceWhileActing : Self.looks)
            if isLeft { state.turn += 1 }
            return (limit, isLeft ? state.shown : nil)
        }
        if let limit, let left { giveUp(left, limit) }
        return limit
    }

    /// Lets a moment go by in which tasks had their turn.
    ///
    /// A test that is about to present something needs a thread for that. As long as all of them are busy, up to two moments more,
    /// no time is counted.
    private static func pass(_ moment: Duration) {
        let seconds = moment / .seconds(1)
        Thread.sleep(forTimeInterval: seconds)
        let hadTurn = DispatchSemaphore(value: 0)
        Task { hadTurn.signal() }
        _ = hadTurn.wait(timeout: .now() + 2 * seconds)
    }

    /// Fails the test, and takes the prompt down.
    private func giveUp(_ prompt: AgentInterface.Prompt, _ limit: Duration) {
        let (device, isUseless) = state.withLock { state in
            (state.device, state.isActing || state.useless == prompt.identifier)
        }
        fail(prompt.forgotten(after: limit, isUseless: isUseless))
        // Where the device is gone, so is the prompt.
        _ = try? device?.client().call(AgentInterface.Cancel.self, .init(prompt: prompt.identifier))
    }

    /// How often a prompt is looked at before it counts as left alone.
    private static let looks = 20
    /// How many times longer that takes while something is being done.
    private static let patienceWhileActing = 5

    // MARK: acting

    /// - Returns: Whether the prompt will change.
    private static func perform(
        _ action: SimulatedDevice.Action, _ prompt: AgentInterface.Prompt, _ device: BootedDevice
    ) throws -> Bool {
        // A connection of its own: the agent's is busy with what it shows.
        let hand = try device.client()
        switch action {
        case .match:
            guard prompt.phase == .biometry,
                let enrolled = try hand.call(DeviceInterface.ListFingers.self, Empty()).fingers.first
            else { return false }
            return try hand.call(DeviceInterface.PresentFinger.self, .init(finger: enrolled)).touch != .notWaiting
        case .finger(let finger):
            guard prompt.phase == .biometry else { return false }
            let name = finger.name(on: prompt.biometryType)
            return try hand.call(DeviceInterface.PresentFinger.self, .init(finger: name)).touch != .notWaiting
        case .nonMatch:
            guard prompt.phase == .biometry else { return false }
            return try hand.call(DeviceInterface.PresentFinger.self, .init(finger: nil)).touch != .notWaiting
        case .passcode(let passcode) where prompt.phase == .unlock:
            let nonce = try hand.call(DeviceInterface.GetNonce.self, Empty()).nonce
            let sealed = try device.seal([passcode], for: .unlock, nonce: nonce)
            do {
                _ = try hand.call(DeviceInterface.Unlock.self, .init(passcode: sealed))
            } catch let error as RemoteError
                where error.as(DeviceInterface.Refused.self) != nil
                || error.as(DeviceInterface.PasscodeRejected.self) != nil
            {
                // The prompt is shown again, for the next.
            }
        case .passcode(let passcode):
            guard prompt.phase == .passcode else { return false }
            let sealed = try device.seal(
                [passcode], for: .prompt(app: prompt.app.identifier), nonce: prompt.nonce)
            do {
                _ = try hand.call(AgentInterface.EnterPasscode.self, .init(prompt: prompt.identifier, passcode: sealed))
            } catch let error as RemoteError where error.as(DeviceInterface.Refused.self) != nil {
                // Not looked at, as during a delay: the prompt is shown again, for the next.
            }
        case .applicationPassword(let password):
            guard prompt.phase == .applicationPassword, let context = prompt.context else { return false }
            let sealed = try device.seal([password], for: .credential(context: context), nonce: prompt.nonce)
            _ = try hand.call(AgentInterface.EnterPasscode.self, .init(prompt: prompt.identifier, passcode: sealed))
        case .cancel: _ = try hand.call(AgentInterface.Cancel.self, .init(prompt: prompt.identifier))
        case .fallback: _ = try hand.call(AgentInterface.ChooseFallback.self, .init(prompt: prompt.identifier))
        case .tryAgain:
            guard prompt.phase == .retry else { return false }
            _ = try hand.call(AgentInterface.TryAgain.self, .init(prompt: prompt.identifier))
        case .allowFaceID, .denyFaceID:
            guard prompt.phase == .permission else { return false }
            var isAllowed = false
            if case .allowFaceID = action { isAllowed = true }
            _ = try hand.call(
                AgentInterface.AnswerPermission.self, .init(prompt: prompt.identifier, isAllowed: isAllowed))
        case .leaveApp:
            _ = try hand.call(
                DeviceInterface.SetApplicationState.self, .init(app: prompt.app.identifier, state: .background))
        }
        return true
    }
}
