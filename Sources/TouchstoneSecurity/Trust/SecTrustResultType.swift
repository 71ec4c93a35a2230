/// What an evaluation came to.
///
/// > Source: TR-7.
public enum SecTrustResultType: UInt32, Sendable {
    /// Nothing was evaluated since the last change.
    case invalid = 0
    /// Trusted because the owner or the app said so: by an anchor that the owner added, or by exceptions.
    case proceed = 1
    /// Never an answer.
    case confirm = 2
    /// Never an answer here: nobody can distrust a certificate that the system trusts.
    case deny = 3
    /// Trusted.
    case unspecified = 4
    /// Not trusted; exceptions can change that.
    case recoverableTrustFailure = 5
    /// Not trusted, and nothing can change that.
    case fatalTrustFailure = 6
    /// Nothing could be evaluated.
    case otherError = 7
}
