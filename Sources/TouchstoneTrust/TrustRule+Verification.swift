internal import COpenSSL

extension TrustRule {
    /// The rule behind an error of libcrypto's verification; nil if it could not go on.
    init?(verificationError code: Int32) {
        switch code {
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            self = .missingIssuer
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_CERT_UNTRUSTED,
            X509_V_ERR_CERT_REJECTED:
            self = .untrustedRoot
        case X509_V_ERR_CERT_SIGNATURE_FAILURE, X509_V_ERR_UNABLE_TO_DECRYPT_CERT_SIGNATURE,
            X509_V_ERR_UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY, X509_V_ERR_SIGNATURE_ALGORITHM_MISMATCH,
            X509_V_ERR_SIGNATURE_ALGORITHM_INCONSISTENCY, X509_V_ERR_UNSUPPORTED_SIGNATURE_ALGORITHM:
            self = .signature
        case X509_V_ERR_CERT_CHAIN_TOO_LONG: self = .chainLength
        case X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED: self = .validity
        case X509_V_ERR_INVALID_CA, X509_V_ERR_KEYUSAGE_NO_CERTSIGN: self = .basicConstraints
        case X509_V_ERR_PATH_LENGTH_EXCEEDED: self = .pathLength
        case X509_V_ERR_PERMITTED_VIOLATION, X509_V_ERR_EXCLUDED_VIOLATION, X509_V_ERR_SUBTREE_MINMAX,
            X509_V_ERR_UNSUPPORTED_CONSTRAINT_TYPE, X509_V_ERR_UNSUPPORTED_CONSTRAINT_SYNTAX,
            X509_V_ERR_UNSUPPORTED_NAME_SYNTAX:
            self = .nameConstraints
        case X509_V_ERR_NO_EXPLICIT_POLICY, X509_V_ERR_INVALID_POLICY_EXTENSION: self = .policyConstraints
        case X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION: self = .criticalExtension
        // It would be an end entity that issues for itself (RFC 3820), which no policy here knows.
        case X509_V_ERR_PROXY_CERTIFICATES_NOT_ALLOWED, X509_V_ERR_INVALID_NON_CA: self = .criticalExtension
        case X509_V_ERR_OUT_OF_MEM, X509_V_ERR_INVALID_CALL, X509_V_ERR_STORE_LOOKUP, X509_V_ERR_UNSPECIFIED: return nil
        // Dates, extensions and keys that are not built as they should be.
        default: self = .malformed
        }
    }

    /// Whether a chain with this failure does not reach an anchor.
    package var meansNoAnchor: Bool {
        switch self {
        case .missingIssuer, .untrustedRoot, .signature, .chainLength: true
        default: false
        }
    }
}
