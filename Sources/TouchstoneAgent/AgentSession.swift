internal import Foundation
internal import Glibc
internal import TouchstoneCore
internal import TouchstoneDevice
internal import TouchstoneInterfaces
package import TouchstoneSystem
internal import TouchstoneTransport

/// One run of the agent: shows prompts as they come and carries answers back, one prompt at a time.
///
/// The subscription has a connection of its own, since its call never ends; answers go over another.
package final class AgentSession {
    private let paths: DevicePaths
    private let answers: any PromptAnswers
    private let leavesAfterFirstPrompt: Bool
    private let reconnects: Bool
    private let screen: any AgentScreen
    /// For those who wait in another thread, such as for signals.
    package let inbox: AgentInbox

    private var subscription: AgentChannel?
    private var calls: AgentChannel?
    private var prompt: AgentInterface.Prompt?
    /// When the prompt's passcode is looked at again.
    private var retryAt: ContinuousClock.Instant?
    /// What the owner chose about the prompt that is up.
    private var choice: String?
    private var isDone = false

    package init(
        paths: DevicePaths, answers: any PromptAnswers, screen: any AgentScreen, leavesAfterFirstPrompt: Bool = false,
        reconnects: Bool
    ) throws {
        self.paths = paths
        self.answers = answers
        self.screen = screen
        self.leavesAfterFirstPrompt = leavesAfterFirstPrompt
        self.reconnects = reconnects
        inbox = try AgentInbox()
    }

    /// Returns when the owner leaves, or after the first prompt where that is wanted.
    ///
    /// - Throws: `AgentError`; what the device answered, or what `answers` threw, if no prompt can come any more.
    package func run() throws {
        do {
            try connect()
        } catch AgentError.notBooted where reconnects {
            screen.waits(.notBooted)
        }
        try answers.begin()
        defer {
            answers.end()
            subscription?.close()
        }
        while !isDone {
            let hasInput = wait()
            for message in inbox.take() where !isDone { try receive(message) }
            if hasInput, !isDone { try answer(try answers.inputArrived(prompt)) }
            if let time = answers.wakeAt, time <= .now, !isDone { try answer(answers.timeCame()) }
            if subscription == nil, !isDone { try? connect() }
            redraw()
        }
    }

    private func connect() throws {
        let device = try AgentChannel(paths)
        calls = try AgentChannel(paths)
        subscription = device
        inbox.subscribe(device)
    }

    /// Waits until there is something to do.
    ///
    /// Returns whether there is an answer to be read.
    private func wait() -> Bool {
        var sources = [pollfd(fd: inbox.descriptor, events: Int16(POLLIN), revents: 0)]
        if let input = answers.input { sources.append(pollfd(fd: input, events: Int16(POLLIN), revents: 0)) }
        var limit: Int32 = -1
        if subscription == nil { limit = Self.reconnectMilliseconds }
        if retryAt != nil { limit = Self.countdownMilliseconds }
        if let time = answers.wakeAt {
            let left = Int32(max(0, (time - .now) / .milliseconds(1)).rounded(.up))
            limit = limit < 0 ? left : min(limit, left)
        }
        let count = unsafe poll(&sources, nfds_t(sources.count), limit)
        return count > 0 && sources.count > 1 && sources[1].revents != 0
    }

    private func receive(_ message: AgentInbox.Message) throws {
        switch message {
        case .event(.ready, _):
            screen.ready()
        case .event(.show, let shown?): try show(shown)
        case .event(.show, nil): break
        case .event(.succeeded, let ended): takeDown("Recognised: \(name) may go on.", ended)
        case .event(.dismissed, let ended):
            takeDown(choice ?? "Dismissed: \(name) was not allowed to go on.", ended)
        case .disconnected(let error):
            if prompt != nil { takeDown("Gone: the device went away.") }
            subscription = nil
            calls = nil
            guard reconnects, AgentError.isGone(error) else { throw error }
            if !isDone { screen.waits(.wentAway) }
        case .signal(SIGINT):
            guard prompt != nil else { return isDone = true }
            // Its dialog may have ended of the same key.
            answers.promptEnded()
            try answer(.cancel)
        case .signal(SIGWINCH): break
        case .signal: isDone = true
        }
    }

    private var name: String { prompt.map { PromptText(prompt: $0).name } ?? "the app" }

    private func show(_ shown: AgentInterface.Prompt) throws {
        let isNew = prompt?.identifier != shown.identifier
        if isNew, prompt != nil {
            answers.promptEnded()
            screen.replace(with: "Replaced: a newer prompt took the place of \(name).")
        }
        if isNew { choice = nil }
        prompt = shown
        let seconds = PlainText.seconds(shown.retryAfterSeconds ?? 0)
        retryAt = seconds > 0 ? .now + .seconds(seconds) : nil
        let next = answers.promptChanged(shown, isNew: isNew)
        redraw()
        if case .unable? = next {} else if answers.showsAtOnce { confirmShown(shown) }
        try answer(next)
    }

    /// Otherwise the device takes this agent to be stuck.
    private func confirmShown(_ prompt: AgentInterface.Prompt) {
        // Gone already, or the device is: an event says so.
        _ = try? calls?.client.call(AgentInterface.ConfirmShown.self, .init(prompt: prompt.identifier))
        answers.confirmed()
    }

    private func redraw() {
        guard var prompt else { return }
        var left = 0
        if let retryAt {
            left = max(0, Int(((retryAt - .now) / .seconds(1)).rounded(.up)))
            if left == 0 {
                self.retryAt = nil
                prompt.retryAfterSeconds = nil
                self.prompt = prompt
                if let next = answers.promptChanged(prompt, isNew: false) { try? answer(next) }
            }
        }
        screen.draw(prompt, secondsLeft: left)
    }

    /// Takes down `ended`, the prompt that is over, or whichever is up where that is nil.
    private func takeDown(_ line: String, _ ended: AgentInterface.Prompt? = nil) {
        guard prompt != nil, ended == nil || ended?.identifier == prompt?.identifier else { return }
        // First, so that a dialog in this terminal takes nothing of the line with it.
        answers.promptEnded()
        screen.replace(with: line)
        prompt = nil
        retryAt = nil
        choice = nil
        if leavesAfterFirstPrompt { isDone = true }
    }

    private func answer(_ answer: PromptAnswer?) throws {
        guard let answer, let prompt, let calls = calls?.client else { return }
        var isJudged = false
        do {
            switch answer {
            case .cancel:
                choice = "Cancelled."
                _ = try calls.call(AgentInterface.Cancel.self, .init(prompt: prompt.identifier))
            case .fallback:
                choice = "Ended by \u{201C}\(PromptText(prompt: prompt).otherButton ?? "")\u{201D}."
                _ = try calls.call(AgentInterface.ChooseFallback.self, .init(prompt: prompt.identifier))
            case .tryAgain:
                choice = nil
                _ = try calls.call(AgentInterface.TryAgain.self, .init(prompt: prompt.identifier))
            case .permission(let isAllowed):
                choice = isAllowed ? nil : "Not allowed: \(name) may not use Face ID."
                _ = try calls.call(
                    AgentInterface.AnswerPermission.self, .init(prompt: prompt.identifier, isAllowed: isAllowed))
            case .passcode(let passcode):
                // Before the delay is over it would not be looked at.
                guard retryAt == nil else { return }
                choice = nil
                defer { passcode.wipe() }
                guard !passcode.isTooLong else { return try show(prompt) }
                if prompt.phase == .unlock {
                    // How the prompt stands then, an event says, as of every passcode.
                    isJudged = true
                    try PasscodeSeal.entering(key: { try PasscodeKeyFile(paths.passcodeKey).read() }) { seal in
                        let nonce = try calls.call(DeviceInterface.GetNonce.self, Empty()).nonce
                        let sealed = try seal.seal([passcode], for: .unlock, nonce: nonce)
                        _ = try calls.call(DeviceInterface.Unlock.self, .init(passcode: sealed))
                    }
                    return
                }
                try PasscodeSeal.entering(key: { try PasscodeKeyFile(paths.passcodeKey).read() }) { seal in
                    let sealed = try seal.seal([passcode], for: prompt.purpose, nonce: prompt.nonce)
                    isJudged = prompt.phase == .passcode
                    _ = try calls.call(
                        AgentInterface.EnterPasscode.self, .init(prompt: prompt.identifier, passcode: sealed))
                }
            case .touch(let finger):
                choice = nil
                _ = try calls.call(DeviceInterface.PresentFinger.self, .init(finger: finger))
            case .shown: confirmShown(prompt)
            case .unable(let reason):
                // Another agent gets the prompt, or its app hears that nobody could see it.
                screen.say(reason)
                subscription?.close()
            }
        } catch PasscodeKeyError.unreadable {
            // As long as the device is off.
        } catch  where AgentError.isGone(error) {
            // The device was gone first: an event says so.
        } catch let error as RemoteError where error.as(AgentInterface.NoSuchPrompt.self) != nil {
            // The prompt was gone first: an event says so.
        } catch let error as RemoteError
            where error.as(DeviceInterface.Refused.self) != nil
            || error.as(DeviceInterface.PasscodeRejected.self) != nil
        {
            // The device did not look at it. Of a passcode it says in an event how the prompt stands now; else that has not changed.
            choice = nil
            if !isJudged { try show(prompt) }
        }
    }

    private static let reconnectMilliseconds: Int32 = 250
    private static let countdownMilliseconds: Int32 = 250
}
