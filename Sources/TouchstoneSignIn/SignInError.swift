public import Foundation

/// Why a sign-in, or what belongs to it, did not happen.
///
/// Only ``registrationNeeded(_:)`` is about the key itself; every other case leaves it as it was (AC-53).
public enum SignInError: Error, Sendable, Equatable {
    /// Why there has to be a new key.
    public enum RegistrationReason: String, Sendable, Codable {
        /// It can never be used again (AC-52): other fingers or faces are enrolled than when it was made, or the passcode was removed.
        case invalidated
        /// It is not there any more: somebody deleted it, or the device was restored from a backup.
        case keyMissing
    }

    /// What the app said of the server, of itself or of the request cannot be used; the text says what.
    case configuration(String)
    /// The owner or the app cancelled.
    case cancelled
    /// The sensor did not recognise the owner.
    case notRecognised
    /// Too many misses: the passcode is wanted first.
    case lockedOut
    /// Nobody can be asked now, or there is nothing to ask with; the text says what to do.
    case notAvailable(String)
    /// There is no key for this server on this device.
    case notRegistered
    /// The key is lost, and what was left of it deleted: ask for the password and register again.
    case registrationNeeded(RegistrationReason)
    /// More calls of this client wait than ``SignInClient/maximumWaitingCalls``, or it registers under other names just now.
    case busy
    /// The server refused and does not say why (NP-42): a wrong password, a key that was revoked there, a challenge that was used or is
    /// too old. With how many seconds the server's clock is ahead of this one, where that is known.
    case refused(clockDifference: Int?)
    /// The session is over: sign in again.
    case sessionEnded
    /// What the request is about is not there any more.
    case notFound
    /// What the request is about has changed meanwhile.
    case conflict
    /// Too often: to be tried again after so many seconds.
    case tooManyRequests(retryAfter: Int?)
    /// The server is there and cannot do it now.
    case unavailable
    /// The server was not reached, or its answer was not. What was asked for may or may not have happened; the next call starts over, with
    /// a challenge of its own.
    case unreachable(String)
    /// The answer does not belong to this protocol.
    case badAnswer(String)
    /// The keychain's status.
    case keychain(Int32)
}

extension SignInError: LocalizedError, CustomStringConvertible {
    /// A sentence without a full stop that says what to do.
    public var description: String {
        switch self {
        case .configuration(let text), .notAvailable(let text): text
        case .cancelled: "cancelled; nothing changed"
        case .notRecognised: "the owner was not recognised; try again"
        case .lockedOut: "biometry is locked out; unlock the device with the passcode, then try again"
        case .notRegistered: "this device is not registered with the server; register it with the password"
        case .registrationNeeded(.invalidated):
            "the key is lost, because other fingers or faces are enrolled or the passcode was removed; register again with the password"
        case .registrationNeeded(.keyMissing): "the key does not exist any more; register again with the password"
        case .busy: "other requests already wait for the owner"
        case .refused(let difference):
            "the server refused"
                + (difference.map {
                    abs($0) > Self.notableClockDifference
                        ? "; its clock is \(abs($0)) s \($0 > 0 ? "ahead of" : "behind") this one's" : ""
                } ?? "")
        case .sessionEnded: "the session is over; sign in again"
        case .notFound: "the server does not know this, or does not know it any more"
        case .conflict: "it is already done, or has changed meanwhile"
        case .tooManyRequests(let seconds?): "too many requests; try again in \(seconds) s"
        case .tooManyRequests(nil): "too many requests; try again later"
        case .unavailable: "the server does not work at the moment; try again later"
        case .unreachable(let text): "the server was not reached: \(text)"
        case .badAnswer(let text): "this is not a sign-in server, or it has another version: \(text)"
        case .keychain(let status): "the keychain failed (\(status))"
        }
    }

    /// As ``description``.
    public var errorDescription: String? { description }

    /// Two clocks that differ by more seconds are worth a word (NP-15).
    static let notableClockDifference = 300

    /// What any function of this library has thrown.
    init(caught error: any Error) {
        switch error {
        case let known as SignInError: self = known
        case is CancellationError: self = .cancelled
        default: self = .badAnswer("\(type(of: error))")
        }
    }
}
