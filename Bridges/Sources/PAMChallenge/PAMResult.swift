/// What the helper tells the module, by the numbers of Linux-PAM (§11.4 of the design, PM-1…PM-22).
public enum PAMResult: Int32, Equatable, Sendable {
    /// The signature is verified.
    case success = 0
    /// Something is wrong that nobody should work around: a signature that does not verify, a key file that others can write to.
    case systemError = 4
    /// Somebody else's finger, three times; counted by pam_faillock.
    case authenticationFailed = 7
    /// Nobody could be asked, or nobody answered, or the owner wants the password: the next module asks.
    case unavailable = 9
    /// Nobody enrolled this user, or the user has no device.
    case userUnknown = 10
}

/// Why the device did not sign.
public struct SigningFailure: Equatable, Sendable {
    /// The last part of the error's name, such as `Failed`.
    public var error: String
    /// LAError.Code; nil if the error has none.
    public var code: Int?
    /// OSStatus; nil if the error has none.
    public var status: Int?

    /// A failure as the device's interfaces have it.
    public init(error: String, code: Int?, status: Int?) {
        self.error = error
        self.code = code
        self.status = status
    }

    /// The result for the module.
    ///
    /// Only three fingers that did not match count as somebody who is not the owner. Everything else hands over to the password.
    public var result: PAMResult {
        if error == "Failed", code == -1 { return .authenticationFailed }
        let isDead = error == "Failed" && code == nil && (status == -25300 || status == -26275)
        return isDead || error == "Invalidated" ? .userUnknown : .unavailable
    }
}
