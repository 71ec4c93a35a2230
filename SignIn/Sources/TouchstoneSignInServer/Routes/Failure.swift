import Foundation
import HTTPTypes

/// Why a request is not done: one answer for the client, a reason for the log (NP-42).
struct Failure: Error {
    enum Answer: String, Sendable {
        case malformed
        case refused
        case notFound
        case methodNotAllowed
        case conflict
        case tooLarge
        case tooManyRequests
        case unavailable

        var status: HTTPResponse.Status {
            switch self {
            case .malformed: .badRequest
            case .refused: .unauthorized
            case .notFound: .notFound
            case .methodNotAllowed: .methodNotAllowed
            case .conflict: .conflict
            case .tooLarge: .contentTooLarge
            case .tooManyRequests: .tooManyRequests
            case .unavailable: .serviceUnavailable
            }
        }
    }

    var answer: Answer
    var reason: Reason
    /// The key that it is about, if one was named.
    var keyID: Data?
    /// Seconds.
    var retryAfter: Int?
    /// Of a password that was refused: whose it should have been, by ``SignInServer/logName(_:)``, and from where it came.
    var name: String?
    var address: String?
    /// Of a passkey that was refused: why.
    var passkey: String?

    static func refused(_ reason: Reason, key: Data? = nil) -> Failure {
        Failure(answer: .refused, reason: reason, keyID: key)
    }

    static func malformed(_ reason: Reason) -> Failure { Failure(answer: .malformed, reason: reason) }
}

/// The reasons that the log and the metrics have; a client sees none of them.
enum Reason: String, Sendable, CaseIterable {
    case accountUnknown
    case applicationUnknown
    case attestation
    case audience
    case body
    case busy
    case challengeExpired
    case challengeForAnother
    case challengeUnknown
    case counter
    case counterOvertaken
    case detailsHash
    case detailsForm
    case keyExists
    case keyForm
    case keyRevoked
    case keyUnknown
    case keysFull
    case limitAccount
    case limitAddress
    case limitKey
    case limitWebRequest
    case messageForm
    case messageVersion
    case method
    case newSignature
    case noCookie
    case noToken
    case origin
    case password
    case passkey
    case passwordSession
    case proofClaims
    case proofForm
    case proofKey
    case proofMissing
    case proofReplayed
    case proofSignature
    case purpose
    case refreshReused
    case refreshUnknown
    case route
    case secondFactor
    case sessionEnded
    case sessionOld
    case signature
    case signatureForm
    case storage
    case token
    case tokenExpired
    case transaction
    case unexpected
    case userHandle
    case webCode
    case webOrigin
    case webRequestGone
}
