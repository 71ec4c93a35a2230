import TouchstoneSignIn

/// What the exit status of a command says, with the numbers of `touchstone`.
///
/// Documented in `touchstone-login --help`: scripts depend on it.
enum ExitStatus: Int32, CaseIterable {
    case success = 0
    case no = 1
    case registrationNeeded = 4
    case refused = 5
    case cancelled = 8
    /// `EX_USAGE`, the argument parser's own.
    case usage = 64
    /// `EX_UNAVAILABLE`.
    case unavailable = 69
    /// `EX_SOFTWARE`.
    case internalError = 70

    init(_ error: SignInError) {
        self =
            switch error {
            case .configuration: .usage
            case .cancelled: .cancelled
            case .notRegistered, .notFound, .conflict, .notRecognised: .no
            case .registrationNeeded: .registrationNeeded
            case .refused, .sessionEnded, .lockedOut, .tooManyRequests, .busy: .refused
            case .notAvailable, .unavailable, .unreachable: .unavailable
            case .badAnswer, .keychain: .internalError
            }
    }

    var meaning: String {
        switch self {
        case .success: "done"
        case .no: "no; not registered, not found, or the finger did not match"
        case .registrationNeeded:
            "the key is lost, because other fingers are enrolled; register again with the password"
        case .refused: "the server or the device refused; nothing changed"
        case .cancelled: "cancelled; nothing changed"
        case .usage: "the command line is wrong"
        case .unavailable: "the server or the device cannot be reached, or its owner cannot be asked"
        case .internalError: "a fault of Touchstone or of the system, or not a server of this protocol"
        }
    }
}

/// A command that did not do its work: a sentence that says what to do, and the exit status.
struct Failure: Error {
    var status: ExitStatus
    /// A sentence without a full stop; printed after `touchstone-login: `.
    var message: String
}

extension StandardError {
    /// Stands before what the command says.
    static let program = "touchstone-login"
}
