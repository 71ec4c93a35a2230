import Glibc
import TouchstoneAgent
import TouchstoneCore
import TouchstoneDevice
import TouchstoneInterfaces

/// Answers of an agent at a terminal.
protocol TerminalAnswers: PromptAnswers {
    /// Whether prompts are drawn in this terminal; others show them themselves.
    var drawsHere: Bool { get }
    /// Where they appear, as words.
    var place: String { get }
    /// Number of characters entered so far; nil if nothing is being entered.
    var entered: Int? { get }
}

/// The owner at the keyboard.
final class KeyboardAnswers: TerminalAnswers {
    let input: Int32?
    let drawsHere = true
    let place = "here"
    private let passcode = PasscodeBuffer()
    private var isEntering = false
    /// Whether the prompt's answer was the last that was typed.
    private var isAnswered = false
    /// Fingers that the keys 1…9 stand for; nil if keys are not fingers.
    private let fingers: [String]?
    private var pause: TypingPause

    init(
        fingers: [String]? = nil, input: Int32 = STDIN_FILENO,
        now: @escaping () -> ContinuousClock.Instant = { .now }
    ) {
        self.fingers = fingers
        self.input = input
        pause = TypingPause(now: now)
    }

    var entered: Int? { isEntering ? passcode.characters : nil }

    func begin() throws { try Terminal.readKeys() }

    func end() {
        passcode.wipe()
        Terminal.restore()
    }

    func promptChanged(_ prompt: AgentInterface.Prompt, isNew: Bool) -> PromptAnswer? {
        // What was typed before the prompt came up was not meant for it.
        if isNew {
            if isEntering, !isAnswered { pause.interrupted() }
            pause.begin()
            Terminal.dropInput()
        }
        passcode.wipe()
        isEntering = prompt.isTyped
        isAnswered = false
        return nil
    }

    func promptEnded() {
        if isEntering, !isAnswered { pause.interrupted() }
        passcode.wipe()
        isEntering = false
    }

    func inputArrived(_ prompt: AgentInterface.Prompt?) -> PromptAnswer? {
        var keys = [UInt8](repeating: 0, count: Self.maximumKeys)
        let count = unsafe read(input ?? STDIN_FILENO, &keys, Self.maximumKeys)
        defer { unsafe explicit_bzero(&keys, Self.maximumKeys) }
        guard count > 0 else {
            // The terminal is gone: nobody is left to answer.
            if count == 0 { raise(SIGHUP) }
            return nil
        }
        guard let prompt, !pause.isOn() else { return nil }
        // Escape alone is the key; with more behind it, it is an arrow or the like.
        isAnswered = false
        if keys[0] == Self.escape {
            isAnswered = count == 1
            return count == 1 ? .cancel : nil
        }
        for key in keys[..<count] {
            if let answer = take(key, prompt) { return answer }
        }
        return nil
    }

    private func take(_ key: UInt8, _ prompt: AgentInterface.Prompt) -> PromptAnswer? {
        guard prompt.isTyped else {
            switch key {
            case UInt8(ascii: "c"), UInt8(ascii: "C"): return .cancel
            case UInt8(ascii: "a"), UInt8(ascii: "A"): return prompt.phase == .permission ? .permission(true) : nil
            case UInt8(ascii: "d"), UInt8(ascii: "D"): return prompt.phase == .permission ? .permission(false) : nil
            case UInt8(ascii: "t"), UInt8(ascii: "T"): return prompt.phase == .retry ? .tryAgain : nil
            case UInt8(ascii: "f"), UInt8(ascii: "F"): return prompt.fallbackTitle == nil ? nil : .fallback
            case UInt8(ascii: "n"), UInt8(ascii: "N"): return fingers == nil ? nil : .touch(nil)
            case UInt8(ascii: "1")...UInt8(ascii: "9"):
                let number = Int(key - UInt8(ascii: "1"))
                return fingers.flatMap { number < $0.count ? .touch($0[number]) : nil }
            default: return nil
            }
        }
        switch key {
        case Self.carriageReturn, Self.newline:
            isAnswered = passcode.count > 0
            return isAnswered ? .passcode(passcode) : nil
        case Self.backspace, Self.delete: passcode.removeLastCharacter()
        case Self.clear: passcode.wipe()
        case 0x20...: passcode.append(key)
        default: break
        }
        return nil
    }

