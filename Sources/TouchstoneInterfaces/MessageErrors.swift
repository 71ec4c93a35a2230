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
    /// The owner's proof of what `accessControl` wants was not given.
    package init(_ failed: AuthenticationInterface.Failed, _ accessControl: AccessControl) {
        self.init(
            status: Status(failed.code).rawValue, reason: failed.reason, accessControl: accessControl,
            code: failed.code, message: failed.message)
    }

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
    /// The owner's proof of what `accessControl` wants was not given.
    package init(_ failed: AuthenticationInterface.Failed, _ accessControl: AccessControl) {
        self.init(
            status: Status(failed.code).rawValue, reason: failed.reason, accessControl: accessControl,
            code: failed.code, message: failed.message)
    }

    package init(_ status: Status, _ cause: RefusalCause? = nil, _ accessControl: AccessControl? = nil) {
        self.init(status: status.rawValue, reason: cause?.rawValue, accessControl: accessControl)
    }

    package init(_ refusal: Refusal) {
        self.init(refusal.status, refusal.cause, refusal.accessControl)
    }

    package init(_ refused: RefusedKey) {
        let key = refused.key.rawValue
        // What is longer is no constant of Apple's.
        self.init(status: refused.status.rawValue, key: key.utf8.count <= 64 ? key : nil)
    }
}
