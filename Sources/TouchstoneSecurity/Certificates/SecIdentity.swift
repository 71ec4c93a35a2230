public import Foundation
internal import TouchstoneCore
public import TouchstoneCoreFoundation

/// A certificate and the private key to it.
public final class SecIdentity: NSObject, CoreFoundationType, Sendable {
    let certificate: SecCertificate
    let privateKey: SecKey

    package static let typeID: CFTypeID = 0x5443_4944

    /// Joins the two, which must belong together.
    init(certificate: SecCertificate, privateKey: SecKey) {
        self.certificate = certificate
        self.privateKey = privateKey
    }

    /// Whether another identity is of an equal certificate and an equal key.
    ///
    /// - Parameter object: What to compare with.
    /// - Returns: Whether it is such an identity.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecIdentity else { return false }
        return other.certificate == certificate && other.privateKey == privateKey
    }

    /// The hash of the certificate.
    public override var hash: Int { certificate.hash }
}

/// The type of `SecIdentity`.
///
/// - Returns: What `CFGetTypeID` answers for one.
@discardableResult
public func SecIdentityGetTypeID() -> CFTypeID { SecIdentity.typeID }

/// Joins a certificate and the private key to it; nothing is stored.
///
/// - Parameters:
///   - allocator: Disregarded.
///   - certificate: The certificate.
///   - privateKey: The private key.
/// - Returns: The identity; nil if the key is not the one to the certificate.
@discardableResult
public func SecIdentityCreate(
    _ allocator: CFAllocator?, _ certificate: SecCertificate, _ privateKey: SecKey
) -> SecIdentity? {
    guard privateKey.implementation.keyClass == .private, privateKey.publicKeyHash == certificate.publicKeyHash else {
        return nil
    }
    return SecIdentity(certificate: certificate, privateKey: privateKey)
}

/// The certificate of an identity.
///
/// - Parameters:
///   - identityRef: The identity.
///   - certificateRef: Takes its certificate.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecIdentityCopyCertificate(
    _ identityRef: SecIdentity, _ certificateRef: UnsafeMutablePointer<SecCertificate?>
) -> OSStatus {
    unsafe certificateRef.initialize(to: identityRef.certificate)
    return Status.success.rawValue
}

/// The private key of an identity.
///
/// - Parameters:
///   - identityRef: The identity.
///   - privateKeyRef: Takes its key.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecIdentityCopyPrivateKey(
    _ identityRef: SecIdentity, _ privateKeyRef: UnsafeMutablePointer<SecKey?>
) -> OSStatus {
    unsafe privateKeyRef.initialize(to: identityRef.privateKey)
    return Status.success.rawValue
}
