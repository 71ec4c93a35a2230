internal import Foundation
public import TouchstoneDevice

/// Why a request has no result: what each bridge says to its clients follows from this alone (BR-40).
public enum BridgeFailure: Error, Hashable, Sendable {
    /// The owner said no.
    case cancelled
    /// The owner could not show who they are: too many misses, or biometry is locked out.
    case denied
    /// The device is locked, and was not unlocked.
    case locked
    /// There is nobody who could show a prompt, no device, or nobody answered in time.
    case unavailable
    /// What was asked for is not there, or can never be used again.
    case gone
    /// The request itself is wrong.
    case invalid
    /// Too many requests wait.
    case busy
    /// Another evaluation took the place of this one.
    case displaced
    /// The client does not wait any more: nobody is answered.
    case clientGone

    /// What a device's error means.
    ///
    /// - Parameter error: Of any interface; `OwnerWanted` is no failure yet.
    public init(_ error: DeviceError) {
        guard case .answered(let name, let parameters) = error else {
            self = .unavailable
            return
        }
        let answer = DeviceAnswer(parameters)
        switch name.split(separator: ".").last {
        case "Invalidated": self = .gone
        case "NoSuchClient": self = .clientGone
        case "InvalidParameter", "MethodNotFound", "InterfaceNotFound": self = .invalid
        case "PermissionDenied": self = .denied
        default: self = answer.failure
        }
    }
}

/// The fields that errors of the device's interfaces share.
struct DeviceAnswer: Decodable {
    var status: Int?
    var code: Int?
    var reason: String?

    init(_ parameters: Data) {
        self = (try? JSONDecoder().decode(DeviceAnswer.self, from: parameters)) ?? DeviceAnswer()
    }

    private init() {}

    /// Whether the owner's proof is wanted, and nobody was asked for it, since the call did not say how.
    static func wantsOwner(_ error: DeviceError) -> Bool {
        guard case .answered(_, let parameters) = error else { return false }
        let answer = DeviceAnswer(parameters)
        return answer.status == -25308 && answer.reason == "interactionForbidden"
    }

    var failure: BridgeFailure {
        switch reason {
        case "deviceLocked", "beforeFirstUnlock", "lockedMeanwhile": return .locked
        case "tooManyWait", "waitedTooLong", "tooManyContexts": return .busy
        case "cancelledByAnother": return .displaced
        case "ownerCancelled", "cancelledTooOften", "fallbackChosen": return .cancelled
        default: break
        }
        switch code ?? status {
        case -2, -3, -128: return .cancelled
        case -4: return .displaced
        case -1004, -25291, -25308: return .unavailable
        case -25300: return .gone
        case -50, -26275: return .invalid
        default: return .denied
        }
    }
}
