internal import TouchstoneCertificates
internal import TouchstoneCore
public import TouchstoneCoreFoundation

/// The DER of a certificate.
///
/// - Parameter certificate: The certificate.
/// - Returns: The bytes it was made from.
@discardableResult
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData {
    certificate.value.der as NSData
}

/// A line by which people know whose certificate it is.
///
/// The common name, with the description where there is one; else the unit, the organization or whatever else the subject says; of an
/// empty subject an e-mail address or a host.
///
/// - Parameter certificate: The certificate.
/// - Returns: The line; nil if there is none of these.
@discardableResult
public func SecCertificateCopySubjectSummary(_ certificate: SecCertificate) -> CFString? {
    certificate.value.summary as NSString?
}

/// The common name of the subject.
///
/// - Parameters:
///   - certificate: The certificate.
///   - commonName: Takes the last common name, which is the most specific.
/// - Returns: `errSecSuccess`, or -26276 where it has none, or one that cannot be read.
@discardableResult
public func SecCertificateCopyCommonName(
    _ certificate: SecCertificate, _ commonName: UnsafeMutablePointer<CFString?>
) -> OSStatus {
    guard let name = certificate.value.commonName else { return Status.internalError.rawValue }
    unsafe commonName.initialize(to: name as NSString)
    return Status.success.rawValue
}

/// The e-mail addresses of a certificate.
///
/// - Parameters:
///   - certificate: The certificate.
///   - emailAddresses: Takes an array of `CFString`: the addresses of the alternative names, then those of the subject.
/// - Returns: `errSecSuccess`, also for an empty array.
@discardableResult
public func SecCertificateCopyEmailAddresses(
    _ certificate: SecCertificate, _ emailAddresses: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    unsafe emailAddresses.initialize(to: certificate.value.emailAddresses.map { $0 as NSString } as NSArray)
    return Status.success.rawValue
}

/// The issuer in the form by which issuers are compared.
///
/// Printable strings are in capitals and have single spaces; other strings are as they were.
///
/// - Parameter certificate: The certificate.
/// - Returns: The DER of the name; nil if the name is not built as names are.
@discardableResult
public func SecCertificateCopyNormalizedIssuerSequence(_ certificate: SecCertificate) -> CFData? {
    certificate.value.issuer.normalized as NSData?
}

/// The subject in the form by which subjects are compared.
///
/// Printable strings are in capitals and have single spaces; other strings are as they were.
///
/// - Parameter certificate: The certificate.
/// - Returns: The DER of the name; nil if the name is not built as names are.
@discardableResult
public func SecCertificateCopyNormalizedSubjectSequence(_ certificate: SecCertificate) -> CFData? {
    certificate.value.subject.normalized as NSData?
}

/// The public key of a certificate.
///
/// - Parameter certificate: The certificate.
/// - Returns: The key; nil for another algorithm than RSA and the curves P-256, P-384 and P-521, and for RSA below 1024 bits.
@discardableResult
public func SecCertificateCopyKey(_ certificate: SecCertificate) -> SecKey? {
    SoftwareKey(certificate.value.publicKey).map(SecKey.init)
}

/// Old name of `SecCertificateCopyKey`, as on iOS.
///
/// - Parameter certificate: The certificate.
/// - Returns: The key; nil for another algorithm than RSA and the curves P-256, P-384 and P-521, and for RSA below 1024 bits.
@discardableResult
public func SecCertificateCopyPublicKey(_ certificate: SecCertificate) -> SecKey? {
    SecCertificateCopyKey(certificate)
}

/// The serial number of a certificate.
///
/// - Parameters:
///   - certificate: The certificate.
///   - error: Never written: every certificate has a serial number.
/// - Returns: The contents of the DER integer, big-endian two's complement.
@discardableResult
public func SecCertificateCopySerialNumberData(
    _ certificate: SecCertificate, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    certificate.value.serialNumber as NSData
}

/// Old name of `SecCertificateCopySerialNumberData`, as on iOS.
///
/// - Parameter certificate: The certificate.
/// - Returns: The contents of the DER integer, big-endian two's complement.
@discardableResult
public func SecCertificateCopySerialNumber(_ certificate: SecCertificate) -> CFData? {
    certificate.value.serialNumber as NSData
}

/// When a certificate begins to be valid.
///
/// - Parameter certificate: The certificate.
/// - Returns: The date.
@discardableResult
public func SecCertificateCopyNotValidBeforeDate(_ certificate: SecCertificate) -> CFDate? {
    NSDate(timeIntervalSinceReferenceDate: certificate.value.notBefore)
}

/// When a certificate ceases to be valid.
///
/// - Parameter certificate: The certificate.
/// - Returns: The date, which is still inside.
@discardableResult
public func SecCertificateCopyNotValidAfterDate(_ certificate: SecCertificate) -> CFDate? {
    NSDate(timeIntervalSinceReferenceDate: certificate.value.notAfter)
}
