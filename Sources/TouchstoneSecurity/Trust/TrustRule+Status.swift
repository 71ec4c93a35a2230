internal import TouchstoneCore
internal import TouchstoneCoreFoundation
internal import TouchstoneTrust

/// What a failure is to an app: Apple's code and words (TR-7).
extension TrustRule {
    /// The kinds of failures, the most serious first.
    enum Kind: Int {
        case revoked, keySize, weakHash, compliance, trust, usage, name, expired
    }

    var kind: Kind {
        switch self {
        case .revoked: .revoked
        case .weakKey, .serverKeySize: .keySize
        case .weakSignature, .serverSignatureHash: .weakHash
        case .malformed, .basicConstraints, .pathLength, .nameConstraints, .policyConstraints, .criticalExtension,
            .emptySubject, .validityPeriod:
            .compliance
        case .missingIssuer, .untrustedRoot, .signature, .chainLength, .revocationUnknown: .trust
        case .extendedKeyUsage, .serverExtendedKeyUsage: .usage
        case .hostName, .emailAddress: .name
        case .validity: .expired
        }
    }

    /// Whether no exception can be made (TR-9).
    var isFatal: Bool {
        switch self {
        case .revoked, .weakKey, .weakSignature, .malformed: true
        default: false
        }
    }

    var status: OSStatus {
        switch self {
        case .revoked: errSecCertificateRevoked
        case .weakKey, .serverKeySize: errSecUnsupportedKeySize
        case .weakSignature, .serverSignatureHash: errSecInvalidDigestAlgorithm
        case .malformed: errSecUnknownCertExtension
        case .basicConstraints: errSecNoBasicConstraintsCA
        case .pathLength: errSecPathLengthConstraintExceeded
        case .nameConstraints: errSecCertificateNameNotAllowed
        case .policyConstraints: errSecCertificatePolicyNotAllowed
        case .criticalExtension: errSecUnknownCriticalExtensionFlag
        case .emptySubject: errSecInvalidSubjectName
        case .validityPeriod: errSecCertificateValidityPeriodTooLong
        case .missingIssuer, .signature, .chainLength: errSecCreateChainFailed
        case .untrustedRoot: errSecNotTrusted
        case .revocationUnknown: errSecIncompleteCertRevocationCheck
        case .extendedKeyUsage, .serverExtendedKeyUsage: errSecInvalidExtendedKeyUsage
        case .hostName: errSecHostNameMismatch
        case .emailAddress: errSecSMIMEEmailAddressesNotFound
        case .validity: errSecCertificateExpired
        }
    }

    /// What is said of the certificate in the list of all failures.
    var words: String {
        switch self {
        case .revoked: "Certificate is revoked"
        case .weakKey: "Certificate is using a broken key size"
        case .weakSignature: "Certificate is using a broken signature algorithm"
        case .serverKeySize: "Key size is not permitted for this use"
        case .serverSignatureHash: "Signature hash algorithm is not permitted for this use"
        case .malformed: "Unable to parse known extension"
        case .basicConstraints: "Non-CA certificate used as a CA"
        case .pathLength: "Chain exceeded constrained path length"
        case .nameConstraints: "Name constraints violated"
        case .policyConstraints: "Policy constraints violated"
        case .criticalExtension: "Found unknown critical extensions"
        case .emptySubject: "Certificate missing a name"
        case .validityPeriod: "Certificate exceeds maximum temporal validity period"
        case .missingIssuer: "Unable to build chain to root (possible missing intermediate)"
        // Where Apple has no words, as it does not take somebody of the same name for the issuer.
        case .signature: "Signature was not made by the issuer's key"
        case .chainLength: "Chain is too long"
        case .untrustedRoot: "Root is not trusted"
        case .revocationUnknown: "Failed to check revocation"
        case .extendedKeyUsage, .serverExtendedKeyUsage: "Extended key usage does not match certificate usage"
        case .hostName: "SSL hostname does not match name(s) in certificate"
        case .emailAddress: "Email address does not match name(s) in certificate"
        case .validity: "Certificate is not temporally valid"
        }
    }
}

extension TrustRule.Kind {
    /// A sentence about a certificate.
    func sentence(_ name: String) -> String {
        let certificate = "“\(name)” certificate"
        return switch self {
        case .revoked: certificate + " is revoked"
        case .keySize: certificate + " is using a broken key size"
        case .weakHash: certificate + " is using a broken signature algorithm"
        case .compliance: certificate + " is not standards compliant"
        case .trust: certificate + " is not trusted"
        case .usage: certificate + " is not permitted for this usage"
        case .name: certificate + " name does not match input"
        case .expired: certificate + " is expired"
        }
    }
}