    private static let maximumKeys = 64
    private static let escape: UInt8 = 0x1B
    private static let carriageReturn: UInt8 = 0x0D
    private static let newline: UInt8 = 0x0A
    private static let backspace: UInt8 = 0x08
    private static let delete: UInt8 = 0x7F
    /// Ctrl-U, as in a line of a terminal.
    private static let clear: UInt8 = 0x15
}

/// A script in the owner's place.
final class ScriptedAnswers: TerminalAnswers {
    let drawsHere = true
    let place = "here"
    let entered: Int? = nil
    private var script: AgentScript
    /// Where more lines come from; nil: all are there.
    private var source: Int32?
    /// The begin of a line whose end has not come yet.
    private var partialLine: [UInt8] = []
    private var pending: AgentScript.Answer?
    private var ignoresPrompt = false
    /// This state of the prompt has had its answer, or is left alone: the next line is for the next one.
    private var isStateAnswered = false

    init(script: AgentScript) { self.script = script }

    /// Takes each line when it comes.
    init(input: Int32) {
        script = AgentScript()
        source = input
    }

    /// Not read while enough is there, so that a writer without end waits.
    var input: Int32? { script.answers.count < Self.maximumAnswers ? source : nil }

    func promptChanged(_ prompt: AgentInterface.Prompt, isNew: Bool) -> PromptAnswer? {
        if isNew { ignoresPrompt = false }
        isStateAnswered = false
        return answer(prompt)
    }

    private func answer(_ prompt: AgentInterface.Prompt) -> PromptAnswer? {
        guard !ignoresPrompt, !isStateAnswered, let next = pending ?? script.next() else { return nil }
        pending = next
        let answer = answer(prompt, next)
        isStateAnswered = pending == nil
        return answer
    }

    /// nil if the prompt has to reach another state first; what was used is `pending` no more.
    private func answer(_ prompt: AgentInterface.Prompt, _ next: AgentScript.Answer) -> PromptAnswer? {
        switch next {
        case .wait:
            pending = nil
            return nil
        case .ignore:
            pending = nil
            ignoresPrompt = true
            return nil
        case .cancel:
            pending = nil
            return .cancel
        case .fallback:
            guard prompt.fallbackTitle != nil else { return nil }
            pending = nil
            return .fallback
        case .retry:
            guard prompt.phase == .retry else { return nil }
            pending = nil
            return .tryAgain
        case .permission(let isAllowed):
            guard prompt.phase == .permission else { return nil }
            pending = nil
            return .permission(isAllowed)
        case .passcode(let text):
            guard prompt.takesPasscode else { return nil }
            return entry(text)
        case .password(let text):
            guard prompt.phase == .applicationPassword else { return nil }
            return entry(text)
        }
    }

    private func entry(_ text: String) -> PromptAnswer {
        pending = nil
        let passcode = PasscodeBuffer()
        for byte in text.utf8 { passcode.append(byte) }
        return .passcode(passcode)
    }

    func promptEnded() {}

    func inputArrived(_ prompt: AgentInterface.Prompt?) throws -> PromptAnswer? {
        guard let source else { return nil }
        var bytes = [UInt8](repeating: 0, count: Self.maximumRead)
        let count = unsafe read(source, &bytes, bytes.count)
        if count < 0, [EINTR, EAGAIN].contains(errno) { return nil }
        partialLine += bytes[..<max(0, count)]
        if count <= 0 {
            // The last line may have no end.
            self.source = nil
            partialLine.append(UInt8(ascii: "\n"))
        }
        while let end = partialLine.firstIndex(of: UInt8(ascii: "\n")) {
            try script.append(String(decoding: partialLine[..<end], as: UTF8.self))
            partialLine.removeFirst(end + 1)
        }
        guard partialLine.count <= AgentScript.maximumBytes else {
            throw Failure(.usage, "a line of the script is longer than \(AgentScript.maximumBytes) bytes")
        }
        return prompt.flatMap(answer)
    }

    /// Answers that are kept for prompts to come.
    private static let maximumAnswers = 10_000
    private static let maximumRead = 64 << 10
}
