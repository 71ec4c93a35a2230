import Foundation
import TouchstoneCertificates
import TouchstoneCore

/// What the match keys of a search ask of certificates.
struct CertificateCriteria {
    enum Validity {
        case now
        /// Seconds since 2001-01-01 00:00:00 UTC.
        case on(Double)
    }

    enum Position: Hashable { case contains, startsWith, endsWith, wholeString }

    /// The contents of normalized names, one of which the chain has to come from.
    var issuers: Set<Data>?
    var emailAddress: String?
    var validity: Validity?
    /// Of the summary of the subject.
    var subject: [Position: String] = [:]
    private var comparison: String.CompareOptions = []

    mutating func set(_ option: String.CompareOptions, _ isWanted: Bool) {
        if isWanted { comparison.insert(option) } else { comparison.remove(option) }
    }

    /// Whether the certificate itself has to be read, not only its attributes.
    var readCertificates: Bool { emailAddress != nil || validity != nil || !subject.isEmpty }

    /// Holds all of it against a certificate; `now` in seconds since 2001-01-01 00:00:00 UTC.
    func accept(_ certificate: Certificate, now: Double) -> Bool {
        switch validity {
        case .now: if !certificate.isValid(on: now) { return false }
        case .on(let date): if !certificate.isValid(on: date) { return false }
        case nil: break
        }
        if let emailAddress {
            let addresses = certificate.emailAddresses
            // "If present": a certificate without any is none that contradicts.
            let isNamed = addresses.contains { $0.compare(emailAddress, options: .caseInsensitive) == .orderedSame }
            guard addresses.isEmpty || isNamed else { return false }
        }
        guard !subject.isEmpty else { return true }
        guard let summary = certificate.summary else { return false }
        return subject.allSatisfy { position, text in
            switch position {
            case .contains: summary.range(of: text, options: comparison) != nil
            case .startsWith: summary.range(of: text, options: comparison.union(.anchored)) != nil
            case .endsWith: summary.range(of: text, options: comparison.union([.anchored, .backwards])) != nil
            case .wholeString: summary.compare(text, options: comparison) == .orderedSame
            }
        }
    }
}
