import Foundation
import Synchronization
import TouchstoneCore
import TouchstoneTransport

/// Whoever sits before a simulated device: sees its prompts, and does what the test has them do.
final class Person: Sendable {
    private struct State {
        var device: BootedDevice?
        var agent: VarlinkClient?
        var planned: [SimulatedDevice.Action] = []
        var shown: AgentInterface.Prompt?
        /// An action was taken and what it led to has not been seen yet.
        var isActing = false
        var seen: [(identifier: String, prompt: SimulatedDevice.Prompt)] = []
    }

    private let state = Mutex(State())

    var prompts: [SimulatedDevice.Prompt] { state.withLock { $0.seen.map(\.prompt) } }

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
            try? agent.stream(AgentInterface.Subscribe.self, .init()) { reply in
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
            }
            return state.agent
        }
        agent?.close()
    }

    func present(_ actions: [SimulatedDevice.Action]) {
        state.withLock { $0.planned += actions }
        act()
    }

    private func see(_ reply: AgentInterface.Subscribe.Reply) {
        state.withLock { state in
            switch reply.event {
            case .ready: break
            case .show:
                guard let prompt = reply.prompt else { return }
                state.shown = prompt
                state.isActing = false
                state.seen.removeAll { $0.identifier == prompt.identifier }
                state.seen.append((prompt.identifier, SimulatedDevice.Prompt(prompt)))
            case .succeeded, .dismissed:
                guard reply.prompt?.identifier == state.shown?.identifier else { return }
                state.shown = nil
                state.isActing = false
            }
        }
        act()
    }

    /// Takes planned actions until one of them changes what is shown.
    private func act() {
        while true {
            let next = state.withLock { state -> (SimulatedDevice.Action, AgentInterface.Prompt, BootedDevice)? in
                guard !state.isActing, let shown = state.shown, let device = state.device, !state.planned.isEmpty
                else { return nil }
                state.isActing = true
                return (state.planned.removeFirst(), shown, device)
            }
            guard let (action, prompt, device) = next else { return }
            if (try? Self.perform(action, prompt, device)) == true { return }
            let isShown = device.prompt == prompt.identifier
            state.withLock { state in
                state.isActing = false
                guard !isShown, state.device === device else { return }
                // Gone in the meantime, which nobody has told yet: the action waits for the next prompt.
                state.planned.insert(action, at: 0)
                if state.shown?.identifier == prompt.identifier { state.shown = nil }
            }
        }
    }

    /// - Returns: Whether the prompt will change.
    private static func perform(
        _ action: SimulatedDevice.Action, _ prompt: AgentInterface.Prompt, _ device: BootedDevice
    ) throws -> Bool {
        // A connection of its own: the agent's is busy with what it shows.
        let hand = try device.client()
        switch action {
        case .finger(let number):
            guard prompt.phase == .biometry else { return false }
            let touch = try hand.call(
                DeviceInterface.PresentFinger.self, .init(finger: SimulatedDevice.name(number)))
            return touch.touch != .notWaiting
        case .nonMatch:
            guard prompt.phase == .biometry else { return false }
            return try hand.call(DeviceInterface.PresentFinger.self, .init(finger: nil)).touch != .notWaiting
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

extension SimulatedDevice.Prompt {
    init(_ prompt: AgentInterface.Prompt) {
        app = prompt.app.name
        reason = prompt.reason
        cancelTitle = prompt.cancelTitle
        fallbackTitle = prompt.fallbackTitle
        asksForPasscode = prompt.phase == .passcode
        asksForApplicationPassword = prompt.phase == .applicationPassword
        isWrong = prompt.wrongPasscode
        asksForPermission = prompt.phase == .permission
        offersToTryAgain = prompt.phase == .retry
        failures = prompt.failures
    }
}
