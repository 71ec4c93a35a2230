internal import Foundation
internal import TouchstoneCertificates
internal import TouchstoneCore
internal import TouchstoneCoreFoundation
internal import TouchstoneTrust

/// What is to be evaluated, taken from a trust object.
struct TrustQuestion {
    private let evaluation: TrustEvaluation
    private let certificates: [SecCertificate]
    private let exceptions: TrustExceptions?
    private let checksRevocation: Bool

    init(_ state: SecTrust.State) {
        certificates = state.certificates + (state.anchors ?? [])
        exceptions = state.exceptions
        var evaluation = TrustEvaluation(
            certificates: state.certificates.map(\.value.der), policies: state.policies.map(\.value),
            date: state.date ?? Date())
        evaluation.anchors = state.anchors?.map(\.value.der) ?? []
        evaluation.trustsMachine = !state.anchorsOnly
        evaluation.ocspResponses = state.responses
        self.evaluation = evaluation
        checksRevocation = !state.responses.isEmpty || state.policies.contains(where: \.value.checksRevocation)
    }

    func outcome() -> TrustOutcome {
        do throws(TrustError) {
            let answer = try evaluation.answer()
            let left = answer.failures.filter { exceptions?.accept($0, in: answer.chain) != true }
            let result: SecTrustResultType =
                if left.contains(where: \.rule.isFatal) {
                    .fatalTrustFailure
                } else if !left.isEmpty {
                    .recoverableTrustFailure
                } else if answer.failures.isEmpty {
                    answer.anchor == .owner ? .proceed : .unspecified
                } else {
                    .proceed
                }
            return TrustOutcome(
                chain: answer.chain.compactMap(certificate), failures: left, result: result, date: evaluation.date,
                revocation: checksRevocation ? answer.revocation : nil)
        } catch {
            return TrustOutcome(
                chain: Array(certificates.prefix(1)), failures: [], result: .otherError, date: evaluation.date,
                error: error)
        }
    }

    /// The app's own object where there is one.
    private func certificate(_ der: Data) -> SecCertificate? {
        certificates.first { $0.value.der == der } ?? SecCertificate(itemData: der)
    }
}

/// What an evaluation came to, as the app sees it.
struct TrustOutcome: Sendable {
    var chain: [SecCertificate]
    /// Those for which no exception was made.
    var failures: [TrustFailure]
    var result: SecTrustResultType
    var date: Date
    /// Nil if it was not asked for.
    var revocation: TrustAnswer.Revocation?
    /// Why nothing could be evaluated.
    var error: TrustError?

    var isTrusted: Bool { result == .proceed || result == .unspecified }

    /// Why it is not trusted; nil if it is.
    func failure() -> NSError? {
        if isTrusted { return nil }
        if let error { return error.asNSError }
        // The most serious, and of these the first.
        guard let worst = failures.min(by: { ($0.rule.kind.rawValue, $0.index) < ($1.rule.kind.rawValue, $1.index) })
        else { return TrustError.libCryptoFailed.asNSError }
        let code = Int(worst.rule.status)
        let sentence = worst.rule.kind.sentence(name(worst.index))
        let all = NSError(
            domain: NSOSStatusErrorDomain, code: code,
            userInfo: [NSLocalizedDescriptionKey: details, kCFErrorDescriptionKey as String: details])
        return NSError(
            domain: NSOSStatusErrorDomain, code: code,
            userInfo: [
                NSLocalizedDescriptionKey: sentence, kCFErrorDescriptionKey as String: sentence,
                NSUnderlyingErrorKey: all,
            ])
    }

    /// What each certificate did not meet.
    private var details: String {
        chain.indices.compactMap { index in
            words(index).map { "Certificate \(index) “\(name(index))” has errors: \($0);" }
        }.joined()
    }

    func words(_ index: Int) -> String? {
        var words: [String] = []
        for failure in failures where failure.index == index && !words.contains(failure.rule.words) {
            words.append(failure.rule.words)
        }
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }

    /// Somebody else's words, with nothing that would disturb a log.
    func name(_ index: Int) -> String {
        PlainText.line(chain.indices.contains(index) ? chain[index].value.summary ?? "" : "")
    }
}

extension TrustError {
    var status: Status {
        switch self {
        case .libCryptoMissing: .notAvailable
        case .nothingToVerify: .param
        case .libCryptoFailed: .internalError
        }
    }

    fileprivate var asNSError: NSError {
        let reason =
            switch self {
            case .libCryptoMissing: "OpenSSL's libcrypto.so.3 is missing. On Debian, install libssl3."
            case .nothingToVerify: "There is no certificate to verify."
            case .libCryptoFailed: "OpenSSL could not finish the verification, so the chain is not trusted."
            }
        return NSError(
            domain: NSOSStatusErrorDomain, code: Int(status.rawValue),
            userInfo: [NSLocalizedDescriptionKey: reason, kCFErrorDescriptionKey as String: reason])
    }
}
