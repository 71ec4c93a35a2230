// Identifiers and properties of policies.
// Why they are `nonisolated(unsafe)` and `@safe` is said in `AttributeConstants.swift`.

public import TouchstoneCoreFoundation

/// Policy: RFC 5280 alone.
@safe nonisolated(unsafe) public let kSecPolicyAppleX509Basic: CFString = "1.2.840.113635.100.1.2"

/// Policy: servers and clients of TLS.
@safe nonisolated(unsafe) public let kSecPolicyAppleSSL: CFString = "1.2.840.113635.100.1.3"

/// Policy: mail.
@safe nonisolated(unsafe) public let kSecPolicyAppleSMIME: CFString = "1.2.840.113635.100.1.8"

/// Policy: servers and clients of EAP.
@safe nonisolated(unsafe) public let kSecPolicyAppleEAP: CFString = "1.2.840.113635.100.1.9"

/// Policy: IPsec.
@safe nonisolated(unsafe) public let kSecPolicyAppleIPsec: CFString = "1.2.840.113635.100.1.11"

/// Policy: signed code.
@safe nonisolated(unsafe) public let kSecPolicyAppleCodeSigning: CFString = "1.2.840.113635.100.1.16"

/// Policy: certificates of Apple IDs.
///
/// No policy is made of it here.
@safe nonisolated(unsafe) public let kSecPolicyAppleIDValidation: CFString = "1.2.840.113635.100.1.18"

/// Policy: receipts of the Mac App Store.
///
/// No policy is made of it here.
@safe nonisolated(unsafe) public let kSecPolicyMacAppStoreReceipt: CFString = "1.2.840.113635.100.1.19"

/// Policy: time stamps.
@safe nonisolated(unsafe) public let kSecPolicyAppleTimeStamping: CFString = "1.2.840.113635.100.1.20"

/// Policy: revocation.
@safe nonisolated(unsafe) public let kSecPolicyAppleRevocation: CFString = "1.2.840.113635.100.1.21"

/// Policy: passes of Wallet.
///
/// No policy is made of it here.
@safe nonisolated(unsafe) public let kSecPolicyApplePassbookSigning: CFString = "1.2.840.113635.100.1.22"

/// Policy: Apple Pay.
///
/// No policy is made of it here.
@safe nonisolated(unsafe) public let kSecPolicyApplePayIssuerEncryption: CFString = "1.2.840.113635.100.1.39"

/// Property of a policy: its identifier (CFString).
@safe nonisolated(unsafe) public let kSecPolicyOid: CFString = "SecPolicyOid"

/// Property of a policy: the host or mail address to look for (CFString, or CFArray of them).
@safe nonisolated(unsafe) public let kSecPolicyName: CFString = "SecPolicyName"

/// Property of a policy: whether it is for clients (CFBoolean).
@safe nonisolated(unsafe) public let kSecPolicyClient: CFString = "SecPolicyClient"

/// Property of a policy: `kSecRevocation…` flags (CFNumber).
@safe nonisolated(unsafe) public let kSecPolicyRevocationFlags: CFString = "SecPolicyRevocationFlags"

/// Property of a policy: the team of a pass (CFString).
///
/// No policy has it here.
@safe nonisolated(unsafe) public let kSecPolicyTeamIdentifier: CFString = "SecPolicyTeamIdentifier"

/// Revocation: by OCSP.
public var kSecRevocationOCSPMethod: CFOptionFlags { 1 << 0 }
/// Revocation: by lists.
///
/// None is read here.
public var kSecRevocationCRLMethod: CFOptionFlags { 1 << 1 }
/// Revocation: lists before OCSP.
///
/// Without effect here.
public var kSecRevocationPreferCRL: CFOptionFlags { 1 << 2 }
/// Revocation: without a positive response nothing is trusted.
public var kSecRevocationRequirePositiveResponse: CFOptionFlags { 1 << 3 }
/// Revocation: without the network.
///
/// It is never used here.
public var kSecRevocationNetworkAccessDisabled: CFOptionFlags { 1 << 4 }
/// Revocation: by OCSP or by lists.
public var kSecRevocationUseAnyAvailableMethod: CFOptionFlags { 3 }
