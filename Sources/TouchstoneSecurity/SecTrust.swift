public import TouchstoneCoreFoundation

/// What says on Apple's platforms whether a chain of certificates is trusted.
///
/// Here nothing does, and no object of this type is ever made. It is there so that declarations that name it compile. What would make or evaluate one is not there, so that no program takes a chain
/// for verified that nobody looked at.
public final class SecTrust: NSObject, CoreFoundationType, Sendable {
    package static let typeID: CFTypeID = 0x5443_5452

    private override init() {}
}

/// The type of `SecTrust`.
///
/// - Returns: What `CFGetTypeID` answers for none.
@discardableResult
public func SecTrustGetTypeID() -> CFTypeID { SecTrust.typeID }
