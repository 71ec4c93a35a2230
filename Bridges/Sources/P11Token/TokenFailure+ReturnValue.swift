internal import P11RPC

extension TokenFailure {
    /// What the client is told (PK-16).
    var returnValue: ReturnValue {
        switch self {
        case .cancelled: .functionCanceled
        case .denied, .unavailable: .functionFailed
        case .locked: .userNotLoggedIn
        case .dead: .keyFunctionNotPermitted
        case .away: .deviceError
        case .taken: .attributeValueInvalid
        case .full: .deviceMemory
        }
    }
}
