import Foundation

/// What prompts say: always where, and what is signed.
enum PromptText {
    /// Most characters of a text that is to be confirmed.
    static let maximumLength = 200

    /// - Throws: `.configuration` for a text that would not show as it is: one of several lines, for example, or with characters that
    ///   turn the writing around.
    static func check(_ text: String) throws(SignInError) {
        guard !text.isEmpty, text.count <= maximumLength else {
            throw .configuration("the text has to have 1 to \(maximumLength) characters")
        }
        try checkShown(text)
    }

    /// - Throws: `.configuration`; the length is the caller's to check.
    static func checkShown(_ text: String) throws(SignInError) {
        guard text.unicodeScalars.allSatisfy(isShown) else {
            throw .configuration(
                "the text has characters that are not visible; use one line of letters, digits and signs")
        }
    }

    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: false
        default: true
        }
    }

    static func register(_ audience: String) -> String { "register this device at \(audience)" }
    static func signIn(_ audience: String) -> String { "sign in to \(audience)" }

    /// With the code as the page shows it.
    static func signIn(_ audience: String, code: String) -> String {
        "sign in to \(audience); the page shows \(code)"
    }

    static func confirm(_ audience: String, _ text: String) -> String { "confirm at \(audience): \(text)" }
    static func rotate(_ audience: String) -> String { "replace this device's key at \(audience)" }

    /// The key id is base64url; its beginning is enough to tell the devices of an account apart.
    static func revoke(_ audience: String, keyID: String) -> String {
        "revoke the key \(keyID.prefix(8))… at \(audience)"
    }
}
