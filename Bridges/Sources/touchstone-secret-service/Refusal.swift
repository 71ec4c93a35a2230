import BridgeCore
import SecretServiceModel

/// Why a call is not carried out, by the names that clients know (SS-4).
enum Refusal: Error, Hashable {
    case isLocked
    case noSession
    case noSuchObject
    case invalidArguments
    case notSupported
    case unknownObject
    case unknownMethod
    case unknownProperty
    case readOnly
    case accessDenied
    case limitsExceeded
    case failed

    /// The name of the D-Bus error.
    var name: String {
        switch self {
        case .isLocked: "org.freedesktop.Secret.Error.IsLocked"
        case .noSession: "org.freedesktop.Secret.Error.NoSession"
        case .noSuchObject: "org.freedesktop.Secret.Error.NoSuchObject"
        case .invalidArguments: "org.freedesktop.DBus.Error.InvalidArgs"
        case .notSupported: "org.freedesktop.DBus.Error.NotSupported"
        case .unknownObject: "org.freedesktop.DBus.Error.UnknownObject"
        case .unknownMethod: "org.freedesktop.DBus.Error.UnknownMethod"
        case .unknownProperty: "org.freedesktop.DBus.Error.UnknownProperty"
        case .readOnly: "org.freedesktop.DBus.Error.PropertyReadOnly"
        case .accessDenied: "org.freedesktop.DBus.Error.AccessDenied"
        case .limitsExceeded: "org.freedesktop.DBus.Error.LimitsExceeded"
        case .failed: "org.freedesktop.DBus.Error.Failed"
        }
    }

    /// A sentence for a developer.
    var text: String {
        switch self {
        case .isLocked: "The item is locked, and the owner did not unlock it."
        case .noSession: "There is no such session of this connection."
        case .noSuchObject: "There is no such object."
        case .invalidArguments: "The arguments are malformed."
        case .notSupported: "That is not supported."
        case .unknownObject: "There is no object with this path."
        case .unknownMethod: "The object has no such method."
        case .unknownProperty: "The object has no such property."
        case .readOnly: "The property cannot be set."
        case .accessDenied: "This program may not do that."
        case .limitsExceeded: "That is more than the service keeps."
        case .failed: "The device refused or failed. 'touchstone doctor' says what is wrong."
        }
    }

    /// What a client reads for each failure (BR-40).
    init(_ failure: BridgeFailure) {
        switch failure {
        case .cancelled, .denied, .locked, .unavailable, .busy, .displaced, .clientGone: self = .isLocked
        case .gone: self = .noSuchObject
        case .invalid: self = .invalidArguments
        }
    }

    init(_ failure: SessionCipher.Failure) {
        switch failure {
        case .notSupported: self = .notSupported
        case .malformed: self = .invalidArguments
        }
    }
}
