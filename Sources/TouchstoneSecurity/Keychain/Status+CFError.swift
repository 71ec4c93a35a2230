internal import TouchstoneCore
internal import TouchstoneCoreFoundation
internal import TouchstoneTransport

extension Status {
    /// Puts this where a caller of Apple's functions looks for the reason of a failure.
    func store(in error: UnsafeMutablePointer<Unmanaged<CFError>?>?, underlying: NSError? = nil) {
        let failure = NSError(
            domain: NSOSStatusErrorDomain, code: Int(rawValue),
            userInfo: underlying.map { [NSUnderlyingErrorKey: $0] } ?? [:])
        unsafe error?.pointee = unsafe Unmanaged.passRetained(failure)
    }
}

extension NSError {
    /// What is behind the status of a failure, where there is more to tell: why the owner's proof was not had, or that a key can never be used
    /// again (AC-52).
    convenience init?(underlying failure: any Error) {
        if let failed = failure as? AuthenticationInterface.Failed {
            self.init(
                domain: "com.apple.LocalAuthentication", code: failed.code.rawValue,
                userInfo: [NSLocalizedDescriptionKey: failed.message])
        } else if (failure as? RemoteError)?.as(KeyInterface.Invalidated.self) != nil {
            self.init(domain: "CryptoTokenKit", code: -3)
        } else {
            return nil
        }
    }
}
