package import TouchstoneInterfaces

/// Where answers come from.
package protocol PromptAnswers: AnyObject {
    /// Where answers come from, and `inputArrived` is to be called when there is something.
    var input: Int32? { get }
    /// Whether a prompt can be seen once `promptChanged` returns; where not, `PromptAnswer.shown` says when.
    var showsAtOnce: Bool { get }
    func begin() throws
    func end()
    /// A prompt came up, or reached another state.
    func promptChanged(_ prompt: AgentInterface.Prompt, isNew: Bool) -> PromptAnswer?
    /// The device was told that the owner can see the prompt.
    func confirmed()
    func promptEnded()
    /// - Throws: The reason if no answer can come from there any more: the agent ends.
    func inputArrived(_ prompt: AgentInterface.Prompt?) throws -> PromptAnswer?
    /// When `timeCame` is to be called; nil: not at all.
    var wakeAt: ContinuousClock.Instant? { get }
    func timeCame() -> PromptAnswer?
}

extension PromptAnswers {
    package var showsAtOnce: Bool { true }
    package var wakeAt: ContinuousClock.Instant? { nil }
    package func timeCame() -> PromptAnswer? { nil }
    package func begin() {}
    package func end() {}
    package func confirmed() {}
}

/// Where a session says how it stands.
package protocol AgentScreen: AnyObject {
    /// Prompts can come.
    func ready()
    /// The device is off, or has gone: the session waits for it.
    func waits(_ reason: AgentWait)
    func draw(_ prompt: AgentInterface.Prompt, secondsLeft: Int)
    /// The prompt is over: takes it down, and leaves this line.
    func replace(with line: String)
    /// This agent cannot show a prompt, and why.
    func say(_ trouble: String)
}

/// Why a session waits.
package enum AgentWait {
    /// Nothing answered when it began.
    case notBooted
    case wentAway
}
