// Keys of results and properties of a trust object.
// Why they are `nonisolated(unsafe)` and `@safe` is said in `AttributeConstants.swift`.

public import TouchstoneCoreFoundation

/// Result: when the evaluation was (CFDate).
@safe nonisolated(unsafe) public let kSecTrustEvaluationDate: CFString = "TrustEvaluationDate"

/// Result: whether it has an extended validation (CFBoolean).
///
/// Never in an answer here.
@safe nonisolated(unsafe) public let kSecTrustExtendedValidation: CFString = "TrustExtendedValidation"

/// Result: the organization of an extended validation (CFString).
///
/// Never in an answer here.
@safe nonisolated(unsafe) public let kSecTrustOrganizationName: CFString = "Organization"

/// Result: the `SecTrustResultType` (CFNumber).
@safe nonisolated(unsafe) public let kSecTrustResultValue: CFString = "TrustResultValue"

/// Result: whether responses say of the whole chain that it is good (CFBoolean).
@safe nonisolated(unsafe) public let kSecTrustRevocationChecked: CFString = "TrustRevocationChecked"

/// Result: until when they say so (CFDate).
@safe nonisolated(unsafe) public let kSecTrustRevocationValidUntilDate: CFString = "TrustExpirationDate"

/// Result: whether it is in logs of certificate transparency (CFBoolean).
///
/// Never in an answer here.
@safe nonisolated(unsafe) public let kSecTrustCertificateTransparency: CFString = "TrustCertificateTransparency"

/// Result: whether it is exempt from that (CFBoolean).
///
/// Never in an answer here.
@safe nonisolated(unsafe) public let kSecTrustCertificateTransparencyWhiteList: CFString =
    "TrustCertificateTransparencyWhiteList"

/// Property of a certificate: what to call it (CFString).
@safe nonisolated(unsafe) public let kSecPropertyTypeTitle: CFString = "title"

/// Property of a certificate: what it did not meet (CFString).
@safe nonisolated(unsafe) public let kSecPropertyTypeError: CFString = "error"
