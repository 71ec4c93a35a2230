import PAMChallenge

/// What the module wants to know.
struct ModuleRequest {
    enum Mode: String {
        /// Whether the owner is there (PM-1).
        case confirm
        /// The same for a screen locker: the device may be locked (PM-22).
        case unlock
        /// Nothing: the password that was typed is tried once as the device's passcode (PM-24).
        case unlockDevice = "unlock-device"
    }

    var mode: Mode
    var user: String
    var service: String
    var terminal: String
    /// PAM_RHOST; empty if there is none.
    var host: String
    /// There is SSH_CONNECTION in the host's environment.
    var isRemote: Bool
    var options: Surroundings.Options

    /// nil if it is not the module's way of starting this program.
    init?(_ arguments: [String]) {
        guard arguments.count == 8, let mode = Mode(rawValue: arguments[0]),
            let isRemote = ["remote": true, "local": false][arguments[5]],
            let lid = ["use": true, "skip": false][arguments[6]],
            let passcode = ["yes": true, "no": false][arguments[7]]
        else { return nil }
        self.mode = mode
        self.isRemote = isRemote
        (user, service, terminal, host) = (arguments[1], arguments[2], arguments[3], arguments[4])
        options = Surroundings.Options(usesReaderBehindLid: lid, takesPasscode: passcode)
    }
}
