/// What a certificate of a chain did not meet.
///
/// The raw values are kept in the cookies of excepted failures (TR-9), so they never change.
package enum TrustRule: String, CaseIterable, Sendable {
    /// libcrypto cannot read the certificate or one of its extensions.
    case malformed
    /// Nobody among the given certificates and the anchors issued it.
    case missingIssuer
    /// The chain ends at a root that is not an anchor.
    case untrustedRoot
    /// Its signature was not made by the key of its issuer.
    case signature
    /// The chain is longer than `TrustLimits.maximumDepth`.
    case chainLength
    /// The date is before or after its validity.
    case validity
    /// It issued a certificate and is not a certificate authority.
    case basicConstraints
    /// More certificates follow it than its path length allows.
    case pathLength
    /// A name is not among those that an issuer may certify.
    case nameConstraints
    /// An issuer demands a certificate policy that the chain does not have.
    case policyConstraints
    /// It has a critical extension that nobody here knows.
    case criticalExtension
    /// It has no subject, and no other name in its place.
    case emptySubject
    /// Its key is broken: RSA below 1024 bits, or a curve below 160.
    case weakKey
    /// Its signature uses MD2, MD4 or MD5.
    case weakSignature
    /// Of a server's chain: RSA below 2048 bits, a curve below 256, or another kind of key.
    case serverKeySize
    /// Of a server's chain: a signature with a hash that is not of SHA-2.
    case serverSignatureHash
    /// Of a server: no extended key usage for servers.
    case serverExtendedKeyUsage
    /// Of a server: valid for longer than allowed.
    case validityPeriod
    /// Its extended key usage is not for this.
    case extendedKeyUsage
    /// The host is not among its names.
    case hostName
    /// The mail address is not among its names.
    case emailAddress
    /// A valid OCSP response says that it was revoked.
    case revoked
    /// A positive response was required, and none was there.
    case revocationUnknown
}

/// A rule that was not met, and by which certificate.
package struct TrustFailure: Hashable, Sendable {
    package let rule: TrustRule
    /// The certificate's place in the chain; the first is 0.
    package let index: Int

    package init(_ rule: TrustRule, at index: Int) {
        self.rule = rule
        self.index = index
    }
}
