internal import TouchstoneCore
internal import TouchstoneCoreFoundation

extension Status {
    /// Puts this where a caller of Apple's functions looks for the reason of a failure.
    func store(in error: UnsafeMutablePointer<Unmanaged<CFError>?>?) {
        let failure = NSError(domain: NSOSStatusErrorDomain, code: Int(rawValue))
        unsafe error?.pointee = unsafe Unmanaged.passRetained(failure)
    }
}
