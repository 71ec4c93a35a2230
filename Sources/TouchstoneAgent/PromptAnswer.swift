public import TouchstoneDevice

/// What the owner decides about the prompt that is up.
public enum PromptAnswer {
    /// The evaluation ends.
    case cancel
    /// The other way that the prompt offers.
    case fallback
    /// Face ID looks once more.
    case tryAgain
    /// Whether the app may use Face ID.
    case permission(Bool)
    /// The passcode, or the app's password, whichever is asked for.
    case passcode(PasscodeBuffer)
    /// Lay a finger of a simulated device on its sensor; nil: one that is not enrolled.
    case touch(String?)
    /// The owner can see the prompt. Only of answers that say so themselves.
    case shown
    /// The prompt cannot be shown, and why: somebody else has to.
    case unable(String)
}
