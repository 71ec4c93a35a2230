package import TouchstoneCore
import TouchstoneInterfaces
internal import TouchstoneTransport

/// Every way in which a keychain call fails, as the `OSStatus` that the caller sees: the one place where codes are translated.
extension Status {
    init(_ failure: TransportError) {
        switch failure {
        case .unreachable, .closed: self = .notAvailable
        case .tooLarge: self = .dataTooLarge
        case .malformed: self = .internalError
        }
    }

    /// An answer that is an error.
    init(_ failure: RemoteError) {
        if let failed = failure.as(KeychainInterface.Failed.self) {
            self.init(rawValue: failed.status)
        } else if let failed = failure.as(KeyInterface.Failed.self) {
            self.init(rawValue: failed.status)
        } else if failure.as(KeyInterface.Invalidated.self) != nil {
            // AC-52
            self = .authFailed
        } else if failure.as(VarlinkServiceError.InvalidParameter.self) != nil {
            self = .param
        } else if failure.as(VarlinkServiceError.PermissionDenied.self) != nil {
            // KC-42: an app that nobody knows has no group at all.
            self = .missingEntitlement
        } else {
            self = .internalError
        }
    }

    /// Anything that a call has thrown.
    package init(failure: any Error) {
        switch failure {
        case let status as Status: self = status
        case let refused as RefusedKey: self = refused.status
        case let remote as RemoteError: self.init(remote)
        case let transport as TransportError: self.init(transport)
        case let authentication as AuthenticationInterface.Failed: self.init(authentication.code)
        default: self = .internalError
        }
    }
}
