import TouchstoneCore
import TouchstoneInterfaces

extension AgentInterface.Prompt {
    /// The failure of a test that left the prompt alone.
    ///
    /// It has the prompt's words and the line to add.
    ///
    /// - Parameters:
    ///   - limit: How long nothing happened.
    ///   - isUseless: Something was presented, and nothing came of it.
    /// - Returns: The words.
    func forgotten(after limit: Duration, isUseless: Bool) -> String {
        let reason = reason.isEmpty ? "" : ", for \"\(reason)\""
        let what = isUseless ? "Nothing came of what was presented for" : "Nothing was presented for"
        return """
            \(what) a prompt: \(app.name) \(question)\(reason). It was cancelled after \(limit / .seconds(1)) s.
            Add before the call that asks: device.present(\(answer))\(isUseless ? hint : "")
            Where somebody answers later, make the device with unanswered: .waits
            """
    }

    private var question: String {
        switch phase {
        case .permission: "asks whether it may use Face ID"
        case .biometry: "asks for a \(biometryType.sample)"
        case .retry: "offers to look once more"
        case .fallback: "has no more use for a \(biometryType.sample)"
        case .passcode: "asks for the passcode"
        case .applicationPassword: "asks for a password of its own"
        case .unlock: "asks for the device to be unlocked"
        }
    }

    private var hint: String {
        phase == .biometry
            ? "\nThe fallback button is there only after a miss: device.present(.nonMatch, .fallback, …)" : ""
    }

    private var answer: String {
        switch phase {
        case .permission: ".allowFaceID"
        case .biometry: ".match"
        case .retry: ".tryAgain"
        case .fallback: fallbackTitle == nil ? ".cancel" : ".fallback"
        case .passcode: ".passcode(\"…\")"
        case .applicationPassword: ".applicationPassword(\"…\")"
        case .unlock: ".passcode(\"…\")"
        }
    }
}
