/// What one evaluation may take, whoever chose the bytes (TR-11).
package enum TrustLimits {
    /// Given certificates, the first of which is verified.
    ///
    /// The rest beyond it is not looked at.
    package static let maximumCertificates = 64
    /// Bytes of one certificate.
    ///
    /// A larger one is malformed.
    package static let maximumCertificateBytes = 128 << 10
    /// Anchors that a program sets.
    package static let maximumAnchors = 1024
    /// Certificates between the first and the anchor.
    package static let maximumDepth = 16
    /// Chains that are built, each without what the one before it ended with.
    package static let maximumAttempts = 16
    /// Failures that are noted.
    package static let maximumFailures = 256
    /// OCSP responses, and bytes of one.
    package static let maximumResponses = 16
    package static let maximumResponseBytes = 64 << 10
    /// Bytes of a host or mail address that is looked for.
    package static let maximumNameBytes = 255
    /// The years 1 to 9999, in seconds since 1970.
    static let firstSecond = -62_135_596_800
    static let lastSecond = 253_402_300_799
    /// Bytes of a file with anchors, and certificates in it.
    package static let maximumAnchorFileBytes = 16 << 20
    package static let maximumAnchorFileCertificates = 4096
}
