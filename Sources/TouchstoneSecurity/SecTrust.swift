public import TouchstoneCoreFoundation

/// On Apple's platforms, this type says whether a chain of certificates is trusted.
///
/// Here nothing says that, and no object of this type is ever made. The type exists so that declarations that name it
/// compile. No function makes or evaluates one, so that no program trusts a chain that nobody looked at.
public final class SecTrust: NSObject, CoreFoundationType, Sendable {
    package static let typeID: CFTypeID = 0x5443_5452

    private override init() {}
}

/// The type of `SecTrust`.
///
/// - Returns: What `CFGetTypeID` answers for none.
@discardableResult
public func SecTrustGetTypeID() -> CFTypeID { SecTrust.typeID }
