/// What the exit status of a command says.
///
/// Documented in `touchstone --help`: scripts depend on it.
enum ExitStatus: Int32, CaseIterable {
    case success = 0
    case no = 1
    case notWaiting = 3
    case passcodeRequired = 4
    case refused = 5
    case wrongPasscode = 6
    case notSimulated = 7
    case cancelled = 8
    /// `EX_USAGE`, the argument parser's own.
    case usage = 64
    /// `EX_UNAVAILABLE`.
    case unavailable = 69
    /// `EX_SOFTWARE`.
    case internalError = 70
    /// `EX_CONFIG`.
    case configuration = 78

    var meaning: String {
        switch self {
        case .success: "done; yes; the finger matched"
        case .no: "no; not found; the finger did not match"
        case .notWaiting: "nothing was waiting for a finger"
        case .passcodeRequired: "the passcode is required, and a finger does not help now"
        case .refused: "the state of the device does not allow it; nothing changed"
        case .wrongPasscode: "the passcode was not accepted"
        case .notSimulated: "only a device created as simulated can be driven"
        case .cancelled: "not confirmed; nothing changed"
        case .usage: "the command line is wrong"
        case .unavailable: "there is no such device, it is off, or it did not answer"
        case .internalError: "a fault of Touchstone or of the system"
        case .configuration: "a daemon refused to start: its files or settings are not safe"
        }
    }
}
