package import Foundation

/// A chain to judge, and what it is judged by.
package struct TrustEvaluation: Sendable {
    /// DER; the first is verified, and the others may help to reach an anchor.
    package var certificates: [Data]
    /// All of them have to be met.
    package var policies: [TrustPolicy]
    /// The DER of what is trusted beside the machine's anchors; any certificate may be one.
    package var anchors: [Data] = []
    package var trustsMachine = true
    package var date: Date
    /// DER of OCSP responses, for any certificate of the chain.
    package var ocspResponses: [Data] = []

    package init(certificates: [Data], policies: [TrustPolicy], date: Date) {
        self.certificates = certificates
        self.policies = policies
        self.date = date
    }

    /// The date in whole seconds since 1970, within the years that a certificate can name.
    var seconds: Int {
        let time = date.timeIntervalSince1970
        guard !time.isNaN else { return TrustLimits.firstSecond }
        return Int(
            min(max(time.rounded(.down), Double(TrustLimits.firstSecond)), Double(TrustLimits.lastSecond)))
    }
}

/// What came of an evaluation.
package struct TrustAnswer: Sendable {
    /// Who trusts the last certificate of a chain.
    package enum Anchor: Sendable {
        /// It came with the system.
        case system
        /// The machine's owner added it.
        case owner
        /// The program set it.
        case program
    }

    /// What the responses say of the certificates below the anchor.
    package enum Revocation: Equatable, Sendable {
        /// All are good until then.
        case good(until: Date)
        /// Of one at least nothing is known.
        case unknown
    }

    /// DER, from the first certificate to the anchor, or to the last issuer that was found; never empty.
    package let chain: [Data]
    /// Nil if the chain does not reach one.
    package let anchor: Anchor?
    /// What was not met.
    ///
    /// The chain is trusted if it is empty and there is an anchor.
    package let failures: [TrustFailure]
    package let revocation: Revocation

    package var isTrusted: Bool { failures.isEmpty && anchor != nil }
}

/// Why nothing could be evaluated.
package enum TrustError: Error {
    /// libcrypto.so.3 is not on this machine.
    case libCryptoMissing
    /// There is no certificate.
    case nothingToVerify
    /// libcrypto could not go on, for example without memory.
    case libCryptoFailed
}
