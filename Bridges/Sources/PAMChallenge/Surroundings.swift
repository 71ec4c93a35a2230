/// What there is of the device, of the owner's session and of the machine, before anything is shown (PM-10).
public struct Surroundings: Equatable, Sendable {
    /// What the owner wrote into the stack.
    public struct Options: Equatable, Sendable {
        /// Whether the reader is used while the lid is closed.
        public var usesReaderBehindLid: Bool
        /// Whether the passcode is enough where nothing is enrolled.
        public var takesPasscode: Bool

        /// Options of the module.
        public init(usesReaderBehindLid: Bool = false, takesPasscode: Bool = true) {
            self.usesReaderBehindLid = usesReaderBehindLid
            self.takesPasscode = takesPasscode
        }
    }

    /// The request comes from another machine, as PAM, the environment or the processes say.
    public var isRemote = false
    /// The device was made as simulated.
    public var isSimulated = false
    /// Somebody shows prompts.
    public var hasAgent = true
    /// The device has a passcode.
    public var isPasscodeSet = true
    /// A finger or a face is enrolled.
    public var isEnrolled = true
    /// The lid is closed.
    public var isLidClosed = false
    /// The device is locked.
    public var isLocked = false
    /// Wrong passcodes in a row that the device has counted.
    public var passcodeFailures = 0

    /// Everything as it should be.
    public init() {}

    /// Why the module stands aside; nil if the owner can be asked.
    ///
    /// - Parameters:
    ///   - options: Of the module.
    ///   - unlocks: Whether to wait for the owner to unlock a locked device is what is wanted (PM-22).
    /// - Returns: For the journal.
    public func obstacle(_ options: Options, unlocks: Bool) -> String? {
        if isSimulated { return "the device is a simulated one" }
        if isRemote { return "the request comes from another machine" }
        if !hasAgent { return "nobody shows prompts; touchstone-agent does" }
        if !isPasscodeSet { return "the device has no passcode" }
        if !isEnrolled, !options.takesPasscode { return "no finger is enrolled" }
        if isLidClosed, !options.usesReaderBehindLid { return "the lid is closed" }
        if isLocked, !unlocks { return "the device is locked" }
        return nil
    }

    /// Whether PAM_RHOST names another machine.
    ///
    /// - Parameters:
    ///   - host: What PAM has; empty if it has nothing.
    ///   - own: The name of this machine.
    /// - Returns: False for nothing, for the loopback, and for this machine's own name.
    public static func isRemote(_ host: String, own: String) -> Bool {
        !(["", "localhost", "127.0.0.1", "::1"].contains(host) || (!own.isEmpty && host == own))
    }

    /// Whether the text of the kernel's `lid/*/state` says that the lid is closed.
    public static func isClosed(lidState text: String) -> Bool {
        text.split(whereSeparator: \.isWhitespace) == ["state:", "closed"]
    }
}
