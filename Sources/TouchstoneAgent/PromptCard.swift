/// One prompt as a window shows it: what is asked first, who asks next, the rest as details (DA-3).
///
/// Every text is plain text, never markup. What comes from elsewhere is without control and format characters, has a largest size, and
/// stands between U+2068 and U+2069, so that letters of another direction change nothing around it.
public struct PromptCard: Sendable, Equatable {
    /// What kind of act it is, for an icon of the agent's own.
    public enum Act: Sendable {
        /// A key or an item is used, or somebody signs in.
        case key
        /// A file is decrypted or a command is run.
        case file
        /// The device is unlocked.
        case door
    }

    /// Whose word a line is.
    public enum Source: Sendable {
        /// touchstoned looked at it.
        case verified
        /// A bridge checked or recorded it.
        case bridge
        /// The app claims it.
        case claim
    }

    /// A line of the details.
    public struct Detail: Sendable, Equatable {
        /// Whose word it is.
        public var source: Source
        /// As one sentence.
        public var text: String
    }

    /// What a button does.
    public enum Action: Sendable {
        /// The evaluation ends.
        case cancel
        /// The other way that the prompt offers.
        case fallback
        /// Face ID looks once more.
        case tryAgain
        /// The app may use Face ID.
        case allow
        /// It may not.
        case deny
        /// What was typed is enough.
        case enter
    }

    /// A button, the most likely first and the one that cancels last.
    public struct Button: Sendable, Equatable {
        /// What it does.
        public var action: Action
        /// What stands on it.
        public var title: String
    }

    /// What is typed.
    public struct Entry: Sendable, Equatable {
        /// What it is called.
        public var label: String
        /// Whether digits alone make one up.
        public var isDigits: Bool
        /// How many characters it has, where that is fixed.
        public var length: Int?
    }

    /// Of the prompt.
    public var identifier: String
    /// Changes when the prompt reaches another state: what was typed for one is not for another.
    public var state: Int
    /// For the icon.
    public var act: Act
    /// How it is answered, such as "Touch ID".
    public var kind: String
    /// What is asked for.
    public var what: String
    /// The item or the key that it is about, where `what` does not say.
    public var object: String?
    /// The name of who asks, in quotation marks: verified.
    public var name: String
    /// Its path, or its sandbox: verified.
    public var path: String
    /// That who asks came over a network: verified.
    public var warning: String?
    /// All that is known, and all that is claimed: verified lines, then a bridge's, then claims.
    public var details: [Detail]
    /// What went wrong last.
    public var failure: String?
    /// What to do.
    public var instruction: String
    /// nil: nothing is to be typed now.
    public var entry: Entry?
    /// At least one.
    public var buttons: [Button]
}
