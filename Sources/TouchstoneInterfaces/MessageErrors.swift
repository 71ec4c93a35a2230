package import TouchstoneCore

// Errors, made of what went wrong.

extension AuthenticationInterface.Failed {
    package init(_ code: AuthenticationFailure, _ message: String, _ cause: RefusalCause? = nil) {
        self.init(code: code, message: message, reason: cause?.rawValue)
    }
}

extension BackupInterface.Failed {
    package init(_ status: Status) { self.init(status: status.rawValue) }
}

extension DeviceInterface.Refused {
    package init(
        _ reason: DeviceInterface.RefusalReason, program: String? = nil, directory: String? = nil
    ) {
        self.init(reason: reason, program: program, directory: directory)
    }
}

extension KeyInterface.Failed {
    package init(_ status: Status, _ cause: RefusalCause? = nil, _ accessControl: AccessControl? = nil) {
        self.init(status: status.rawValue, reason: cause?.rawValue, accessControl: accessControl)
    }

    package init(_ refusal: Refusal) {
        self.init(refusal.status, refusal.cause, refusal.accessControl)
    }
}

extension KeyInterface.Invalidated {
    package init(_ cause: RefusalCause?) { self.init(reason: cause?.rawValue) }
}

extension KeychainInterface.Failed {
    package init(_ status: Status, _ cause: RefusalCause? = nil, _ accessControl: AccessControl? = nil) {
        self.init(status: status.rawValue, reason: cause?.rawValue, accessControl: accessControl)
    }

    package init(_ refusal: Refusal) {
        self.init(refusal.status, refusal.cause, refusal.accessControl)
    }
}
